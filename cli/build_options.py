"""Options that commands take as one mapping: those of a build, of pairs, and of what is made again."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any

from . import options

# Field of `BuildOptions` -> option and default, in the order of the help. A test compares the names.
BUILD_OPTIONS: dict[str, tuple[Any, Any]] = {
    "seed": (options.Seed, 0),
    "jobs": (options.Jobs, None),
    "sets": (options.Sets, None),
    "samples": (options.Samples, None),
    "first": (options.First, None),
    "per_class": (options.PerClass, None),
    "ids": (options.Ids, None),
    "per_super_category": (options.PerSuperCategory, None),
    "format": (options.Format, None),
    "optimize": (options.Optimize, False),
    "skip_bad": (options.SkipBad, False),
    "calibration": (options.Calibration, None),
    "coupling": (options.Coupling, "independent"),
    "scale": (options.Scale, None),
    "metrics": (options.Metrics, None),
    "labels": (options.Labels, None),
    "split": (options.Split, None),
    "groups": (options.Groups, None),
    "hold_out": (options.HoldOut, None),
    "train": (options.Train, False),
    "images": (options.Images, None),
    "frost_textures": (options.FrostTextures, None),
    "surrogate": (options.Surrogate, None),
    "device": (options.Device, None),
    "surrogate_batch": (options.SurrogateBatch, None),
    "view": (options.View, None),
    "any_shape": (options.AnyShape, False),
    "store": (options.Store, None),
    "annotations": (options.Annotations, "copy"),
    "page": (options.Page, True),
    "plugins": (options.Plugins, None),
}
PAIR_OPTIONS: dict[str, tuple[Any, Any]] = {
    "first_stages": (options.FirstStages, None),
    "second_stages": (options.SecondStages, None),
    "severities": (options.Severities, None),
    "levels": (options.Levels, None),
    "orders": (options.Orders, None),
}
# Field of `RemakeOptions` -> option and default.
REMAKE_OPTIONS: dict[str, tuple[Any, Any]] = {
    "source": (options.OriginalSource, None),
    "labels": (options.Labels, None),
    "images": (options.Images, None),
    "groups": (options.Groups, None),
    "frost_textures": (options.FrostTextures, None),
    "surrogate": (options.Surrogate, None),
    "device": (options.Device, None),
    "plugins": (options.Plugins, None),
    "jobs": (options.Jobs, None),
}


def with_options(added: Mapping[str, tuple[Any, Any]]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command many options, before the last of its parameters; the command gets their values as ``given``, a mapping."""

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(command)
        def wrapper(**arguments: Any) -> None:
            given = {name: arguments.pop(name) for name in added}
            command(**arguments, given=given)

        *first, last = [p for p in inspect.signature(command, eval_str=True).parameters.values() if p.name != "given"]
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        more = [inspect.Parameter(name, kind, default=default, annotation=option) for name, (option, default) in added.items()]
        parameters = [*first, *more, last]
        wrapper.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        wrapper.__annotations__ = {p.name: p.annotation for p in parameters}
        return wrapper

    return decorate
