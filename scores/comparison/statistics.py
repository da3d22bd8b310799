"""Compute statistics across models: correlations of scores, quadrants, and paired differences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from ...errors import first_few
from ..bootstrap import interval, without_noise
from ..evaluation import CORRECT
from ..records import SPREADS, Scores
from ..score_values import is_compared
from .entries import PRINTED, Entry

MIN_MODELS = 3
"""The minimum number of models for a correlation. The correlation of two models is always 1 or -1."""


def pearson(x: Sequence[float], y: Sequence[float]) -> float | None:
    """Return Pearson's correlation of two scores across models.

    The result is None for fewer than three models, or if one score is the same for all models.

    Examples
    --------
    >>> pearson([1, 2, 3], [2, 4, 6])
    1.0
    >>> pearson([1, 2], [2, 4]) is None
    True
    """
    if len(x) < MIN_MODELS or len(set(x)) == 1 or len(set(y)) == 1:
        return None
    a, b = (np.asarray(values, np.float64) - np.mean(values) for values in (x, y))
    return float(np.clip(a @ b / np.sqrt((a @ a) * (b @ b)), -1, 1))


def spearman(x: Sequence[float], y: Sequence[float]) -> float | None:
    """Return Spearman's correlation of two scores across models. Tied scores receive their average rank.

    Examples
    --------
    >>> spearman([1, 2, 30], [5, 6, 7])
    1.0
    """
    return pearson(_ranks(x), _ranks(y))


def _ranks(values: Sequence[float]) -> list[float]:
    array = np.asarray(values, np.float64)
    return [float((array < one).sum() + ((array == one).sum() + 1) / 2) for one in array]


def quadrant(cv_percent: float, accuracy: float, reference: tuple[float, float]) -> str:
    """Return the quadrant of a model. A model on a dividing line counts as low in CV and high in accuracy.

    Examples
    --------
    >>> [quadrant(cv, a, (3.0, 0.9)) for cv, a in [(2, 0.95), (4, 0.95), (2, 0.8), (4, 0.8), (3.0, 0.9)]]
    ['I', 'II', 'III', 'IV', 'I']

    References
    ----------
    Dai & Berleant 2021, "Benchmarking Robustness of Deep Learning Classifiers Using Two-Factor Perturbation". Quadrant
    I has high accuracy and low CV, II has both high, III has both low, and IV has low accuracy and high CV.
    """
    is_low_cv, is_high = cv_percent <= reference[0], accuracy >= reference[1]
    return ("I" if is_low_cv else "II") if is_high else ("III" if is_low_cv else "IV")


@dataclass(frozen=True)
class Difference:
    """The difference between two models in one score."""

    score: str
    first: str
    second: str
    difference: float
    """The score of the first model minus that of the second."""
    low: float | None
    """The lower end of the 95 % confidence interval from paired resamples, or None without an interval."""
    high: float | None
    exceeds: bool | None
    """Whether the interval excludes 0."""


def differences(entries: Sequence[Entry]) -> tuple[list[Difference], list[str]]:
    """Return the differences between every two models in their scores, and notes on missing intervals and differences.

    A difference has a confidence interval if both models were scored on the same resamples of the same images. Models
    from printed tables, scores over different sets, and scores relative to different baselines are not compared.
    """
    found, pairs_of = list[Difference](), dict[str, list[str]]()
    for a, b in combinations([entry for entry in entries if entry.scores.digest != PRINTED], 2):
        first, second = _compared_values(a.scores), _compared_values(b.scores)
        both = [name for name in first if name in second]
        unpaired = why_not_paired(a.scores, b.scores)
        unlike = {name: why for name, why in _why_unlike(a.scores, b.scores).items() if name in both}
        reasons = [] if unpaired is None else [f"their differences have no confidence intervals, because {unpaired}"]
        for reason in (*reasons, *dict.fromkeys(unlike.values())):
            pairs_of.setdefault(reason, []).append(f"{a.label} and {b.label}")
        resampled = [{} if unpaired or e.scores.resamples is None else e.scores.resamples.values for e in (a, b)]
        for name in [name for name in both if name not in unlike]:
            unit = 100 if name.endswith("cv_percent") else 1  # All other scores are fractions.
            difference, ends = first[name] / unit - second[name] / unit, None
            pairs = zip((first, second), resampled, strict=True)
            values = [np.array([of[name], *own[name]]) / unit for of, own in pairs if name in own]
            if len(values) == 2:
                is_spread = name in SPREADS
                x, y = (without_noise(one) if is_spread else one[1:] for one in values)
                ends = interval(x - y, around=difference if is_spread else None)
            low, high = ends or (None, None)
            exceeds = None if low is None or high is None else low > 0 or high < 0
            found.append(Difference(name, a.label, b.label, difference, low, high, exceeds))
    return found, [f"{first_few(pairs)}: {reason}." for reason, pairs in pairs_of.items()]


def _compared_values(scores: Scores) -> dict[str, float]:
    """Return the values of the scores by which models are compared."""
    return {one.name: one.value for one in scores.scores if one.value is not None and is_compared(one.name)}


def _why_unlike(a: Scores, b: Scores) -> dict[str, str]:
    """Return the scores by which two models cannot be compared, and the reasons."""
    unlike: dict[str, str] = {}
    if a.baseline != b.baseline:
        why = f"CEs relative to {a.baseline} and to {b.baseline} are not comparable; score both with one --baseline"
        unlike |= dict.fromkeys(("mce", "relative_mce"), why)
    if a.sets.keys() != b.sets.keys():
        counts = f"({len(a.sets)}, {len(b.sets)})"
        why = f"means over different sets {counts} are not comparable; score both with the same --sets"
        two_factor = [f"two_factor.{name}" for name in a.group("two_factor")]
        unlike |= dict.fromkeys(("mean_accuracy", "rb_index", *two_factor), why)
    return unlike


def why_not_paired(a: Scores, b: Scores) -> str | None:
    """Return the reason why the resamples of two models are not paired, or None if they are paired."""
    if a.digest != b.digest:
        return "they are scores of different datasets"
    if a.condition != b.condition:
        return "different images are scored"
    if a.condition == CORRECT:
        return f"{CORRECT} scores different images for each model; use {CORRECT}=PREDICTIONS"
    if a.resamples is None or b.resamples is None:
        return "a file has no resamples; `corruptset score --out FOLDER` writes them, but --json does not"
    drawn = [(r.seed, r.units, {len(values) for values in r.values.values()}) for r in (a.resamples, b.resamples)]
    return None if drawn[0] == drawn[1] else "their resamples have different seeds or numbers of images"
