"""The papers' formulas, element by element over all images and each resample of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Estimate = NDArray[np.float64]
"""(1 + resamples,): a value over all images, then over each resample of them."""


def aude(errors: Sequence[Estimate]) -> Estimate:
    """Return the area under a corruption's errors at severities 0 (clean) to 5.

    By the trapezoid rule: Hendrycks & Dietterich 2018, "Benchmarks for Neural Network Robustness to Common Distortions
    and Styles" (preprint).
    """
    clean, *between, last = errors
    return (clean / 2 + sum(between) + last / 2) / (len(errors) - 1)


def corruption_error(errors: Sequence[Estimate], baseline: Sequence[Estimate]) -> Estimate:
    """Return a corruption's CE: its errors at severities 1 to 5 over a baseline's.

    Hendrycks & Dietterich 2019, "Benchmarking Neural Network Robustness to Common Corruptions and Perturbations"
    (ICLR), section 4.1.
    """
    return np.asarray(ratio(np.sum(errors, axis=0), np.sum(baseline, axis=0)))


def relative_corruption_error(
    errors: Sequence[Estimate], clean: Estimate, baseline: Sequence[Estimate], baseline_clean: Estimate
) -> Estimate:
    """Return a corruption's relative CE: what it loses, over what a baseline loses.

    From the same place as `corruption_error`.
    """
    return ratio(
        np.sum(errors, axis=0) - len(errors) * clean, np.sum(baseline, axis=0) - len(baseline) * baseline_clean
    )


def rb_index(clean: Estimate, others: Sequence[Estimate]) -> Estimate:
    """Return the robustness index: the mean loss, as a share of the clean score.

    Parameters
    ----------
    clean : ndarray
        The score on the clean set, in any unit.
    others : sequence of ndarray
        The score on each other set.

    Notes
    -----
    FlagEval, robustness evaluation of vision models: ``Flag / (T * A_org) * sum(A_org - A_i)``, with a flag of 1.
    """
    return ratio(np.sum([clean - other for other in others], axis=0), len(others) * clean)


def cv_percent(accuracies: Sequence[Estimate]) -> Estimate:
    """Return the coefficient of variation over sets, in per cent.

    The population's standard deviation over the mean: Dai & Berleant 2021, "Benchmarking Robustness of Deep Learning
    Classifiers Using Two-Factor Perturbation" (IEEE Big Data).
    """
    return 100 * ratio(np.std(accuracies, axis=0), np.mean(accuracies, axis=0))


def ratio(above: NDArray[np.float64], below: NDArray[np.float64]) -> Estimate:
    """Return a quotient; NaN where it would be divided by 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(below == 0, np.nan, np.asarray(above) / below)
