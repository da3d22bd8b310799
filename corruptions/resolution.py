"""From the arguments of `corrupt` to stages with keys, ready to be applied to images: once for each combination of arguments."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ParameterError
from .calibrations import Calibration, check_ladder, fitting, for_shape, get_calibration
from .keys import check_seed, pixel_keys, sample_keys
from .registry import Images, Shape, get_corruption
from .stages import COUPLINGS, SCALES, Coupling, Scale, Stage, absent, apply_stage, chain_keys, parse_chain, resolve_number, resolve_stage


@dataclass(frozen=True)
class ResolvedChain:
    """A chain of stages with their keys: everything about a call of `corrupt` that does not follow from the image's pixels."""

    links: tuple[tuple[Stage, np.uint64, int], ...]
    """Each stage, its key, the reference side of its calibration."""
    scale: Scale
    draws: Mapping[str, Any]
    resources: Mapping[str, Any]
    draws_nothing: bool
    """Whether no stage draws at random, so that the images' keys do not matter."""

    def keys(self, images: Images, ids: Sequence[str] | None) -> NDArray[np.uint64]:
        """Return the keys of images that have these ids, or are keyed by their own pixels."""
        # a hash of 150 kB takes longer than many a kernel
        return np.zeros(len(images), np.uint64) if self.draws_nothing else pixel_keys(images) if ids is None else sample_keys(ids)

    def apply(self, images: Images, keys: NDArray[np.uint64], resources: Mapping[str, Any] | None = None) -> Images:
        """Return what becomes of a batch that `check_images` has seen; never the batch itself."""
        given = {**self.resources, **resources} if resources else self.resources
        out = images if self.links else images.copy()
        for stage, key, side in self.links:
            out = apply_stage(out, stage, key, keys, side=side, scale=self.scale, draws=self.draws, resources=given)
        return out


_REMEMBERED = (str, int, float, np.integer, np.floating, type(None))


def resolve(
    name: Any,
    shape: Shape,
    *,
    severity: float | None,
    level: int | None,
    calibration: str | Path | Calibration | None,
    ladder: str,
    scale: Scale,
    coupling: Coupling,
    seed: int,
    parameters: Mapping[str, Any],
) -> ResolvedChain:
    """Return the chain that arguments of `corrupt` mean for images of a shape (H, W, C), or raise what is wrong with them."""
    named = for_shape(*shape) if calibration is None else calibration
    arguments = (name, severity, level, named, calibration is None, ladder, scale, coupling, seed)
    # A file may change, and an array can be changed; everything else means the same in every call.
    constant = all(isinstance(value, _REMEMBERED) for value in (*arguments, *parameters.values())) and not str(named).endswith(".toml")
    return (_remembered if constant else _resolved)(*arguments, **parameters)


def _resolved(
    name: Any, severity: Any, level: Any, named: Any, fits: bool, ladder: Any, scale: Any, coupling: Any, seed: Any, /, **parameters: Any
) -> ResolvedChain:
    if scale not in SCALES:
        raise ParameterError(f"scale is {scale!r}; expected one of {', '.join(SCALES)}.")
    if coupling not in COUPLINGS:
        raise ParameterError(f"coupling is {coupling!r}; expected one of {', '.join(COUPLINGS)}.")
    table = replace(fitting(named) if fits else get_calibration(named), ladder=check_ladder(ladder))
    chain, draws, resources = _chain(name, table, severity, level, parameters)
    keys = chain_keys(chain, check_seed(seed), coupling)
    links = tuple((stage, key, table.of(stage.corruption).side) for stage, key in zip(chain, keys, strict=True))
    declared = [get_corruption(stage.corruption) for stage in chain]
    # pgd draws where it is given random_start
    return ResolvedChain(links, scale, draws, resources, all(d.deterministic and not d.needs_model for d in declared))


# typed: True is no severity and 1 is one. All corruptions at all severities in two sizes are 400.
_remembered = functools.lru_cache(maxsize=1024, typed=True)(_resolved)


def _chain(
    name: Any, table: Calibration, severity: float | None, level: int | None, parameters: dict[str, Any]
) -> tuple[tuple[Stage, ...], dict[str, Any], dict[str, Any]]:
    """Return the stages, the given draws and the given resources of a call."""
    if not isinstance(name, Sequence):
        raise ParameterError(f"name is of type {type(name).__name__}; expected a corruption, a set id or a list of stages.")
    if isinstance(name, str) and name.isidentifier() and name != "clean":
        declared = get_corruption(name)
        draws = {d.name: parameters.pop(d.name) for d in declared.draws if d.name in parameters}
        resources = {r: parameters.pop(r) for r in declared.resources if r in parameters}
        if not parameters and _is_clean(name, severity, level):
            return (), {}, {}
        return (resolve_stage(name, table, severity=severity, level=level, parameters=parameters),), draws, resources
    chain = parse_chain(name, table) if isinstance(name, str) else ()
    given = [f"severity={severity}"] * (severity is not None) + [f"level={level}"] * (level is not None) + list(parameters)
    if given:
        raise ParameterError(f"{name!r} names its severities itself; {', '.join(given)} can be given only with the name of one corruption.")
    if isinstance(name, str):
        return chain, {}, {}
    return tuple(stage for item in name for stage in _stages(item, table)), {}, {}


def _is_clean(name: str, severity: Any, level: Any) -> bool:
    """Whether a corruption is asked for at 0, of the one of severity and level that it has."""
    number, other = (severity, level) if get_corruption(name).gradual is None else (level, severity)
    return other is None and absent(name, number)


def _stages(item: Any, table: Calibration) -> tuple[Stage, ...]:
    """Return the stage that an item of a list is, or none where its severity or level is 0."""
    if isinstance(item, Stage):
        return (item,)
    if isinstance(item, str):
        stages = parse_chain(item, table)
        if len(stages) == 1 or (not stages and item != "clean" and "+" not in item):
            return stages
    if isinstance(item, Mapping) and set(item) <= {"corruption", "severity", "level", "parameters", "revision"} and "corruption" in item:
        name, severity, parameters = item["corruption"], item.get("severity"), item.get("parameters") or {}
        if not parameters and _is_clean(name, severity, item.get("level")):
            return ()
        stage = resolve_stage(name, table, severity=severity, level=item.get("level"), parameters=parameters)
        # A stage as a manifest has it carries its severity and the whole row: where they agree it keeps the severity.
        if severity is not None and dict(table.row(name, severity).parameters) == dict(stage.parameters):
            stage = resolve_stage(name, table, severity=severity)
        return (stage,)
    if isinstance(item, (tuple, list)) and len(item) == 2 and isinstance(item[0], str):
        return () if absent(*item) else (resolve_number(item[0], table, item[1]),)
    raise ParameterError(f"{item!r} is not a stage; expected ('fog', 3), 'fog-3', {{'corruption': 'fog', 'severity': 3}} or a Stage.")
