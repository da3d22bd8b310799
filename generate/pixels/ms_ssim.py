"""MS-SSIM, the multi-scale structural similarity of two images."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...corruptions.kernels import inner, kernel

WEIGHTS = (0.0448, 0.2856, 0.3001, 0.2363, 0.1333)
"""Weights of the scales, beginning with the finest, from Wang, Simoncelli, Bovik 2003, "Multi-scale structural
similarity for image quality assessment".
"""
MIN_SIDE = 176
"""Smallest side of an image, in pixels, for which the 11-pixel window fits at the fifth scale."""

_WINDOW = 11
_SIGMA = Decimal("1.5")
_CENTRE = 128.0
_C1 = (0.01 * 255) ** 2
_C2 = (0.03 * 255) ** 2


def _gaussian() -> NDArray[np.float32]:
    """Return the first six of the eleven weights of the symmetric window.

    The weights are computed with `decimal.Decimal`, which gives the same values on every machine.
    """
    values = [(-(Decimal(k - 5) ** 2) / (2 * _SIGMA**2)).exp() for k in range(_WINDOW)]
    return np.array([float(v / sum(values)) for v in values[:6]], np.float32)


_HALF_WINDOW = _gaussian()


def ms_ssim(clean: NDArray[np.uint8], image: NDArray[np.uint8]) -> float | None:
    """Return the multi-scale structural similarity of an image and its clean image.

    MS-SSIM uses five scales, an 11 x 11 Gaussian window with sigma 1.5, K1 = 0.01 and K2 = 0.03. The window stays
    inside the image. The values of the channels are averaged, as in TensorFlow's ``ssim_multiscale`` and
    pytorch-msssim. Before an odd side is halved, its last row or column is repeated, as in TensorFlow.

    Parameters
    ----------
    clean, image : (H, W, C) ndarray of uint8
        The images to compare.

    Returns
    -------
    float or None
        1 for equal images. None if the shapes differ or a side is below 176 pixels.
    """
    if clean.shape != image.shape or min(clean.shape[:2]) < MIN_SIDE:
        return None
    channels = clean.shape[2]
    contrast, whole = _all_scales(np.ascontiguousarray(clean), np.ascontiguousarray(image), _HALF_WINDOW, len(WEIGHTS))
    total = 0.0
    for channel in range(channels):
        factors = [*contrast[:-1, channel], whole[channel]]
        product = 1.0
        for factor, weight in zip(factors, WEIGHTS, strict=True):
            product *= max(float(factor), 0.0) ** weight
        total += product
    return float(total / channels)


def compile_ms_ssim() -> None:
    """Compile the kernels of `ms_ssim`."""
    small: Any = np.zeros((_WINDOW, _WINDOW, 3), np.uint8)
    _all_scales(small, small, _HALF_WINDOW, 1)


@inner
def _filtered_down(rows, first, weights, target):  # type: ignore[no-untyped-def]
    """Filter eleven rows of a ring buffer, beginning with row `first`, into one row."""
    n, k = rows.shape[0], first
    a = rows[k % n], rows[(k + 1) % n], rows[(k + 2) % n], rows[(k + 3) % n], rows[(k + 4) % n], rows[(k + 5) % n]
    b = rows[(k + 10) % n], rows[(k + 9) % n], rows[(k + 8) % n], rows[(k + 7) % n], rows[(k + 6) % n]
    _add_pairs(a, b, weights, target)


@inner
def _filtered_across(row, channels, weights, target):  # type: ignore[no-untyped-def]
    """Filter a row in which the channels of a pixel are adjacent."""
    c = channels
    a = row, row[c:], row[2 * c :], row[3 * c :], row[4 * c :], row[5 * c :]
    _add_pairs(a, (row[10 * c :], row[9 * c :], row[8 * c :], row[7 * c :], row[6 * c :]), weights, target)


@inner
def _add_pairs(a, b, weights, target):  # type: ignore[no-untyped-def]
    """Write the weighted sum of five pairs of rows and the middle row to `target`.

    Adding the rows one after the other takes twice as long.
    """
    w0, w1, w2, w3, w4, w5 = weights[0], weights[1], weights[2], weights[3], weights[4], weights[5]
    for x in range(target.size):
        outer = w0 * (a[0][x] + b[0][x]) + w1 * (a[1][x] + b[1][x]) + w2 * (a[2][x] + b[2][x])
        target[x] = outer + w3 * (a[3][x] + b[3][x]) + w4 * (a[4][x] + b[4][x]) + w5 * a[5][x]


@inner
def _add_similarities(x, y, squares, products, similar, same, contrast, whole):  # type: ignore[no-untyped-def]
    """Add contrast times structure, and the complete similarity, at each position of a row.

    `similar` and `same` are temporary arrays.
    """
    centre, c1, c2, two = np.float32(_CENTRE), np.float32(_C1), np.float32(_C2), np.float32(2.0)
    for j in range(similar.size):
        covariance = products[j] - x[j] * y[j]
        variances = squares[j] - x[j] * x[j] - y[j] * y[j]
        p, q = x[j] + centre, y[j] + centre
        similar[j] = (two * covariance + c2) / (variances + c2)
        same[j] = similar[j] * ((two * p * q + c1) / (p * p + q * q + c1))
    for j in range(similar.size):  # a separate loop, so that the loop above processes twice as many values at a time
        contrast[j] += np.float64(similar[j])
    for j in range(similar.size):
        whole[j] += np.float64(same[j])


@inner
def _squares(p, q, both, product):  # type: ignore[no-untyped-def]
    for x in range(p.size):
        both[x] = p[x] * p[x] + q[x] * q[x]
        product[x] = p[x] * q[x]


@kernel
def _one_scale(a, b, channels, weights, contrast, whole):  # type: ignore[no-untyped-def]
    """Compute the mean similarities of one scale for each channel, and write them to `contrast` and `whole`."""
    height, n = a.shape
    inside = n - (_WINDOW - 1) * channels
    sums, column, f = np.zeros((2, inside), np.float64), np.empty(n, np.float32), np.empty((6, inside), np.float32)
    latest = np.empty((2, _WINDOW, n), np.float32)
    for y in range(height):
        row, first = y % _WINDOW, y - _WINDOW + 1
        _squares(a[y], b[y], latest[0, row], latest[1, row])
        if first >= 0:
            for k, rows in enumerate((a, b, latest[0], latest[1])):
                _filtered_down(rows, first, weights, column)
                _filtered_across(column, channels, weights, f[k])
            _add_similarities(f[0], f[1], f[2], f[3], f[4], f[5], sums[0], sums[1])
    places = (height - _WINDOW + 1) * (inside // channels)
    for channel in range(channels):
        c, w = 0.0, 0.0
        for j in range(channel, inside, channels):
            c += sums[0, j]
            w += sums[1, j]
        contrast[channel] = c / places
        whole[channel] = w / places


@inner
def _pairs(upper, lower, columns, out, channels):  # type: ignore[no-untyped-def]
    """Write the mean of each 2 x 2 block of pixels in two rows to `out`.

    `columns` is a temporary array of the size of a row.
    """
    quarter = np.float32(0.25)
    for x in range(columns.size):
        columns[x] = upper[x] + lower[x]
    pairs = columns.size // (2 * channels)
    for c in range(channels):
        for x in range(c, pairs * channels, channels):
            left = 2 * x - c
            out[x] = quarter * (columns[left] + columns[left + channels])
    for j in range(pairs * channels, out.size):  # the last column of an odd side counts twice
        last = columns[columns.size - out.size + j]
        out[j] = quarter * (last + last)


@kernel
def _halved(image, channels):  # type: ignore[no-untyped-def]
    """Return the mean of each 2 x 2 block of pixels. The last row and column of an odd side count twice."""
    height, n = image.shape
    out = np.empty(((height + 1) // 2, (n // channels + 1) // 2 * channels), np.float32)
    columns = np.empty(n, np.float32)
    for y in range(out.shape[0]):
        _pairs(image[2 * y], image[min(2 * y + 1, height - 1)], columns, out[y], channels)
    return out


@kernel
def _all_scales(clean, image, weights, scales):  # type: ignore[no-untyped-def]
    """Return contrast times structure, as a (scales, C) array, and the complete similarity at the last scale, (C,)."""
    height, width, channels = clean.shape
    n, centre = width * channels, np.float32(_CENTRE)
    a, b = clean.reshape(height, n) - centre, image.reshape(height, n) - centre
    contrast = np.zeros((scales, channels), np.float64)
    whole = np.zeros(channels, np.float64)
    for scale in range(scales):
        if scale:
            a = _halved(a, channels)
            b = _halved(b, channels)
        _one_scale(a, b, channels, weights, contrast[scale], whole)
    return contrast, whole
