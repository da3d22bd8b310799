"""Separable gaussian filters, in scipy's order of operations.

A floor turns the last bit of a flat area into a whole level, so not only the weights but also the order of the sums
counts. scipy's own filter is no substitute: its compiler may fuse a multiplication and an addition, which gives other
bits on other machines.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .arithmetic import double_over_255, gaussian_weights
from .kernels import inlined, inner, kernel
from .lanes import SUMS, weigh_inwards, weigh_outwards, weigh_two_inwards
from .registry import Images, choice

TRUNCATE = 4.0
"""A filter ends this many sigmas from its centre."""
AXES = choice(
    "axes", ("both", "rows"), "both, or rows: only across rows (each column by itself), as MNIST-C's generator does"
)
_AT_ONCE = 1024  # sums, which stay in the first-level cache
_LEAST_ROWS = 32  # of a band


def half_gaussian(sigma: float, truncate: float = TRUNCATE) -> NDArray[np.float64]:
    """Return one half of a gaussian's weights, at distance 0, 1, and so on.

    It ends `truncate` sigmas from its centre: 1 alone for sigma 0.
    """
    radius = int(truncate * sigma + 0.5)
    return gaussian_weights(float(sigma), radius)[radius:].copy() if radius > 0 else np.ones(1)


@inner
def weigh(source, start, step, weights, inwards, out):  # type: ignore[no-untyped-def]
    """Filter a flat array.

    ``x[0] w[0]``, then ``+ (x[-k] + x[k]) w[k]`` for each distance k, in units of `step`.

    Parameters
    ----------
    source : (n,) ndarray of float64
    start, step : int
        The element that `out[0]` belongs to, and how far from each other the elements that are weighed lie. Rows with
        room for the radius at both ends are filtered as one; values between them have no meaning.
    weights : (radius + 1,) ndarray of float64
    inwards : bool
        Whether pairs are added from the outermost one inwards, as scipy does, or from the nearest one outwards.
    out : (m,) ndarray of float64
        Not `source`.
    """
    radius = weights.size - 1
    whole = out.size - out.size % SUMS
    for to in range(0, whole, SUMS):
        if inwards:
            weigh_inwards(source, start + to, step, weights, radius, out, to, to)
        else:
            weigh_outwards(source, start + to, step, weights, radius, out, to, to)
    for to in range(whole, out.size):
        at = start + to
        out[to] = source[at] * weights[0]
        for i in range(radius):
            k = radius - i if inwards else i + 1
            out[to] += (source[at - k * step] + source[at + k * step]) * weights[k]


@inlined
def band_rows(height, radius):  # type: ignore[no-untyped-def]
    """Return how many rows are read at a time.

    With those in reach they stay in a cache, whatever the size of an image.
    """
    return min(height, max(2 * radius, _LEAST_ROWS))


@inlined
def block_rows(wide):  # type: ignore[no-untyped-def]
    """Return how many rows of a band go through both directions together.

    They stay in the first-level cache.
    """
    return max(1, _AT_ONCE // wide)


@inner
def _blur_rows(tall, weights, channels, across, half, rows, down, both, out):  # type: ignore[no-untyped-def]
    """Blur rows of a flat image into rows of `out`, two at a time.

    The flat image has room for the radius above and below.
    """
    n, radius = out.shape[1], weights.size - 1
    pad, wide = radius * channels, down.size // 2
    for y in range(0, rows, 2):
        for x in range(0, n, SUMS):
            to = pad + x
            weigh_two_inwards(tall, (radius + y) * n + x, n, weights, radius, down, to, wide + to)
        for k in range(min(2, rows - y)):
            line, target = down[k * wide : (k + 1) * wide], out[y + k]
            blurred = line[pad:]
            if across:
                for x in range(pad):
                    line[pad - 1 - x] = line[pad - 1 - x + channels]
                    line[pad + n + x] = line[pad + n + x - channels]
                for x in range(0, n, SUMS):
                    weigh_inwards(line, pad + x, channels, weights, radius, both, x, x)
                blurred = both
            for x in range(n):
                target[x] = np.uint8(np.int32(min(blurred[x], 1.0) * 255.0 + half))


@kernel
def _blur(images, weights, across, half):  # type: ignore[no-untyped-def]
    count, height, width, channels = images.shape
    out = np.empty_like(images)
    radius = weights.size - 1
    n = width * channels
    band = band_rows(height, radius)
    tall = np.empty((band + 2 * radius + 1) * n + SUMS, np.float64)
    down = np.empty(2 * (n + 2 * radius * channels + SUMS), np.float64)
    both = np.empty(n + SUMS, np.float64)
    for i in range(count):
        for top in range(0, height, band):
            rows = min(band, height - top)
            for k in range(rows + 2 * radius + 1):
                source = images[i, min(max(top + k - radius, 0), height - 1)].reshape(n)
                line = tall[k * n : (k + 1) * n]
                for x in range(n):
                    line[x] = double_over_255(source[x])
            target = out[i, top : top + rows].reshape((rows, n))
            _blur_rows(tall, weights, channels, across, half, rows, down, both, target)
    return out


def gaussian_filter(images: Images, sigma: float, axes: str = "both", half: float = 0.0) -> Images:
    """Blur and floor to uint8, edges replicated; `half` is added before the floor.

    255 of a flat area may become 254, as published.
    """
    return np.asarray(_blur(images, half_gaussian(sigma), axes == "both", float(half)))
