"""Stages and chains.

A corruption with resolved parameters, its place in a chain, its key, its application.
"""

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
from .image_mistakes import no_array, no_image
from .keys import stage_key
from .registry import Corruption, Images, corruption_names, get_corruption, is_corruption
from .rows import severity_number, severity_text

Scale = Literal["none", "side"]
Coupling = Literal["independent", "severity"]
SCALES = ("none", "side")
COUPLINGS = ("independent", "severity")
LEAST_SIDE = 8
_LARGEST = 2**32
"""Values in an image. Some kernels compute positions in 32 bits."""
MOST_STAGES = 16
"""Of a chain: the keys take work that grows with the square of its length, and a walk keeps a batch for each stage."""


@dataclass(frozen=True)
class Stage:
    """One corruption with resolved parameters."""

    corruption: str
    revision: int
    severity: float | None = None
    """A whole number is an int."""
    level: int | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """Every column, and the options that differ from their default, before scaling. (Without the defaults an option
    that is added later leaves digests as they are.)"""
    tabled: bool = field(default=True, compare=False)
    """Of a stage with a level: False where its parameters are not the ladder's. (A stage without a row has no
    severity.)
    """

    @property
    def name(self) -> str:
        """``fog-3``, ``fog-2p25``, ``black_lines-07``, or the bare corruption where the parameters were given."""
        return self.corruption if self.number is None else f"{self.corruption}-{self.number}"

    @property
    def number(self) -> str | None:
        """The severity or level as in a set id: ``3``, ``2p25``, ``07``.

        None where parameters were given.
        """
        if self.severity is not None:
            return severity_text(self.severity)
        return f"{self.level:02d}" if self.level is not None and self.tabled else None

    def as_json(self) -> dict[str, Any]:
        """Return the stage as it stands in a manifest."""
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
    """Return a stage with every parameter resolved.

    Parameters
    ----------
    name : str
    calibration : Calibration
        Has the row of a severity, and the ladder of a level.
    severity : int or float, optional
        1..5, or between with at most two decimals (`row_between`). Where a column is given too, it overrides the row's
        value, and the stage has no severity.
    level : int, optional
        1, 2, ... of a gradual degradation.
    parameters : mapping, optional
        Columns and options by name.

    Raises
    ------
    UnknownCorruption, ParameterError
    """
    declared = get_corruption(name)
    known, draws = {p.name: p for p in declared.parameters}, sorted(d.name for d in declared.draws)
    values = dict(calibration.row(name, severity).parameters) if severity is not None else {}
    if level is not None:
        values |= calibration.rung(name, level).parameters
    elif declared.gradual is not None:
        raise ParameterError(f"{name} needs a level, 1 to {declared.gradual.most}.")
    by_row = True
    for key, value in (parameters or {}).items():
        if key not in known:
            hint = " It is a draw: it can be given for one call of corrupt(), not in a recipe." if key in draws else ""
            raise ParameterError(
                f"{name}: unknown parameter {key!r}.{suggest(key, [*known, *draws])}{hint} It takes: "
                f"{', '.join([*known, *draws]) or 'none'}."
            )
        values[key] = known[key].checked(value, name)
        by_row = by_row and known[key].option
    if missing := [p.name for p in declared.columns if p.name not in values]:
        tabled = "a severity (1 to 5), or its parameters" if calibrations_of(name) else "its parameters"
        untabled = "" if calibrations_of(name) else "has no published severities and "
        raise ParameterError(
            f"{name} {untabled}needs {tabled}: {', '.join(missing)} {'are' if missing[1:] else 'is'} missing."
        )
    kept = declared.without_defaults(values)
    if level is not None:
        return Stage(name, declared.revision, None, int(level), kept, tabled=by_row)
    return Stage(name, declared.revision, severity_number(severity) if by_row else None, None, kept)


def resolve_number(name: str, calibration: Calibration, number: float) -> Stage:
    """Return the stage of a number in a set id.

    It is a level of a gradual degradation, else a severity.
    """
    which: Any = {"severity" if get_corruption(name).gradual is None else "level": number}
    return resolve_stage(name, calibration, **which)


_STAGE = re.compile(r"(?P<name>[a-z0-9_]+)(?P<sign>[/-])(?P<number>[0-9]{1,2}([.p][0-9]{1,2})?)")


def parse_chain(text: str, calibration: Calibration) -> tuple[Stage, ...]:
    """Return the stages of a set id, such as ``clean``, ``fog/3`` or ``fog-2.25+gaussian_noise-5``.

    A stage of severity or level 0 is absent.
    """
    stages = []
    parts = text.split("+") if text != "clean" else []
    check_length(len(parts))
    for part in parts:
        link = _STAGE.fullmatch(part)
        if link is None or (link["sign"] == "/" and len(parts) > 1):
            whole = "" if part == text else f" in {text!r}"
            name = re.sub("[/-][0-9.p]*$", "", part)
            if is_corruption(name):
                kind = "severity" if get_corruption(name).gradual is None else "level"
                raise ParameterError(
                    f"{part!r}{whole} is no stage: expected its {kind} too, '{name}-3', or in a list of stages "
                    f"[('{name}', 3)]."
                )
            hint = " Leave it out." if part == "clean" else suggest(name, corruption_names())
            raise UnknownCorruption(
                f"{part!r}{whole} is neither a corruption nor a set id such as 'fog/3' or 'fog-3+gaussian_noise-5'."
                f"{hint} `corruptset list` names all corruptions."
            )
        number = severity_number(float(link["number"].replace("p", ".")))
        if not absent(link["name"], number):
            stages.append(resolve_number(link["name"], calibration, number or 0))
    return tuple(stages)


def check_length(count: int) -> None:
    """Raise `ParameterError` for a chain of too many stages."""
    if count > MOST_STAGES:
        raise ParameterError(f"The chain has {count} stages; expected at most {MOST_STAGES}.")


def absent(name: str, number: Any) -> bool:
    """Whether a corruption at this severity or level, at 0, is the image itself."""
    return severity_number(number) == 0 and (get_corruption(name).gradual is not None or bool(calibrations_of(name)))


def set_id(stages: Sequence[Stage]) -> str:
    """Return the id of the set that a chain of severities and levels makes.

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
        raise ParameterError("a stage with given parameters has no id of its own: the recipe must name it.")
    return f"{stages[0].corruption}/{stages[0].number}" if len(stages) == 1 else "+".join(s.name for s in stages)


def key_entry(stage: Stage, coupling: Coupling, *, before: bool = False) -> tuple[str, dict[str, Any]]:
    """Return what a stage adds to its own key, or to later ones (`before`).

    Under ``coupling="severity"`` columns that came from a severity stay out, so that severities share draws. A level is
    not in a stage's own key, so that a level continues the one below it. It is in the keys of the stages after it,
    which draw anew for every level unless severities share draws.
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
    """Return the key of every stage of a chain."""
    check_length(len(stages))
    above = [key_entry(s, coupling, before=True) for s in stages]
    return [stage_key(seed, [*above[:i], key_entry(s, coupling)]) for i, s in enumerate(stages)]


def scaled_parameters(
    declared: Corruption, parameters: Mapping[str, Any], shape: tuple[int, int], scale: Scale, side: int
) -> dict[str, Any]:
    """Return parameters as they are applied: under ``scale="side"`` lengths times short side / reference side."""
    values = dict(parameters)
    for p in declared.parameters if scale == "side" else ():
        # An option that is a length scales from its default too.
        value = values.get(p.name, p.default)
        if p.length and value is not None:
            value = max(value * (min(shape) / side), -np.inf if p.at_least is None else p.at_least)
            values[p.name] = int(np.floor(value + 0.5)) if p.kind is int else float(value)
    return values


def check_images(images: Any) -> Images:
    """Return one image or a batch as kernels take it, or raise `ImageError`.

    It is C-contiguous and writable uint8, (N, H, W, C).
    """
    if isinstance(images, np.ma.MaskedArray) or not isinstance(images, np.ndarray) or images.dtype != np.uint8:
        raise ImageError(no_array(images))
    batch: Images = images if images.ndim == 4 else images[None, ..., None] if images.ndim == 2 else images[None]
    if batch.ndim != 4 or batch.shape[3] not in (1, 3):
        raise ImageError(no_image(images.shape))
    if min(batch.shape[1:3]) < LEAST_SIDE:
        raise ImageError(
            f"The image is {batch.shape[1]}x{batch.shape[2]} (height x width); corruptions need at least "
            f"{LEAST_SIDE}x{LEAST_SIDE}."
        )
    if math.prod(batch.shape[1:]) >= _LARGEST:
        raise ImageError(
            f"The image is {'x'.join(map(str, batch.shape[1:]))} (height x width x channels), which is "
            f"{math.prod(batch.shape[1:]):,} values; corruptions take fewer than {_LARGEST:,}. "
            "Corrupt a smaller image, or parts of this one."
        )
    # A read-only or strided array would make numba compile every kernel anew.
    return batch if batch.flags.carray else np.array(batch, order="C")


def check_revision(declared: Corruption, revision: int) -> None:
    """Raise `ParameterError` unless this release has the revision of a corruption that a stage asks for."""
    if revision != declared.revision:
        raise ParameterError(
            f"{declared.name} has revision {declared.revision} in this release of corruptset, and the stage asks for "
            f"revision {revision}, whose pixels differ. Use the release that the stage was written with, or leave the "
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
    done: int = 0,
) -> Images:
    """Apply one stage to a batch that `check_images` has seen; the input is left untouched.

    Parameters
    ----------
    images : (N, H, W, C) ndarray of uint8
    stage : Stage
    key : numpy.uint64
        The stage's key (`chain_keys`).
    sample_keys : (N,) ndarray of uint64
    side : int
        The calibration's reference side.
    scale : {"none", "side"}
    draws, resources : mapping, optional
        Take the place of drawn values and of default resources. A draw that the corruption does not have is refused,
        such a resource is ignored. A corruption that needs a model takes the resources `surrogate` and `labels`, (N,)
        int64.
    done : int
        Of a gradual degradation that accumulates: the level that `images` have.

    Returns
    -------
    (N, H', W', C) ndarray of uint8
        It never shares memory with the input.
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
                f"{stage.corruption} draws no {name!r}.{suggest(name, known)} It draws: "
                f"{', '.join(known) or 'nothing that can be given'}."
            )
        at = values if stage.level is None else values | {"level": stage.level}
        extra[name] = known[name].checked(value, shape, at, stage.corruption)
    if missing := [name for name, default in declared.resources.items() if default is None and name not in extra]:
        raise ParameterError(
            f"{declared.name} follows the gradient of a model, and {' and '.join(missing)} "
            f"{'are' if missing[1:] else 'is'} missing. corrupt() takes surrogate= (a model file, or a "
            "model) and label= (or labels=, one for each image); a build takes --surrogate "
            "FILE.toml, and has the labels of its source."
        )
    if not len(images):
        return images.copy()
    out = images
    if declared.gradual is None or stage.level is None:
        out = declared.apply(images, values, key, sample_keys, **extra)
    else:
        for level in range(done + 1, stage.level + 1) if declared.gradual.accumulates else (stage.level,):
            out = declared.apply(out, values, key, sample_keys, level=level, **extra)
    return out.copy() if np.may_share_memory(out, images) else out
