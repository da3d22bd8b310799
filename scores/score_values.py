"""Convert estimates of scores, or the reasons why scores are missing, to the records of a scores file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from .bootstrap import interval_of, stored_resamples, value
from .formulas import Estimate
from .records import NUMBERS, RATES, SPREADS, TITLES, Resamples, ScoreValue, Unit
from .tables import Column

ONE_IMAGE = "one image has no interval"
DIVIDED_BY_ZERO = "no interval, because some resamples divide by almost 0"
UNDEFINED = "division by 0"


@dataclass(frozen=True)
class Measured:
    """A score over all images and in each resample, or the reason why it is missing."""

    estimate: Estimate | None
    reason: str | None = None
    """The reason why the score has no value, if it is missing."""
    count: int | None = None
    """The number of sets or anchors that the score is computed over."""


Measures = Mapping[str, Measured]
"""Measured scores by name."""


def score_value(name: str, measured: Measured, units: int) -> ScoreValue:
    """Return the record of a measured score. `units` is the number of images that each resample draws."""
    estimate, group = measured.estimate, name.partition(".")[0]
    number = None if estimate is None else value(estimate)
    ends = None if estimate is None else interval_of(estimate, is_spread=name in SPREADS)
    reason = None
    if number is None:
        reason = measured.reason or UNDEFINED
    elif ends is None and estimate is not None and len(estimate) > 1:
        reason = ONE_IMAGE if units == 1 else DIVIDED_BY_ZERO
    return ScoreValue(
        name=name,
        title=TITLES.get(name) or f"{TITLES[group]} ({name.partition('.')[2].replace('_', ' ')})",
        value=number,
        unit=_unit(name),
        interval=ends,
        reason=reason,
        count=measured.count,
    )


def _unit(name: str) -> Unit:
    is_number = name in NUMBERS or name.partition(".")[0] in NUMBERS or name.endswith(".minimal")
    return "number" if is_number else "percent"


def score_column(name: str) -> Column:
    """Return the table column for a score of a whole dataset."""
    return Column(TITLES[name], _unit(name))


def is_compared(name: str) -> bool:
    """Return whether `compare` computes differences between models for a score.

    It does so for the scores of a whole dataset and for the fragile rates of each size. The resamples of these scores
    are stored.
    """
    group, _, of = name.partition(".")
    return not of or group == "two_factor" or (group == "fragile" and name.rpartition(".")[2] in RATES)


def resamples_of(measures: Measures, seed: int, units: int) -> Resamples:
    """Return the resampled values of the scores by which models are compared."""
    estimates = {name: one.estimate for name, one in measures.items() if is_compared(name) and one.estimate is not None}
    stored = {name: stored_resamples(estimate) for name, estimate in estimates.items()}
    values = {name: rows for name, rows in stored.items() if rows}
    return Resamples(seed=seed, units=units, values=values)


def without_resamples(number: float) -> Estimate:
    """Return an estimate that has a value over all images, but no resampled values."""
    return np.array([number])
