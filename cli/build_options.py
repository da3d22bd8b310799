"""Options that commands take as one mapping: those of a build, of pairs, and of what is made again."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any

from .options import (
    Annotations,
    AnyShape,
    Calibration,
    Coupling,
    Device,
    First,
    FirstStages,
    Format,
    FrostTextures,
    Groups,
    HoldOut,
    Ids,
    Images,
    Jobs,
    Labels,
    Levels,
    Metrics,
    Optimize,
    Orders,
    OriginalSource,
    Page,
    PerClass,
    PerSuperCategory,
    Plugins,
    Samples,
    Scale,
    SecondStages,
    Seed,
    Sets,
    Severities,
    SkipBad,
    Split,
    Store,
    Surrogate,
    SurrogateBatch,
    Train,
    View,
)

# Field of `BuildOptions` -> option and default, in the order of the help. A test compares the names.
BUILD_OPTIONS: dict[str, tuple[Any, Any]] = {
    "seed": (Seed, 0),
    "jobs": (Jobs, None),
    "sets": (Sets, None),
    "samples": (Samples, None),
    "first": (First, None),
    "per_class": (PerClass, None),
    "ids": (Ids, None),
    "per_super_category": (PerSuperCategory, None),
    "format": (Format, None),
    "optimize": (Optimize, False),
    "skip_bad": (SkipBad, False),
    "calibration": (Calibration, None),
    "coupling": (Coupling, "independent"),
    "scale": (Scale, None),
    "metrics": (Metrics, None),
    "labels": (Labels, None),
    "split": (Split, None),
    "groups": (Groups, None),
    "hold_out": (HoldOut, None),
    "train": (Train, False),
    "images": (Images, None),
    "frost_textures": (FrostTextures, None),
    "surrogate": (Surrogate, None),
    "device": (Device, None),
    "surrogate_batch": (SurrogateBatch, None),
    "view": (View, None),
    "any_shape": (AnyShape, False),
    "store": (Store, None),
    "annotations": (Annotations, "copy"),
    "page": (Page, True),
    "plugins": (Plugins, None),
}
PAIR_OPTIONS: dict[str, tuple[Any, Any]] = {
    "first_stages": (FirstStages, None),
    "second_stages": (SecondStages, None),
    "severities": (Severities, None),
    "levels": (Levels, None),
    "orders": (Orders, None),
}
# Field of `RemakeOptions` -> option and default.
REMAKE_OPTIONS: dict[str, tuple[Any, Any]] = {
    "source": (OriginalSource, None),
    "labels": (Labels, None),
    "images": (Images, None),
    "groups": (Groups, None),
    "frost_textures": (FrostTextures, None),
    "surrogate": (Surrogate, None),
    "device": (Device, None),
    "plugins": (Plugins, None),
    "jobs": (Jobs, None),
}


def with_options(options: Mapping[str, tuple[Any, Any]]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command many options, before the last of its parameters; the command gets their values as ``given``, a mapping."""

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(command)
        def wrapper(**arguments: Any) -> None:
            given = {name: arguments.pop(name) for name in options}
            command(**arguments, given=given)

        *first, last = [p for p in inspect.signature(command, eval_str=True).parameters.values() if p.name != "given"]
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        added = [inspect.Parameter(name, kind, default=default, annotation=option) for name, (option, default) in options.items()]
        parameters = [*first, *added, last]
        wrapper.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        wrapper.__annotations__ = {p.name: p.annotation for p in parameters}
        return wrapper

    return decorate
