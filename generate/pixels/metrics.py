"""Compare the images of a set with the clean images: PSNR, SSIM, fraction of changed pixels, MS-SSIM.

SSIM takes more time than the rest of a build, and MS-SSIM takes three times as much as SSIM. Metrics are therefore
measured on a documented subset of the images.
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
"""The largest number of measured images on which MS-SSIM is also measured. The images whose ids sort first are used."""
Measured = tuple[float | None, float | None, float | None]
"""PSNR in dB (None if infinite, or if shapes differ), SSIM, and the fraction of changed pixels of an image."""
MeasuredRow = Sequence[float | None]
"""`Measured`, followed by MS-SSIM. The MS-SSIM is None or missing if it was not measured."""

_WINDOW = 7
_C1 = (0.01 * 255) ** 2
_C2 = (0.03 * 255) ** 2
_M1 = _C1 * 49 * 49
_M2 = _C2 * 48 * 49
_AT_ONCE = 1 << 16
"""Number of values whose squared differences, at most 65025 each, add up to less than 2**32."""


def measured_indices(ids: Sequence[str], images: int | Literal["all"]) -> frozenset[int]:
    """Return the indices of the samples on which metrics are measured.

    These are the first `images` samples, sorted by the code points of their ids, or all samples.
    """
    if images == "all":
        return frozenset(range(len(ids)))
    return frozenset(sorted(range(len(ids)), key=lambda i: ids[i])[:images])


def measure(clean: NDArray[np.uint8], image: NDArray[np.uint8]) -> Measured:
    """Return PSNR, SSIM and the fraction of changed pixels of an image.

    SSIM uses 7x7 uniform windows and the sample covariance, and is averaged over channels. The result equals that of
    scikit-image's ``structural_similarity(a, b, channel_axis=2, data_range=255)``. This function is much faster,
    because the window sums of 8-bit values are exact integers that are updated from row to row.

    Parameters
    ----------
    clean, image : (H, W, C) ndarray of uint8
        The images to compare. H and W are at least 7.

    Returns
    -------
    tuple of float or None
        All values are None if the shapes differ. PSNR is None if the images are equal.
    """
    if clean.shape != image.shape:
        return None, None, None
    squares, changed, similarity = _compare(np.ascontiguousarray(clean), np.ascontiguousarray(image))
    psnr = 10 * math.log10(255 * 255 * clean.size / squares) if squares else None
    return psnr, float(similarity), int(changed) / (clean.shape[0] * clean.shape[1])


@inner
def _slide(a, b, old_a, old_b, sums):  # type: ignore[no-untyped-def]
    """Add the products of two rows to the column sums, and subtract the products of the rows that leave the window."""
    for j in range(a.size):
        sums[j] += np.int32(a[j]) * np.int32(b[j]) - np.int32(old_a[j]) * np.int32(old_b[j])


@inner
def _across(columns, channels, sums):  # type: ignore[no-untyped-def]
    """Write the sum of seven neighbouring columns at each position to `sums`."""
    c = channels
    c1, c2, c3 = columns[c:], columns[2 * c :], columns[3 * c :]
    c4, c5, c6 = columns[4 * c :], columns[5 * c :], columns[6 * c :]
    for j in range(sums.size):
        sums[j] = columns[j] + c1[j] + c2[j] + c3[j] + c4[j] + c5[j] + c6[j]


@inner
def _similarities(x, y, squares, products, total):  # type: ignore[no-untyped-def]
    """Add the similarity at each position of a row.

    The products of means are multiplied by 49 * 49, and the variances and the covariance by 48 * 49. The results are
    integers below 2**31. The factors cancel, so each similarity needs only one division.
    """
    for j in range(total.size):
        product = np.int32(x[j] * y[j])
        both = np.int32(x[j] * x[j] + y[j] * y[j])
        covariance = np.int32(49 * products[j] - product)
        variances = np.int32(49 * squares[j] - both)
        above = (2.0 * product + _M1) * (2.0 * covariance + _M2)
        total[j] += above / ((both + _M1) * (variances + _M2))


@inner
def _differences(a, b, channels, differs):  # type: ignore[no-untyped-def]
    """Return the sum of squared differences of a row and the number of pixels that differ.

    `differs` is a temporary array of the size of a row.
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


@kernel
def _compare(a, b):  # type: ignore[no-untyped-def]
    """Return the sum of squared differences, the number of changed pixels and the SSIM.

    The window moves down the rows of two images. The channels of a pixel are adjacent in a row.
    """
    height, width, channels = a.shape
    n = width * channels
    places = max(n - (_WINDOW - 1) * channels, 0)
    a, b = a.reshape(height, n), b.reshape(height, n)
    none, ones, differs = np.zeros(n, np.uint8), np.ones(n, np.uint8), np.empty(n, np.uint8)
    # sums of a, of b, of the squares of both, and of their products: in a column, and in a window
    down, sums, total = np.zeros((4, n), np.int32), np.empty((4, places), np.int32), np.zeros(places, np.float64)
    error = changed = np.int64(0)
    for y in range(height):
        p, q = a[y], b[y]
        old_p, old_q = (a[y - _WINDOW], b[y - _WINDOW]) if y >= _WINDOW else (none, none)
        more, others = _differences(p, q, channels, differs)
        error += more
        changed += others
        _slide(p, ones, old_p, ones, down[0])
        _slide(q, ones, old_q, ones, down[1])
        _slide(p, p, old_p, old_p, down[2])
        _slide(q, q, old_q, old_q, down[2])
        _slide(p, q, old_p, old_q, down[3])
        if y >= _WINDOW - 1:
            for k in range(4):
                _across(down[k], channels, sums[k])
            _similarities(sums[0], sums[1], sums[2], sums[3], total)
    mean = 0.0
    for j in range(places):
        mean += total[j]
    return error, changed, mean / max((height - _WINDOW + 1) * places, 1)


def mean_metrics(measured: Iterable[MeasuredRow]) -> Metrics | None:
    """Return the means and standard deviations of the metrics over images, or None if there are no images.

    Values are rounded to 4 decimals. The mean PSNR is None if any image has no PSNR. An image has no PSNR if its shape
    changed, or if it equals the clean image, because PSNR would be infinite. The mean MS-SSIM is the mean over the
    images for which MS-SSIM was measured.
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
    """Return the rounded mean and standard deviation, or None if a value is missing or there are no values."""
    known = [v for v in values if v is not None]
    if len(known) < len(values) or not known:
        return None, None
    mean = math.fsum(known) / len(known)
    return round(mean, 4), round(math.sqrt(math.fsum((v - mean) ** 2 for v in known) / len(known)), 4)
