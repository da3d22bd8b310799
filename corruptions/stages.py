"""Stages, which are corruptions with resolved parameters, and chains of stages."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..errors import ImageError, ParameterError, UnknownCorruption, suggest
from .calibrations import Calibration, calibrations_of
from .image_errors import array_error, object_error
from .keys import stage_key
from .registry import Corruption, Images, corruption_names, get_corruption, is_corruption
from .rows import severity_number, severity_text

Scale = Literal["none", "side"]
Coupling = Literal["independent", "severity"]
SCALES = ("none", "side")
COUPLINGS = ("independent", "severity")
MIN_SIDE = 8
_VALUES_LIMIT = 2**32
"""The limit on the number of values in an image, because some kernels compute positions in 32 bits."""
MAX_STAGES = 16
"""The maximum number of stages in a chain.

The time to compute the keys grows with the square of the number of stages, and a worker keeps a batch per stage in
memory.
"""


@dataclass(frozen=True)
class Stage:
    """One corruption with resolved parameters."""

    corruption: str
    revision: int
    severity: float | None = None
    """The severity, as an int if it is a whole number. None if the parameters are not a row of a severity table."""
    level: int | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """The values of all columns, and of the options that differ from their defaults, before scaling. Columns and
    options are explained in `parameters.Parameter`.

    Default values are left out, so that an option that is added later does not change digests.
    """
    from_table: bool = field(default=True, compare=False)
    """Whether the parameters of a stage with a level are those of the ladder (the table of levels)."""

    @property
    def name(self) -> str:
        """The name in a chain, such as ``fog-3``, ``fog-2p25`` or ``black_lines-07``.

        If parameters were given instead of a severity or level, it is the name of the corruption alone.
        """
        return self.corruption if self.number is None else f"{self.corruption}-{self.number}"

    @property
    def number(self) -> str | None:
        """The severity or level in the notation of set ids, such as ``3``, ``2p25`` or ``07``.

        It is None if parameters were given instead of a severity or level.
        """
        if self.severity is not None:
            return severity_text(self.severity)
        return f"{self.level:02d}" if self.level is not None and self.from_table else None

    def as_json(self) -> dict[str, Any]:
        """Return the stage as an object for a manifest."""
        return {
            "corruption": self.corruption,
            "revision": self.revision,
            "severity": self.severity,
            "level": self.level,
            "parameters": dict(sorted(self.parameters.items())),
        }


def resolve_stage(
    name: str,
    calibration: Calibration,
    *,
    severity: float | None = None,
    level: int | None = None,
    parameters: Mapping[str, Any] | None = None,
) -> Stage:
    """Resolve all parameters of a corruption and return its stage.

    Parameters
    ----------
    name : str
        The name of the corruption.
    calibration : Calibration
        The table with the parameters of the severity, and the name of the ladder for the level.
    severity : int or float, optional
        The severity, from 1 to 5, or a fraction with at most two decimals (`row_between`). If a column is given in
        `parameters`, it overrides the value of the row, and the stage has no severity.
    level : int, optional
        The level of a gradual degradation, from 1.
    parameters : mapping, optional
        Values of columns and options by name.

    Returns
    -------
    Stage

    Raises
    ------
    UnknownCorruption
        If there is no corruption of this name.
    ParameterError
        If a value is invalid, unknown or missing.
    """
    declared = get_corruption(name)
    known, draws = {p.name: p for p in declared.parameters}, sorted(d.name for d in declared.draws)
    values = dict(calibration.row(name, severity).parameters) if severity is not None else {}
    if level is not None:
        values |= calibration.level_row(name, level).parameters
    elif declared.gradual is not None:
        raise ParameterError(f"{name} needs a level, 1 to {declared.gradual.most}.")
    by_row = True
    for key, value in (parameters or {}).items():
        if key not in known:
            hint = " It is a random draw, which can be given to corrupt(), but not in a recipe." if key in draws else ""
            raise ParameterError(
                f"{name}: unknown parameter {key!r}.{suggest(key, [*known, *draws])}{hint} It takes: "
                f"{', '.join([*known, *draws]) or 'none'}."
            )
        values[key] = known[key].checked(value, name)
        by_row = by_row and known[key].option
    if missing := [p.name for p in declared.columns if p.name not in values]:
        needs = "needs a severity (1 to 5), or its parameters"
        if not calibrations_of(name):
            needs = "has no published severities and needs its parameters"
        raise ParameterError(f"{name} {needs}: {', '.join(missing)} {'are' if missing[1:] else 'is'} missing.")
    kept = declared.without_defaults(values)
    if level is not None:
        return Stage(name, declared.revision, None, int(level), kept, from_table=by_row)
    return Stage(name, declared.revision, severity_number(severity) if by_row else None, None, kept)


def resolve_number(name: str, calibration: Calibration, number: float) -> Stage:
    """Return the stage for the number in a set id: a level for a gradual degradation, and otherwise a severity."""
    which: Any = {"severity" if get_corruption(name).gradual is None else "level": number}
    return resolve_stage(name, calibration, **which)


_STAGE = re.compile(r"(?P<name>[a-z0-9_]+)(?P<sign>[/-])(?P<number>[0-9]{1,2}([.p][0-9]{1,2})?)")


def parse_chain(text: str, calibration: Calibration) -> tuple[Stage, ...]:
    """Parse a set id, such as ``clean``, ``fog/3`` or ``fog-2.25+gaussian_noise-5``, and return its stages.

    Stages of severity or level 0 are left out.
    """
    stages = []
    parts = text.split("+") if text != "clean" else []
    check_length(len(parts))
    for part in parts:
        link = _STAGE.fullmatch(part)
        if link is None or (link["sign"] == "/" and len(parts) > 1):
            where = "" if part == text else f" in {text!r}"
            name = re.sub("[/-][0-9.p]*$", "", part)
            if is_corruption(name):
                kind = "severity" if get_corruption(name).gradual is None else "level"
                raise ParameterError(
                    f"{part!r}{where} has no {kind}. Write '{name}-3', or ('{name}', 3) in a list of stages."
                )
            hint = " Leave it out." if part == "clean" else suggest(name, corruption_names())
            raise UnknownCorruption(
                f"{part!r}{where} is neither a corruption nor a set id such as 'fog/3' or 'fog-3+gaussian_noise-5'."
                f"{hint} `corruptset list` shows all corruptions."
            )
        number = severity_number(float(link["number"].replace("p", ".")))
        if not is_unchanged(link["name"], number):
            stages.append(resolve_number(link["name"], calibration, number or 0))
    return tuple(stages)


def check_length(count: int) -> None:
    """Raise `ParameterError` if a chain has too many stages."""
    if count > MAX_STAGES:
        raise ParameterError(f"The chain has {count} stages; expected at most {MAX_STAGES}.")


def is_unchanged(name: str, number: Any) -> bool:
    """Return whether the number is severity or level 0, which leaves the image unchanged."""
    return severity_number(number) == 0 and (get_corruption(name).gradual is not None or bool(calibrations_of(name)))


def set_id(stages: Sequence[Stage]) -> str:
    """Return the id of the set that a chain produces.

    Examples
    --------
    >>> set_id([Stage("fog", 1, 3)]), set_id([Stage("fog", 1, 3), Stage("frost", 1, 5)]), set_id([])
    ('fog/3', 'fog-3+frost-5', 'clean')
    >>> set_id([Stage("black_lines", 1, None, 7)]), set_id([Stage("fog", 1, 2.25)])
    ('black_lines/07', 'fog/2p25')
    """
    if not stages:
        return "clean"
    if any(s.number is None for s in stages):
        raise ParameterError("a stage with given parameters has no id. Give it a name in the recipe.")
    return f"{stages[0].corruption}/{stages[0].number}" if len(stages) == 1 else "+".join(s.name for s in stages)


def key_entry(stage: Stage, coupling: Coupling, *, before: bool = False) -> tuple[str, dict[str, Any]]:
    """Return the entry of a stage in its own key or, if `before` is true, in the keys of later stages.

    With ``coupling="severity"``, parameters that depend on the severity are left out, so all severities use the same
    draws. The level is not part of a stage's own key, so that each level continues the one below it. It is part of the
    keys of later stages, so that these stages draw new values for every level, unless `coupling` is ``severity``.
    """
    declared = get_corruption(stage.corruption)
    shared = coupling == "severity" and stage.severity is not None
    entry = {
        p.name: stage.parameters[p.name]
        for p in declared.parameters
        if (p.shapes_draws and p.name in stage.parameters if p.option else not shared)
    }
    if before and stage.level is not None and coupling == "independent":
        entry["level"] = stage.level
    return f"{stage.corruption}@{stage.revision}", entry


def chain_keys(stages: Sequence[Stage], seed: int, coupling: Coupling = "independent") -> list[np.uint64]:
    """Return the keys of all stages of a chain."""
    check_length(len(stages))
    above = [key_entry(s, coupling, before=True) for s in stages]
    return [stage_key(seed, [*above[:i], key_entry(s, coupling)]) for i, s in enumerate(stages)]


def scaled_parameters(
    declared: Corruption, parameters: Mapping[str, Any], shape: tuple[int, int], scale: Scale, side: int
) -> dict[str, Any]:
    """Return the parameters to apply to images of a shape (H, W).

    With ``scale="side"``, lengths are multiplied by the short side of the image divided by the reference side.
    """
    values = dict(parameters)
    for p in declared.parameters if scale == "side" else ():
        # An option that is a length is scaled even if it has its default value.
        value = values.get(p.name, p.default)
        if p.length and value is not None:
            value = max(value * (min(shape) / side), -np.inf if p.at_least is None else p.at_least)
            values[p.name] = int(np.floor(value + 0.5)) if p.kind is int else float(value)
    return values


def check_images(images: Any) -> Images:
    """Return one image or a batch in the form that kernels expect, or raise `ImageError`.

    The result is a C-contiguous and writable array of uint8 with the shape (N, H, W, C).
    """
    if not isinstance(images, np.ndarray):
        raise ImageError(object_error(images))
    batch: Images = images if images.ndim == 4 else images[None, ..., None] if images.ndim == 2 else images[None]
    is_valid = batch.ndim == 4 and batch.shape[3] in (1, 3) and images.dtype == np.uint8
    if not is_valid or isinstance(images, np.ma.MaskedArray):
        raise ImageError(array_error(images))
    if min(batch.shape[1:3]) < MIN_SIDE:
        raise ImageError(
            f"The image is {batch.shape[1]}x{batch.shape[2]} (height x width); corruptions need at least "
            f"{MIN_SIDE}x{MIN_SIDE}. Enlarge the image first."
        )
    if math.prod(batch.shape[1:]) >= _VALUES_LIMIT:
        raise ImageError(
            f"The image is {'x'.join(map(str, batch.shape[1:]))} (height x width x channels), which is "
            f"{math.prod(batch.shape[1:]):,} values; corruptions support fewer than {_VALUES_LIMIT:,}. "
            "Corrupt a smaller image, or parts of this one."
        )
    # For a read-only or strided array, numba would compile each kernel a second time.
    return batch if batch.flags.carray else np.array(batch, order="C")


def check_revision(declared: Corruption, revision: int) -> None:
    """Raise `ParameterError` unless this release has the revision of a corruption that a stage requires."""
    if revision != declared.revision:
        raise ParameterError(
            f"{declared.name} has revision {declared.revision} in this release of corruptset, but the stage requires "
            f"revision {revision}, whose pixels differ. Use the release with which the stage was written, or leave the "
            "revision out."
        )


def apply_stage(
    images: Images,
    stage: Stage,
    key: np.uint64,
    sample_keys: NDArray[np.uint64],
    *,
    side: int,
    scale: Scale = "none",
    draws: Mapping[str, Any] | None = None,
    resources: Mapping[str, Any] | None = None,
    start_level: int = 0,
) -> Images:
    """Apply one stage to a batch that `check_images` has accepted.

    Parameters
    ----------
    images : (N, H, W, C) ndarray of uint8
        The batch, which is not modified.
    stage : Stage
        The corruption and its parameters.
    key : numpy.uint64
        The key of the stage, from `chain_keys`.
    sample_keys : (N,) ndarray of uint64
        The keys of the images.
    side : int
        The reference side of the calibration in pixels.
    scale : {"none", "side"}
        Whether lengths are scaled with the short side of the images.
    draws : mapping, optional
        Values to use for all images instead of drawn ones. A name that the corruption does not draw is an error.
    resources : mapping, optional
        Values to use instead of the default resources. Names that the corruption does not use are ignored. A corruption
        that needs a model takes the resources `surrogate` and `labels`. The labels are an (N,) array of int64.
    start_level : int
        The level that the images already have, for a gradual degradation that accumulates.

    Returns
    -------
    (N, H', W', C) ndarray of uint8
        The corrupted batch, which never shares memory with the input.
    """
    declared = get_corruption(stage.corruption)
    check_revision(declared, stage.revision)
    shape = images.shape[1:]
    values = scaled_parameters(declared, stage.parameters, shape[:2], scale, side)
    extra = {name: value for name, value in (resources or {}).items() if name in declared.resources}
    known = {d.name: d for d in declared.draws}
    for name, value in (draws or {}).items():
        if name not in known:
            raise ParameterError(
                f"{stage.corruption} has no random draw {name!r}.{suggest(name, known)} Its random draws are: "
                f"{', '.join(known) or 'none that can be passed'}."
            )
        at = values if stage.level is None else values | {"level": stage.level}
        extra[name] = known[name].checked(value, shape, at, stage.corruption)
    if missing := [name for name, default in declared.resources.items() if default is None and name not in extra]:
        raise ParameterError(
            f"{declared.name} uses the gradients of a model, but {' and '.join(missing)} "
            f"{'are' if missing[1:] else 'is'} missing. Pass surrogate= (a model file or a loaded model) and label= "
            "(or labels=, one per image) to corrupt(), or pass --surrogate FILE.toml to a build, which takes the "
            "labels from its source."
        )
    if not len(images):
        return images.copy()
    out = images
    if declared.gradual is None or stage.level is None:
        out = declared.apply(images, values, key, sample_keys, **extra)
    else:
        for level in range(start_level + 1, stage.level + 1) if declared.gradual.accumulates else (stage.level,):
            out = declared.apply(out, values, key, sample_keys, level=level, **extra)
    return out.copy() if np.may_share_memory(out, images) else out
