"""Bilinear interpolation of images at arbitrary coordinates."""

from __future__ import annotations

import numpy as np

from .border import CONSTANT, border_index
from .kernels import bilinear_weighted, inlined, inner

_POINTS = 512
"""The approximate number of points that are sampled together.

Starting a loop over one short row costs nearly as much as the loop itself.
"""


_1, _2 = np.uint64(1), np.uint64(2)


@inlined
def _weighted(flat, a, b, c, d, nw, ne, sw, se):  # type: ignore[no-untyped-def]
    return ((flat[a] * nw + flat[b] * ne) + flat[c] * sw) + flat[d] * se


@inlined
def rows_at_once(height, width):  # type: ignore[no-untyped-def]
    """Return the number of rows of points to sample together."""
    return min(max(_POINTS // width, 1), height)


@inner
def _neighbours(left, top, height, width, channels, border):  # type: ignore[no-untyped-def]
    """Return the offsets of the four neighbours of a point in a flat image, for a point at the border."""
    x0, x1 = border_index(left, width, border), border_index(left + 1, width, border)
    y0, y1 = border_index(top, height, border), border_index(top + 1, height, border)
    a, b = np.uint64((y0 * width + x0) * channels), np.uint64((y0 * width + x1) * channels)
    c, d = np.uint64((y1 * width + x0) * channels), np.uint64((y1 * width + x1) * channels)
    return a, b, c, d


@inner
def _sample_with_fill(image, left, top, nw, ne, sw, se, fill, to, out):  # type: ignore[no-untyped-def]
    """Sample a point at the border, where neighbours outside of the image have the value `fill`."""
    height, width, channels = image.shape
    over_left, over_right = (left >= 0) & (left < width), (left + 1 >= 0) & (left + 1 < width)
    over_top, over_bottom = (top >= 0) & (top < height), (top + 1 >= 0) & (top + 1 < height)
    for c in range(channels):
        a = image[top, left, c] * nw if over_left and over_top else fill * nw
        b = image[top, left + 1, c] * ne if over_right and over_top else fill * ne
        d = image[top + 1, left, c] * sw if over_left and over_bottom else fill * sw
        e = image[top + 1, left + 1, c] * se if over_right and over_bottom else fill * se
        out[to + c] = ((a + b) + d) + e


@inner
def sample(image, points, count, weights, border, fill, out):  # type: ignore[no-untyped-def]
    """Interpolate an image bilinearly at points (x, y), where pixel centres have whole coordinates.

    A sample is ``((upper left + upper right) + lower left) + lower right``, where each pixel is multiplied by its
    weight. Products and sums have the type of `weights`. The two types give different bytes, and the published
    generators use single precision in one place and double precision elsewhere.

    Parameters
    ----------
    image : (H, W, C) ndarray
        The image, with 1 or 3 channels.
    points : (3, n) ndarray of float64
        The coordinates x and y, and a third row that is overwritten.
    count : int
        The number of points to sample.
    weights : (4, n) ndarray of float32 or float64
        A buffer for the weights.
    border : int
        The border mode for neighbours outside of the image, which is one of the constants in the module `border`.
    fill : float
        The value outside of the image if the border is CONSTANT. It has the type of `weights`.
    out : (count * C or more,) ndarray
        The array for the samples.
    """
    height, width, channels = image.shape
    flat = image.reshape(height * width * channels)
    step, line = np.uint64(channels), np.uint64(width * channels)
    step_x, step_y = np.float64(channels), np.float64(width * channels)
    right, bottom = np.float64(width - 1), np.float64(height - 1)
    xs, ys, at = points[0], points[1], points[2]
    nw, ne, sw, se = weights[0], weights[1], weights[2], weights[3]
    # `bilinear_weighted` also reads and writes one value after a pixel. The last pixel and the last point have no such
    # value.
    last = np.float64(flat.size) - (step_y + 2.0 * step_x if channels == 3 else 0.0)
    # LLVM vectorises this loop. It cannot vectorise the second loop, which reads at arbitrary positions.
    for p in range(np.uint64(count)):
        x, y = np.floor(xs[p]), np.floor(ys[p])
        u, v = xs[p] - x, ys[p] - y
        nw[p], ne[p], sw[p], se[p] = (1.0 - u) * (1.0 - v), u * (1.0 - v), (1.0 - u) * v, u * v
        outside = (x < 0.0) | (x >= right) | (y < 0.0) | (y >= bottom)
        first = y * step_y + x * step_x
        at[p] = -1.0 if outside | (first >= last) else first
    if channels == 3:
        at[count - 1] = -1.0
    for p in range(np.uint64(count)):
        i, j, k, m = nw[p], ne[p], sw[p], se[p]
        to = p * step
        if at[p] >= 0.0:
            a = np.uint64(np.int64(at[p]))
            c = a + line
            if channels == 3:
                bilinear_weighted(flat, a, a + step, c, c + step, i, j, k, m, out, to)
            else:
                out[to] = _weighted(flat, a, a + step, c, c + step, i, j, k, m)
            continue
        left, top = np.int64(np.floor(xs[p])), np.int64(np.floor(ys[p]))
        if border == CONSTANT:
            _sample_with_fill(image, left, top, i, j, k, m, fill, to, out)
            continue
        a, b, c, d = _neighbours(left, top, height, width, channels, border)
        out[to] = _weighted(flat, a, b, c, d, i, j, k, m)
        if channels == 3:  # A loop would be slower, because LLVM would vectorise it.
            out[to + _1] = _weighted(flat, a + _1, b + _1, c + _1, d + _1, i, j, k, m)
            out[to + _2] = _weighted(flat, a + _2, b + _2, c + _2, d + _2, i, j, k, m)
