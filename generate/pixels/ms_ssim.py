"""MS-SSIM, the multi-scale structural similarity of two images."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...corruptions.kernels import kernel

WEIGHTS = (0.0448, 0.2856, 0.3001, 0.2363, 0.1333)
"""Of the scales, the finest first: Wang, Simoncelli, Bovik 2003, "Multi-scale structural similarity for image quality assessment"."""
LEAST_SIDE = 176
"""Pixels: at the fifth scale the window of 11 must still fit."""

_WINDOW = 11
_SIGMA = Decimal("1.5")
_CENTRE = 128.0
_C1 = (0.01 * 255) ** 2
_C2 = (0.03 * 255) ** 2


def _gaussian() -> NDArray[np.float32]:
    """Return the first six of the eleven weights of the window, which is symmetric; exact decimals, so the same everywhere."""
    values = [(-(Decimal(k - 5) ** 2) / (2 * _SIGMA**2)).exp() for k in range(_WINDOW)]
    return np.array([float(v / sum(values)) for v in values[:6]], np.float32)


_HALF_WINDOW = _gaussian()


def ms_ssim(clean: NDArray[np.uint8], image: NDArray[np.uint8]) -> float | None:
    """Return the multi-scale structural similarity of an image and its clean one.

    Five scales, an 11 x 11 gaussian window of sigma 1.5 that stays inside the image, K 0.01 and 0.03, each channel by itself and then
    their mean: what TensorFlow's ``ssim_multiscale`` and pytorch-msssim compute. An odd side is continued by its last row or column
    before it is halved, as TensorFlow does.

    Parameters
    ----------
    clean, image : (H, W, C) ndarray of uint8

    Returns
    -------
    float or None
        1 for equal images; None where the shapes differ or a side is below 176 pixels.
    """
    if clean.shape != image.shape or min(clean.shape[:2]) < LEAST_SIDE:
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


@kernel
def _filtered_down(rows, first, weights, target):  # type: ignore[no-untyped-def]
    """Filter eleven rows, from `first` on, into one."""
    a, b, c, d, e, f = rows[first], rows[first + 1], rows[first + 2], rows[first + 3], rows[first + 4], rows[first + 5]
    g, h, i, j, k = rows[first + 6], rows[first + 7], rows[first + 8], rows[first + 9], rows[first + 10]
    w0, w1, w2, w3, w4, w5 = weights[0], weights[1], weights[2], weights[3], weights[4], weights[5]
    for x in range(target.size):
        outer = w0 * (a[x] + k[x]) + w1 * (b[x] + j[x]) + w2 * (c[x] + i[x])
        target[x] = outer + w3 * (d[x] + h[x]) + w4 * (e[x] + g[x]) + w5 * f[x]


@kernel
def _filtered_across(row, channels, weights, target):  # type: ignore[no-untyped-def]
    """Filter a row, in which the channels of a pixel lie side by side."""
    n = target.size
    a, b, c, d = row[:n], row[channels : channels + n], row[2 * channels : 2 * channels + n], row[3 * channels : 3 * channels + n]
    e, f, g = row[4 * channels : 4 * channels + n], row[5 * channels : 5 * channels + n], row[6 * channels : 6 * channels + n]
    h, i = row[7 * channels : 7 * channels + n], row[8 * channels : 8 * channels + n]
    j, k = row[9 * channels : 9 * channels + n], row[10 * channels : 10 * channels + n]
    w0, w1, w2, w3, w4, w5 = weights[0], weights[1], weights[2], weights[3], weights[4], weights[5]
    for x in range(n):
        outer = w0 * (a[x] + k[x]) + w1 * (b[x] + j[x]) + w2 * (c[x] + i[x])
        target[x] = outer + w3 * (d[x] + h[x]) + w4 * (e[x] + g[x]) + w5 * f[x]


@kernel
def _add_similarities(x, y, squares, products, contrast, whole):  # type: ignore[no-untyped-def]
    """Add contrast times structure, and the whole similarity, at each place of a row of filtered values."""
    centre, c1, c2, two = np.float32(_CENTRE), np.float32(_C1), np.float32(_C2), np.float32(2.0)
    for j in range(contrast.size):
        covariance = products[j] - x[j] * y[j]
        variances = squares[j] - x[j] * x[j] - y[j] * y[j]
        p, q = x[j] + centre, y[j] + centre
        similar = (two * covariance + c2) / (variances + c2)
        contrast[j] += np.float64(similar)
        whole[j] += np.float64(similar * ((two * p * q + c1) / (p * p + q * q + c1)))


@kernel
def _one_scale(a, b, channels, weights, contrast, whole):  # type: ignore[no-untyped-def]
    """Put the means over a scale, of each channel, into `contrast` and `whole`."""
    height, n = a.shape
    inside = n - 10 * channels
    planes = np.empty((4, height, n), np.float32)
    for y in range(height):
        p, q, both, product = a[y], b[y], planes[2, y], planes[3, y]
        first, second = planes[0, y], planes[1, y]
        for x in range(n):
            first[x] = p[x]
            second[x] = q[x]
            both[x] = p[x] * p[x] + q[x] * q[x]
            product[x] = p[x] * q[x]
    column = np.empty(n, np.float32)
    filtered = np.empty((4, inside), np.float32)
    contrast_sums = np.zeros(inside, np.float64)
    whole_sums = np.zeros(inside, np.float64)
    for y in range(height - 10):
        for k in range(4):
            _filtered_down(planes[k], y, weights, column)
            _filtered_across(column, channels, weights, filtered[k])
        _add_similarities(filtered[0], filtered[1], filtered[2], filtered[3], contrast_sums, whole_sums)
    places = (height - 10) * (inside // channels)
    for channel in range(channels):
        c, w = 0.0, 0.0
        for j in range(channel, inside, channels):
            c += contrast_sums[j]
            w += whole_sums[j]
        contrast[channel] = c / places
        whole[channel] = w / places


@kernel
def _halved(image, channels):  # type: ignore[no-untyped-def]
    """Return the mean of each 2 x 2 pixels; the last row and column of an odd side count twice."""
    height, width = image.shape[0], image.shape[1] // channels
    out = np.empty(((height + 1) // 2, (width + 1) // 2 * channels), np.float32)
    quarter = np.float32(0.25)
    for y in range(out.shape[0]):
        upper, lower = image[2 * y], image[min(2 * y + 1, height - 1)]
        for x in range((width + 1) // 2):
            left, right = 2 * x * channels, min(2 * x + 1, width - 1) * channels
            for c in range(channels):
                out[y, x * channels + c] = quarter * ((upper[left + c] + upper[right + c]) + (lower[left + c] + lower[right + c]))
    return out


@kernel
def _all_scales(clean, image, weights, scales):  # type: ignore[no-untyped-def]
    """Return (scales, C) contrast times structure of each scale, and (C,) the whole similarity at the last one."""
    height, width, channels = clean.shape
    n = width * channels
    a = np.empty((height, n), np.float32)
    b = np.empty((height, n), np.float32)
    centre = np.float32(_CENTRE)
    for y in range(height):
        p, q = clean[y].reshape(n), image[y].reshape(n)
        for x in range(n):
            a[y, x] = np.float32(p[x]) - centre
            b[y, x] = np.float32(q[x]) - centre
    contrast = np.zeros((scales, channels), np.float64)
    whole = np.zeros(channels, np.float64)
    for scale in range(scales):
        if scale:
            a = _halved(a, channels)
            b = _halved(b, channels)
        _one_scale(a, b, channels, weights, contrast[scale], whole)
    return contrast, whole
