"""Compute the formulas of published scores, for all images together and for each bootstrap resample."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Estimate = NDArray[np.float64]
"""A value over all images, followed by its value in each bootstrap resample, (1 + resamples,)."""
ALMOST_ZERO = 1e-9
"""A denominator closer to 0 than this is a rounding error, because accuracies are multiples of 1 / (number of images).
"""


def aude(errors: Sequence[Estimate]) -> Estimate:
    """Return the area under the curve of a corruption's errors at severities 0 (clean) to 5.

    References
    ----------
    Hendrycks & Dietterich 2018, "Benchmarks for Neural Network Robustness to Common Distortions and Styles" (preprint).
    """
    clean, *between, last = errors
    return (clean / 2 + sum(between) + last / 2) / (len(errors) - 1)


def corruption_error(errors: Sequence[Estimate], baseline: Sequence[Estimate]) -> Estimate:
    """Return the corruption error (CE): the sum of errors at severities 1 to 5, divided by that of the baseline.

    References
    ----------
    Hendrycks & Dietterich 2019, "Benchmarking Neural Network Robustness to Common Corruptions and Perturbations"
    (ICLR), section 4.1.
    """
    return ratio(np.sum(errors, axis=0), np.sum(baseline, axis=0))


def relative_corruption_error(
    errors: Sequence[Estimate], clean: Estimate, baseline: Sequence[Estimate], baseline_clean: Estimate
) -> Estimate:
    """Return the relative CE of a corruption: the increase over the clean error, divided by the baseline's increase.

    The relative CE is NaN if the baseline loses no accuracy or gains some. A negative quotient would rank models in
    reverse order.

    References
    ----------
    The same as for `corruption_error`.
    """
    loss = np.sum(baseline, axis=0) - len(baseline) * baseline_clean
    return ratio(np.sum(errors, axis=0) - len(errors) * clean, np.maximum(loss, 0))


def rb_index(clean: Estimate, others: Sequence[Estimate]) -> Estimate:
    """Return the robustness index: the mean loss, as a fraction of the clean score.

    Parameters
    ----------
    clean : ndarray
        The score on the clean set, in any unit.
    others : sequence of ndarray
        The score on each of the other sets.

    References
    ----------
    FlagEval, robustness evaluation of vision models: ``Flag / (T * A_org) * sum(A_org - A_i)``, here with the flag 1.
    """
    return ratio(np.sum([clean - other for other in others], axis=0), len(others) * clean)


def cv_percent(accuracies: Sequence[Estimate]) -> Estimate:
    """Return the coefficient of variation over sets, in percent: the population standard deviation divided by the mean.

    References
    ----------
    Dai & Berleant 2021, "Benchmarking Robustness of Deep Learning Classifiers Using Two-Factor Perturbation" (IEEE Big
    Data).
    """
    return 100 * ratio(np.std(accuracies, axis=0), np.mean(accuracies, axis=0))


def ratio(above: NDArray[np.float64], below: NDArray[np.float64]) -> Estimate:
    """Divide two estimates. The quotient is NaN where the denominator is almost 0.

    If the denominator is almost 0 in a resample, or has the opposite sign there, its range includes 0. The quotient
    then has no bounded confidence interval, so its values in all resamples are NaN.
    """
    above, below = np.broadcast_arrays(above, below)
    with np.errstate(divide="ignore", invalid="ignore"):
        quotient = np.asarray(np.where(np.abs(below) < ALMOST_ZERO, np.nan, above / below))
    if below.size > 1 and (below[1:] * np.sign(below[0])).min() < ALMOST_ZERO:
        quotient[1:] = np.nan
    return quotient
