"""The parameters of one severity, and their interpolation for fractional severities.

Columns are interpolated linearly between two rows. Below severity 1, the lower row is that of severity 0. The method is
that of the generator (oripress/CCC) released with Press, Schneider, Kümmerer & Bethge 2023, RDumb: A simple approach
that questions our progress in continual test-time adaptation, NeurIPS.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from numbers import Real
from typing import Any

from ..errors import ParameterError
from .registry import Corruption


@dataclass(frozen=True)
class Row:
    """The parameters of a corruption at one severity or level, and their source."""

    parameters: Mapping[str, Any]
    source: str


ZERO: Mapping[str, Mapping[str, float]] = {
    "gaussian_noise": {"sigma": 0.0},
    "impulse_noise": {"amount": 0.0},
    "speckle_noise": {"sigma": 0.0},
    "defocus_blur": {"radius": 0.0, "alias_sigma": 0.0},
    "glass_blur": {"sigma": 0.0, "max_delta": 0, "iterations": 0},
    "motion_blur": {"radius": 0.0, "sigma": 0.0},
    "zoom_blur": {"stop": 1.0},
    "gaussian_blur": {"sigma": 0.0},
    "snow": {"threshold": 1.0, "mix": 1.0},
    "frost": {"image_weight": 1.0, "frost_weight": 0.0},
    "fog": {"weight": 0.0},
    "brightness": {"shift": 0.0},
    "spatter": {"intensity": 0.0},
    "contrast": {"factor": 1.0},
    "elastic_transform": {"alpha": 0.0, "affine": 0.0},
    "pixelate": {"fraction": 1.0},
    "jpeg_compression": {"quality": 85},
    "saturate": {"gain": 1.0, "shift": 0.0},
    "shot_noise": {},
}
"""The columns of severity 0 that differ from those of severity 1.

For the fifteen main corruptions, these are the released rows. For the four extra corruptions, they are the values at
which the image does not change. Shot noise has no finite number of photons at severity 0, so the inverse of this number
is set to 0.
"""
ZERO_OF: Mapping[tuple[str, str], Mapping[str, float]] = {("imagenet", "elastic_transform"): {"sigma": 999.0}}
"""Additional columns of severity 0 for a calibration and corruption, as released."""
INVERSE = frozenset({"photons"})
"""Columns for which the inverse is interpolated instead of the value."""


def severity_number(severity: Any) -> int | float | None:
    """Return a severity as an int, or as a float with at most two decimals.

    The result is None for any other value.

    Examples
    --------
    >>> [severity_number(s) for s in (3, 2.0, 2.25, 0.1 + 0.2, 2.125)]
    [3, 2, 2.25, 0.3, None]
    """
    if isinstance(severity, bool) or not isinstance(severity, Real) or not abs(float(severity)) < 1e6:
        return None
    hundredths = round(float(severity) * 100)
    if abs(float(severity) * 100 - hundredths) > 1e-4:
        return None
    return hundredths // 100 if hundredths % 100 == 0 else hundredths / 100


def severity_text(severity: float) -> str:
    """Return a severity in the notation of set ids.

    Examples
    --------
    >>> severity_text(3), severity_text(2.25), severity_text(0.5)
    ('3', '2p25', '0p5')
    """
    return f"{severity:g}".replace(".", "p")


def row_between(declared: Corruption, rows: Mapping[int, Row], severity: float | Fraction, calibration: str) -> Row:
    """Return interpolated parameters for a fractional severity.

    Severities above the last row are extrapolated from the last two rows. Values are computed exactly from the decimals
    of the rows and rounded once to a double. Counts are rounded to the nearest whole number (half to even). Values are
    then clipped to the range of the parameter. Options are taken from the upper of the two rows.

    Parameters
    ----------
    declared : Corruption
        The declaration of the corruption.
    rows : mapping of int to Row
        The row of each severity.
    severity : float or Fraction
        The severity, which is above 0.
    calibration : str
        The name of the calibration.

    Raises
    ------
    ParameterError
        If one of the two neighbouring rows is missing.
    """
    at = severity if isinstance(severity, Fraction) else _exact(severity)
    below = min(int(at), max(rows) - 1)
    if missing := {below, below + 1} - rows.keys() - ({0} if declared.name in ZERO else set()):
        raise ParameterError(
            f"{declared.name}: severity {float(at):g} is between {below} and {below + 1}, but calibration "
            f"{calibration!r} has no row for severity {' and '.join(map(str, sorted(missing)))}. Use a whole "
            "severity, or pass the parameters."
        )
    high = rows[below + 1]
    zero = {**ZERO.get(declared.name, {}), **ZERO_OF.get((calibration, declared.name), {})}
    low = {**high.parameters, **zero} if below == 0 else rows[below].parameters
    values = dict(high.parameters)
    for p in declared.columns:
        ends = [_exact(row[p.name]) for row in (low, high.parameters)]
        if p.name in INVERSE:
            ends = [Fraction(0) if below == 0 else 1 / ends[0], 1 / ends[1]]
        value = ends[0] + (at - below) * (ends[1] - ends[0])
        value = 1 / value if p.name in INVERSE else value
        value = max(value, value if p.low is None else _exact(p.low))
        value = min(value, value if p.high is None else _exact(p.high))
        values[p.name] = round(value) if p.kind is int else float(value)
    return Row(values, f"{high.source}; between severities {below} and {below + 1} linearly (Press et al. 2023, RDumb)")


def _exact(value: float) -> Fraction:
    return Fraction(Decimal(repr(value)))
