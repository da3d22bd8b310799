"""Metrics of a set against its clean images: PSNR, SSIM, changed pixels, MS-SSIM.

SSIM costs more than everything else of a build, and MS-SSIM three times as much, so they are measured on documented
samples of the images.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ...corruptions.kernels import inner, kernel
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
    """Return the indices of the samples that metrics are over.

    The first `images` by id (code points), or all.
    """
    if images == "all":
        return frozenset(range(len(ids)))
    return frozenset(sorted(range(len(ids)), key=lambda i: ids[i])[:images])


def measure(clean: NDArray[np.uint8], image: NDArray[np.uint8]) -> Measured:
    """Return PSNR, SSIM and the fraction of changed pixels of an image.

    Both images are (H, W, C) of uint8.

    All are None where the shapes differ; PSNR is None where nothing changed. SSIM has 7x7 uniform windows, sample
    covariance, and the mean over channels: scikit-image's ``structural_similarity(a, b, channel_axis=2,
    data_range=255)`` at a small part of the time: window sums of 8-bit values are exact integers that slide down the
    image. H and W are at least 7.
    """
    if clean.shape != image.shape:
        return None, None, None
    squares, changed, similarity = _compare(np.ascontiguousarray(clean), np.ascontiguousarray(image))
    psnr = 10 * math.log10(255 * 255 * clean.size / squares) if squares else None
    return psnr, float(similarity), int(changed) / (clean.shape[0] * clean.shape[1])


@inner
def _slide(a, b, old_a, old_b, sx, sy, squares, sxy):  # type: ignore[no-untyped-def]
    """Add a row to the columns' sums, and take away the one before the window."""
    for j in range(a.size):
        sx[j] += np.int16(np.int16(a[j]) - np.int16(old_a[j]))
    for j in range(a.size):
        sy[j] += np.int16(np.int16(b[j]) - np.int16(old_b[j]))
    for j in range(a.size):
        p, q, r, s = np.int32(a[j]), np.int32(b[j]), np.int32(old_a[j]), np.int32(old_b[j])
        squares[j] += p * p + q * q - r * r - s * s
        sxy[j] += p * q - r * s


@inner
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


@inner
def _similarities(sx, sy, squares, sxy, total):  # type: ignore[no-untyped-def]
    """Add the similarity at each place of a row.

    Means, variances and the covariance of 49 values, each times 49 * 49 or 48 * 49, are integers below 2**31: one
    division is left.
    """
    for j in range(total.size):
        x, y = np.int32(sx[j]), np.int32(sy[j])
        product = np.int32(x * y)
        both = np.int32(x * x + y * y)
        covariance = np.int32(49 * sxy[j] - product)
        variances = np.int32(49 * squares[j] - both)
        above = (2.0 * product + _M1) * (2.0 * covariance + _M2)
        total[j] += above / ((both + _M1) * (variances + _M2))


@inner
def _differences(a, b, channels, differs):  # type: ignore[no-untyped-def]
    """Return a row's sum of squared differences, and how many of its pixels differ.

    `differs` is scratch of a row's size.
    """
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


@inner
def _compare_rows(a, b, channels, means, squares, means_across, squares_across, total, no_row, differs):  # type: ignore[no-untyped-def]
    """Slide the window down the rows of two images.

    Return the sum of squared differences and the number of changed pixels.
    """
    error = np.int64(0)
    changed = np.int64(0)
    for y in range(a.shape[0]):
        more, others = _differences(a[y], b[y], channels, differs)
        error += more
        changed += others
        old_a = a[y - _WINDOW] if y >= _WINDOW else no_row
        old_b = b[y - _WINDOW] if y >= _WINDOW else no_row
        _slide(a[y], b[y], old_a, old_b, means[0], means[1], squares[0], squares[1])
        if y >= _WINDOW - 1:
            for k in range(2):
                _across(means[k], channels, means_across[k])
                _across(squares[k], channels, squares_across[k])
            _similarities(means_across[0], means_across[1], squares_across[0], squares_across[1], total)
    return error, changed


@kernel
def _compare(a, b):  # type: ignore[no-untyped-def]
    """Return the sum of squared differences, the number of changed pixels and the SSIM.

    All channels of a row side by side.
    """
    height, width, channels = a.shape
    n = width * channels
    places = max(n - (_WINDOW - 1) * channels, 0)
    total = np.zeros(places, np.float64)
    error, changed = _compare_rows(
        a.reshape(height, n),
        b.reshape(height, n),
        channels,
        np.zeros((2, n), np.int16),  # 7 * 255 in a column, 49 * 255 across: half the bytes of the squares
        np.zeros((2, n), np.int32),
        np.empty((2, places), np.int16),
        np.empty((2, places), np.int32),
        total,
        np.zeros(n, np.uint8),
        np.empty(n, np.uint8),
    )
    mean = 0.0
    for j in range(places):
        mean += total[j]
    return error, changed, mean / max((height - _WINDOW + 1) * places, 1)


def mean_metrics(measured: Iterable[MeasuredRow]) -> Metrics | None:
    """Return means and standard deviations of images' metrics, or None for no images.

    In the given order, rounded to 4 decimals.

    PSNR is null where an image has none: its shape changed, or it is equal to the clean one (then it is infinite).
    MS-SSIM is over the rows that have it.
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
    """Return mean and standard deviation, rounded.

    None for values of which one is missing, and for no values.
    """
    known = [v for v in values if v is not None]
    if len(known) < len(values) or not known:
        return None, None
    mean = math.fsum(known) / len(known)
    return round(mean, 4), round(math.sqrt(math.fsum((v - mean) ** 2 for v in known) / len(known)), 4)
