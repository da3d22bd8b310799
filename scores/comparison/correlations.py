"""How scores of models go together: Pearson's and Spearman's correlation, and the four quadrants of accuracy against
its variation.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

LEAST_MODELS = 3
"""That have a correlation: two always lie on a line."""


def pearson(x: Sequence[float], y: Sequence[float]) -> float | None:
    """Return the correlation of two scores over models; None of fewer than three models, or where one score is the same
    for all.

    Examples
    --------
    >>> pearson([1, 2, 3], [2, 4, 6])
    1.0
    >>> pearson([1, 2], [2, 4]) is None
    True
    """
    if len(x) < LEAST_MODELS or len(set(x)) == 1 or len(set(y)) == 1:
        return None
    a, b = (np.asarray(values, np.float64) - np.mean(values) for values in (x, y))
    return float(np.clip(a @ b / np.sqrt((a @ a) * (b @ b)), -1, 1))


def spearman(x: Sequence[float], y: Sequence[float]) -> float | None:
    """Return the correlation of the models' places by two scores; models with equal scores share the mean of their
    places.

    Examples
    --------
    >>> spearman([1, 2, 30], [5, 6, 7])
    1.0
    """
    return pearson(_places(x), _places(y))


def _places(values: Sequence[float]) -> list[float]:
    array = np.asarray(values, np.float64)
    return [float((array < one).sum() + ((array == one).sum() + 1) / 2) for one in array]


def quadrant(cv_percent: float, accuracy: float, reference: tuple[float, float]) -> str:
    """Return in which quadrant a model lies; one on a line counts as low in CV, and as high in accuracy.

    Examples
    --------
    >>> [quadrant(cv, a, (3.0, 0.9)) for cv, a in [(2, 0.95), (4, 0.95), (2, 0.8), (4, 0.8), (3.0, 0.9)]]
    ['I', 'II', 'III', 'IV', 'I']

    References
    ----------
    Dai & Berleant 2021, "Benchmarking Robustness of Deep Learning Classifiers Using Two-Factor Perturbation": I is high
    accuracy and low CV, II high and high, III low and low, IV low accuracy and high CV.
    """
    is_low_cv, is_high = cv_percent <= reference[0], accuracy >= reference[1]
    return ("I" if is_low_cv else "II") if is_high else ("III" if is_low_cv else "IV")
