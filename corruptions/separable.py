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
from .registry import Images, choice

TRUNCATE = 4.0
"""A filter ends this many sigmas from its centre."""
AXES = choice(
    "axes", ("both", "rows"), "both, or rows: only across rows (each column by itself), as MNIST-C's generator does"
)
_AT_ONCE = 1024  # sums, which stay in the first-level cache from the first pair to the last
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
    for first in range(0, out.size, _AT_ONCE):
        total = out[first : first + _AT_ONCE]
        size = total.size
        at = start + first
        centre, w = source[at : at + size], weights[0]
        k = radius % 2
        if k == 1:
            near = radius if inwards else 1
            a, b = (
                source[at - near * step : at - near * step + size],
                source[at + near * step : at + near * step + size],
            )
            v = weights[near]
            for j in range(size):
                total[j] = centre[j] * w + (a[j] + b[j]) * v
        elif radius == 0:
            for j in range(size):
                total[j] = centre[j] * w
        while k < radius:
            near, far = (radius - k, radius - k - 1) if inwards else (k + 1, k + 2)
            a, b = (
                source[at - near * step : at - near * step + size],
                source[at + near * step : at + near * step + size],
            )
            c, d = source[at - far * step : at - far * step + size], source[at + far * step : at + far * step + size]
            v, z = weights[near], weights[far]
            if k == 0:
                for j in range(size):
                    total[j] = (centre[j] * w + (a[j] + b[j]) * v) + (c[j] + d[j]) * z
            else:
                for j in range(size):
                    total[j] = (total[j] + (a[j] + b[j]) * v) + (c[j] + d[j]) * z
            k += 2


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


@inlined
def _whole(value, half):  # type: ignore[no-untyped-def]
    return np.uint8(np.int32(min(value, 1.0) * 255.0 + half))


@kernel
def _blur(images, weights, across, half):  # type: ignore[no-untyped-def]
    count, height, width, channels = images.shape
    out = np.empty_like(images)
    radius = weights.size - 1
    n = width * channels
    pad = radius * channels
    wide = n + 2 * pad
    band = band_rows(height, radius)
    block = block_rows(wide)
    tall = np.empty((band + 2 * radius) * wide, np.float64)
    down = np.empty(block * wide, np.float64)
    both = np.empty(block * wide, np.float64)
    for i in range(count):
        for top in range(0, height, band):
            rows = min(band, height - top)
            for k in range(rows + 2 * radius):
                source = images[i, min(max(top + k - radius, 0), height - 1)].reshape(n)
                line = tall[k * wide : (k + 1) * wide]
                middle = line[pad : pad + n]
                for x in range(n):
                    middle[x] = double_over_255(source[x])
                for x in range(pad):
                    line[pad - 1 - x] = line[pad - 1 - x + channels]
                    line[pad + n + x] = line[pad + n + x - channels]
            for first in range(0, rows, block):
                last = min(first + block, rows)
                size = (last - first) * wide
                weigh(tall, (radius + first) * wide, wide, weights, True, down[:size])
                if across:
                    weigh(down, pad, channels, weights, True, both[: size - 2 * pad])
                for y in range(last - first):
                    blurred = both[y * wide : y * wide + n] if across else down[y * wide + pad : y * wide + pad + n]
                    target = out[i, top + first + y].reshape(n)
                    for x in range(n):
                        target[x] = _whole(blurred[x], half)
    return out


def gaussian_filter(images: Images, sigma: float, axes: str = "both", half: float = 0.0) -> Images:
    """Blur and floor to uint8, edges replicated; `half` is added before the floor.

    255 of a flat area may become 254, as published.
    """
    return np.asarray(_blur(images, half_gaussian(sigma), axes == "both", float(half)))
