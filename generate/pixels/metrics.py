"""How far a set is from its clean images: PSNR, SSIM, fraction of pixels changed, MS-SSIM.

SSIM costs more than everything else of a build, and MS-SSIM three times as much, so they are measured on documented samples of the images.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ...corruptions.kernels import kernel
from ...manifests.records.models import Metrics, Spread

DEFAULT_IMAGES = 64
MULTISCALE_IMAGES = 16
"""MS-SSIM is over at most so many of the measured images, the first by id."""
Measured = tuple[float | None, float | None, float | None]
"""PSNR in dB (None: infinite, or another shape), SSIM, fraction changed of one image."""
MeasuredRow = Sequence[float | None]
"""The same with, fourth, MS-SSIM; None, or nothing, where it was not measured."""

_WINDOW = 7
_C1 = (0.01 * 255) ** 2
_C2 = (0.03 * 255) ** 2
_M1 = _C1 * 49 * 49
_M2 = _C2 * 48 * 49
_AT_ONCE = 1 << 16
"""Values whose squared differences, at most 65025 each, add up to less than 2**32."""


def measured_indices(ids: Sequence[str], images: int | Literal["all"]) -> frozenset[int]:
    """Return the indices of the samples that metrics are over: the first `images` by id (code points), or all."""
    if images == "all":
        return frozenset(range(len(ids)))
    return frozenset(sorted(range(len(ids)), key=lambda i: ids[i])[:images])


def measure(clean: NDArray[np.uint8], image: NDArray[np.uint8]) -> Measured:
    """Return PSNR, SSIM and the fraction of changed pixels of one image against its clean one.

    Parameters
    ----------
    clean, image : (H, W, C) ndarray of uint8

    Returns
    -------
    (psnr, ssim, changed) : tuple of float or None
        All None where the shapes differ; psnr None where nothing changed.
    """
    if clean.shape != image.shape:
        return None, None, None
    squares, changed, similarity = _compare(np.ascontiguousarray(clean), np.ascontiguousarray(image))
    psnr = 10 * math.log10(255 * 255 * clean.size / squares) if squares else None
    return psnr, float(similarity), int(changed) / (clean.shape[0] * clean.shape[1])


def ssim(a: NDArray[np.uint8], b: NDArray[np.uint8]) -> float:
    """Return the mean structural similarity of two images: 7x7 uniform windows, sample covariance, mean over channels.

    It is scikit-image's ``structural_similarity(a, b, channel_axis=2, data_range=255)`` at a small part of the time: window
    sums of 8-bit values are exact integers, which slide down the image.

    Parameters
    ----------
    a, b : (H, W, C) ndarray of uint8, H and W at least 7
    """
    return float(_compare(np.ascontiguousarray(a), np.ascontiguousarray(b))[2])


@kernel
def _slide(a, b, old_a, old_b, sx, sy, squares, sxy):  # type: ignore[no-untyped-def]
    """Add a row to the sums of columns, and take the one away that left the window."""
    for j in range(a.size):
        p, q, r, s = np.int32(a[j]), np.int32(b[j]), np.int32(old_a[j]), np.int32(old_b[j])
        sx[j] += p - r
        sy[j] += q - s
        squares[j] += p * p + q * q - r * r - s * s
        sxy[j] += p * q - r * s


@kernel
def _across(columns, channels, sums):  # type: ignore[no-untyped-def]
    """Sum seven neighbouring columns."""
    n = sums.size
    c0 = columns[:n]
    c1 = columns[channels : channels + n]
    c2 = columns[2 * channels : 2 * channels + n]
    c3 = columns[3 * channels : 3 * channels + n]
    c4 = columns[4 * channels : 4 * channels + n]
    c5 = columns[5 * channels : 5 * channels + n]
    c6 = columns[6 * channels : 6 * channels + n]
    for j in range(n):
        sums[j] = c0[j] + c1[j] + c2[j] + c3[j] + c4[j] + c5[j] + c6[j]


@kernel
def _similarities(sx, sy, squares, sxy, total):  # type: ignore[no-untyped-def]
    """Add the similarity at each place of a row.

    Means, variances and the covariance of 49 values, each times 49 * 49 or 48 * 49, are integers below 2**31: one division is left.
    """
    for j in range(total.size):
        x, y = np.int32(sx[j]), np.int32(sy[j])
        product = np.int32(x * y)
        both = np.int32(x * x + y * y)
        covariance = np.int32(49 * sxy[j] - product)
        variances = np.int32(49 * squares[j] - both)
        above = (2.0 * product + _M1) * (2.0 * covariance + _M2)
        total[j] += above / ((both + _M1) * (variances + _M2))


@kernel
def _differences(a, b, channels, differs):  # type: ignore[no-untyped-def]
    """Return the sum of squared differences of a row, and how many of its pixels differ; `differs` is scratch of a row's size."""
    total = np.int64(0)
    for first in range(0, a.size, _AT_ONCE):
        some, others = a[first : first + _AT_ONCE], b[first : first + _AT_ONCE]
        squares = np.uint32(0)
        for j in range(some.size):
            d = np.int32(np.int32(some[j]) - np.int32(others[j]))
            squares = np.uint32(squares + np.uint32(d * d))
        total += np.int64(squares)
    for j in range(a.size):
        differs[j] = a[j] != b[j]
    changed = np.uint32(0)
    if channels == 3:
        for x in range(a.size // 3):
            changed = np.uint32(changed + np.uint32(differs[3 * x] | differs[3 * x + 1] | differs[3 * x + 2]))
    else:
        for x in range(a.size):
            changed = np.uint32(changed + np.uint32(differs[x]))
    return total, np.int64(changed)


@kernel
def _compare(a, b):  # type: ignore[no-untyped-def]
    """Return the sum of squared differences, the number of changed pixels and the SSIM; all channels of a row side by side."""
    height, width, channels = a.shape
    n = width * channels
    columns = np.zeros((4, n), np.int32)
    sums = np.empty((4, max(n - (_WINDOW - 1) * channels, 0)), np.int32)
    total = np.zeros(sums.shape[1], np.float64)
    nothing = np.zeros(n, np.uint8)
    differs = np.empty(n, np.uint8)
    squares = np.int64(0)
    changed = np.int64(0)
    for y in range(height):
        row_a, row_b = a[y].reshape(n), b[y].reshape(n)
        more, others = _differences(row_a, row_b, channels, differs)
        squares += more
        changed += others
        old_a = a[y - _WINDOW].reshape(n) if y >= _WINDOW else nothing
        old_b = b[y - _WINDOW].reshape(n) if y >= _WINDOW else nothing
        _slide(row_a, row_b, old_a, old_b, columns[0], columns[1], columns[2], columns[3])
        if y >= _WINDOW - 1:
            for k in range(4):
                _across(columns[k], channels, sums[k])
            _similarities(sums[0], sums[1], sums[2], sums[3], total)
    mean = 0.0
    for j in range(total.size):
        mean += total[j]
    return squares, changed, mean / max((height - _WINDOW + 1) * total.size, 1)


def mean_metrics(measured: Iterable[MeasuredRow]) -> Metrics | None:
    """Return the means and standard deviations of images' metrics, in the given order, rounded to 4 decimals; None for no images.

    PSNR is null where an image has none: its shape changed, or it is equal to the clean one (then it is infinite). MS-SSIM is over the
    rows that have it.
    """
    rows = list(measured)
    if not rows:
        return None
    multiscale = [row[3] for row in rows if len(row) > 3 and row[3] is not None]
    columns: list[list[float | None]] = [*([row[i] for row in rows] for i in range(3)), [*multiscale]]
    (psnr, d_psnr), (ssim, d_ssim), (changed, d_changed), (ms_ssim, d_ms_ssim) = map(_mean, columns)
    return Metrics(
        images=len(rows),
        psnr=psnr,
        ssim=ssim,
        changed=changed,
        ms_ssim=ms_ssim,
        ms_ssim_images=len(multiscale),
        spread=Spread(psnr=d_psnr, ssim=d_ssim, changed=d_changed, ms_ssim=d_ms_ssim),
    )


def _mean(values: Sequence[float | None]) -> tuple[float | None, float | None]:
    """Return mean and standard deviation, rounded; None for values of which one is missing, and for no values."""
    known = [v for v in values if v is not None]
    if len(known) < len(values) or not known:
        return None, None
    mean = math.fsum(known) / len(known)
    return round(mean, 4), round(math.sqrt(math.fsum((v - mean) ** 2 for v in known) / len(known)), 4)
