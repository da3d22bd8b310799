"""Stages and chains: a corruption with resolved parameters, its place in a chain, its key, its application."""

from __future__ import annotations

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
from .registry import Corruption, Images, corruption_names, get_corruption
from .rows import severity_number, severity_text

Scale = Literal["none", "side"]
Coupling = Literal["independent", "severity"]
SCALES = ("none", "side")
COUPLINGS = ("independent", "severity")
LEAST_SIDE = 8
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
        number = self.number
        return self.corruption if number is None else f"{self.corruption}-{number}"

    @property
    def number(self) -> str | None:
        """What stands for the stage in a set id: ``3``, ``2p25``, ``07``; None where the parameters were given."""
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
    given = dict(parameters or {})
    known = {p.name: p for p in declared.parameters}
    for key in given:
        if key not in known:
            draws = {d.name for d in declared.draws}
            hint = " It is a draw: it can be given for one call of corrupt(), not in a recipe." if key in draws else ""
            accepted = ", ".join([*known, *sorted(draws)]) or "none"
            raise ParameterError(
                f"{name}: unknown parameter {key!r}.{suggest(key, [*known, *draws])}{hint} It takes: {accepted}."
            )
    values: dict[str, Any] = {}
    if severity is not None:
        values.update(calibration.row(name, severity).parameters)
    if level is not None:
        values.update(calibration.rung(name, level).parameters)
    elif declared.gradual is not None:
        raise ParameterError(f"{name} needs a level, 1 to {declared.gradual.most}.")
    for key, value in given.items():
        values[key] = known[key].checked(value, name)
    missing = [p.name for p in declared.columns if p.name not in values]
    if missing:
        tabled = bool(calibrations_of(name))
        needs = (
            "needs a severity (1 to 5), or its parameters"
            if tabled
            else "has no published severities and needs its parameters"
        )
        raise ParameterError(f"{name} {needs}: {', '.join(missing)} {'are' if len(missing) > 1 else 'is'} missing.")
    by_row = not any(p.name in given for p in declared.columns)
    kept = declared.without_defaults(values)
    if level is not None:
        return Stage(name, declared.revision, None, int(level), kept, tabled=by_row)
    return Stage(name, declared.revision, severity_number(severity) if by_row else None, None, kept)


def resolve_number(name: str, calibration: Calibration, number: float) -> Stage:
    """Return the stage that a number in a set id means: a level of a gradual degradation, else a severity."""
    gradual = get_corruption(name).gradual is not None
    level: Any = number  # a fraction is refused
    return (
        resolve_stage(name, calibration, level=level) if gradual else resolve_stage(name, calibration, severity=number)
    )


_NUMBER = r"(?P<number>[0-9]{1,2}([.p][0-9]{1,2})?)"
_SINGLE = re.compile(rf"(?P<name>[a-z0-9_]+)/{_NUMBER}")
_LINK = re.compile(rf"(?P<name>[a-z0-9_]+)-{_NUMBER}")


def parse_chain(text: str, calibration: Calibration) -> tuple[Stage, ...]:
    """Return the stages of a set id: ``clean``, ``fog/3``, ``fog-3``, ``fog-2.25``, ``black_lines/07``,
    ``fog-3+gaussian_noise-5``.

    A stage of severity or level 0 is absent.
    """
    if text == "clean":
        return ()
    single = _SINGLE.fullmatch(text)
    stages = []
    parts = [text] if single else text.split("+")
    check_length(len(parts))
    for part in parts:
        link = single or _LINK.fullmatch(part)
        if link is None:
            whole = "" if part == text else f" in {text!r}"
            raise UnknownCorruption(
                f"{part!r}{whole} is neither a corruption nor a set id such as 'fog/3' or 'fog-3+gaussian_noise-5'."
                f"{suggest(re.sub('[/-][0-9.p]*$', '', part), corruption_names())} `corruptset list` names all "
                "corruptions."
            )
        written = link["number"].replace("p", ".")
        number = float(written) if "." in written else int(written)
        if not absent(link["name"], number):
            stages.append(resolve_number(link["name"], calibration, number))
    return tuple(stages)


def check_length(count: int) -> None:
    """Raise `ParameterError` for a chain of too many stages."""
    if count > MOST_STAGES:
        raise ParameterError(f"The chain has {count} stages; expected at most {MOST_STAGES}.")


def absent(name: str, number: Any) -> bool:
    """Whether a corruption at a severity, or at a level where it has these, is the image itself: at 0."""
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
    """Return what a stage adds to its own key, or to the keys of the stages after it (`before`).

    Under ``coupling="severity"`` columns that came from a severity stay out, so that severities share draws. A level is
    not in a stage's own key, so that a level continues the one below it. It is in the keys of the stages after it,
    which draw anew for every level unless severities share draws.
    """
    declared = get_corruption(stage.corruption)
    shaping = {
        p.name: stage.parameters[p.name] for p in declared.options if p.shapes_draws and p.name in stage.parameters
    }
    shared = coupling == "severity" and stage.severity is not None
    columns = {} if shared else {p.name: stage.parameters[p.name] for p in declared.columns}
    level = {"level": stage.level} if before and stage.level is not None and coupling == "independent" else {}
    return f"{stage.corruption}@{stage.revision}", columns | shaping | level


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
    if scale == "none":
        return values
    ratio = min(shape) / side
    for p in declared.parameters:
        # An option that is a length scales from its default too.
        value = values.get(p.name, p.default)
        if p.length and value is not None:
            value = value * ratio
            if p.at_least is not None:
                value = max(value, p.at_least)
            values[p.name] = int(np.floor(value + 0.5)) if p.kind is int else float(value)
    return values


def check_images(images: Any) -> Images:
    """Return one image or a batch as kernels take it (C-contiguous, writable, uint8 (N, H, W, C)), or raise
    `ImageError`.
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
    if batch.flags.carray:
        return batch
    # A read-only or strided array would make numba compile every kernel anew.
    return np.require(batch, requirements=["C", "A", "W"]) if batch.flags.writeable else np.array(batch, order="C")


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
    (N, H', W', C) ndarray of uint8, never the input array itself
    """
    declared = get_corruption(stage.corruption)
    if declared.revision != stage.revision:
        raise ParameterError(
            f"{stage.corruption} is at revision {declared.revision} here, and the stage asks for revision "
            f"{stage.revision}: its bytes differ. Use the release of corruptset that made it."
        )
    height, width, channels = images.shape[1:]
    values = scaled_parameters(declared, stage.parameters, (height, width), scale, side)
    extra: dict[str, Any] = {}
    known = {d.name: d for d in declared.draws} if draws else {}
    for name, value in (draws or {}).items():
        if name not in known:
            raise ParameterError(
                f"{stage.corruption} draws no {name!r}.{suggest(name, known)} It draws: "
                f"{', '.join(known) or 'nothing that can be given'}."
            )
        at = values if stage.level is None else values | {"level": stage.level}
        extra[name] = known[name].checked(value, (height, width, channels), at, stage.corruption)
    if resources:
        extra |= {name: value for name, value in resources.items() if name in declared.resources}
    if declared.resources:
        _check_needed(declared, extra)
    if not len(images):
        return images.copy()
    if declared.gradual is None:
        return declared.apply(images, values, key, sample_keys, **extra)
    assert stage.level is not None
    for level in range(done + 1, stage.level + 1) if declared.gradual.accumulates else (stage.level,):
        images = declared.apply(images, values, key, sample_keys, level=level, **extra)
    return images


def _check_needed(declared: Corruption, given: Mapping[str, Any]) -> None:
    missing = [name for name, make_default in declared.resources.items() if make_default is None and name not in given]
    if missing:
        verb = "is" if len(missing) == 1 else "are"
        raise ParameterError(
            f"{declared.name} follows the gradient of a model, and {' and '.join(missing)} {verb} missing. corrupt() "
            "takes surrogate= (a model file, or what load_surrogate() returns) and label= (or labels=, one for each "
            "image); a build takes --surrogate FILE.toml, and has the labels of its source."
        )
