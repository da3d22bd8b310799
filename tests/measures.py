"""Compare images, and test counts against a distribution."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

MIN_P = 1e-4
"""Limit for p-values. Random draws are determined by their keys, so a p-value never changes between runs."""


def psnr(image: NDArray[np.uint8], out: NDArray[np.uint8]) -> float:
    """Return the mean PSNR of a batch of outputs against one image, in dB."""
    errors = np.mean((out.reshape(-1, *image.shape).astype(float) - image) ** 2, axis=(1, 2, 3))
    return float(np.mean(10 * np.log10(255**2 / errors)))


def check_close(
    result: NDArray[Any], expected: NDArray[Any], identical: float = 0.99, within: int = 1, what: object = ""
) -> None:
    """Assert that no pixel value differs by more than `within`, and that a fraction of the values is identical."""
    distance = np.abs(result.astype(int) - np.asarray(expected).astype(int))
    assert distance.max() <= within, (what, int(distance.max()))
    assert np.mean(distance == 0) >= identical, (what, float(np.mean(distance == 0)))


def chi_squared_p(observed: NDArray[np.int64], probabilities: NDArray[np.float64]) -> float:
    """Return the p-value of a chi-squared test of counts. Neighbouring bins are merged until each expects 25."""
    from scipy import stats

    expected = np.asarray(probabilities) * observed.sum()
    edges, total = [0], 0.0
    for i, e in enumerate(expected):
        total += e
        if total >= 25 and expected[i + 1 :].sum() >= 25:
            edges.append(i + 1)
            total = 0.0
    o, e = np.add.reduceat(observed, edges), np.add.reduceat(expected, edges)
    return float(stats.chi2.sf(((o - e) ** 2 / e).sum(), len(o) - 1))


def uniform_p(result: NDArray[Any], count: int) -> float:
    """Return the p-value of integers that should be uniform on 0 .. count - 1."""
    return chi_squared_p(np.bincount(np.ravel(result), minlength=count), np.full(count, 1 / count))
