"""Differences between models, and whether they exceed what other images would have made of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from ..estimates import interval
from ..evaluation import CORRECT
from ..records import Scores
from .entries import Entry

PERCENT = ("cv_percent", "distinct_cv_percent")
"""Scores that are no fractions."""


@dataclass(frozen=True)
class Difference:
    """One score of two models."""

    score: str
    first: str
    second: str
    difference: float
    """Of the first less that of the second."""
    low: float | None
    """Of the middle 95 % of the difference over paired resamples of the images; None where the two are not paired."""
    high: float | None
    exceeds: bool | None
    """Whether the interval is on one side of 0."""


def differences(entries: Sequence[Entry]) -> tuple[list[Difference], list[str]]:
    """Return the differences of every two models in every score that both have, and what to know of them.

    Differences have an interval where both models were scored on the same resamples of the same images.
    """
    found, notes = list[Difference](), list[str]()
    for a, b in combinations(entries, 2):
        reason = why_not_paired(a.scores, b.scores)
        if reason is not None:
            notes.append(
                f"{a.label} and {b.label} are not paired, so that their differences have no intervals: {reason}."
            )
        points = [e.scores.numbers() for e in (a, b)]
        replicates = [{} if reason or e.scores.resamples is None else e.scores.resamples.values for e in (a, b)]
        for name in [name for name in points[0] if name in points[1]]:
            unit = 100 if name.endswith(PERCENT) else 1
            first, second = (own[name] / unit for own in points)
            values = [np.array(own[name]) for own in replicates if name in own]
            low, high = (interval((values[0] - values[1]) / unit) if len(values) == 2 else None) or (None, None)
            exceeds = None if low is None or high is None else low > 0 or high < 0
            found.append(Difference(name, a.label, b.label, first - second, low, high, exceeds))
    return found, notes


def why_not_paired(a: Scores, b: Scores) -> str | None:
    """Return why the resamples of two models are not of the same images; None where they are."""
    if a.digest != b.digest:
        return "they are of different data sets"
    if a.condition != b.condition:
        return "different images count"
    if a.condition == CORRECT:
        return f"{CORRECT} counts other images for each model; {CORRECT}=PREDICTIONS counts the same"
    if a.resamples is None or b.resamples is None:
        return "scores without resamples; `corruptset score --out FOLDER` writes them, --json alone does not"
    if (a.resamples.seed, a.resamples.units) != (b.resamples.seed, b.resamples.units):
        return "their resamples are of other seeds or of other numbers of images"
    if {len(v) for v in a.resamples.values.values()} != {len(v) for v in b.resamples.values.values()}:
        return "they have other numbers of resamples"
    return None
