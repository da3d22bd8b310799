"""The gaussian filter that gaussian_blur and glass_blur share: scipy's, operation for operation."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .arithmetic import double_over_255, gaussian_weights
from .kernels import inlined, kernel
from .registry import Images, Parameter

TRUNCATE = 4.0
"""The filter ends this many sigmas from its centre."""


AXES = Parameter(
    "axes",
    kind=str,
    choices=("both", "rows"),
    default="both",
    option=True,
    about="both, or rows: only across rows, as MNIST-C's generator does",
)


def filter_weights(sigma: float) -> NDArray[np.float64]:
    """Return the weights of one axis, centre to edge: (radius + 1,) float64, radius = int(4 sigma + 0.5)."""
    radius = int(TRUNCATE * sigma + 0.5)
    return np.ascontiguousarray(gaussian_weights(float(sigma), radius)[radius:])


@inlined
def _start(total, centre, a, b, weights):  # type: ignore[no-untyped-def]
    """Write the centre tap and the outermost pair."""
    w = weights[0]
    w0 = weights[weights.size - 1]
    for j in range(total.size):
        total[j] = centre[j] * w + (a[j] + b[j]) * w0


@inlined
def _start_two(total, centre, a0, b0, a1, b1, weights):  # type: ignore[no-untyped-def]
    """Write the centre tap and the two outermost pairs."""
    w = weights[0]
    w0 = weights[weights.size - 1]
    w1 = weights[weights.size - 2]
    for j in range(total.size):
        total[j] = (centre[j] * w + (a0[j] + b0[j]) * w0) + (a1[j] + b1[j]) * w1


@inlined
def _add_two(total, a0, b0, w0, a1, b1, w1):  # type: ignore[no-untyped-def]
    for j in range(total.size):
        total[j] = (total[j] + (a0[j] + b0[j]) * w0) + (a1[j] + b1[j]) * w1


@inlined
def _column_pass(total, ring, y, height, weights):  # type: ignore[no-untyped-def]
    """Filter row `y` along the columns, edges replicated; the centre tap first, then pairs from the outermost inwards,
    which is the order of scipy's correlate1d."""
    depth = ring.shape[0]
    centre = ring[y % depth]
    k = weights.size - 1
    a0 = ring[max(y - k, 0) % depth]
    b0 = ring[min(y + k, height - 1) % depth]
    if k % 2 == 1:
        _start(total, centre, a0, b0, weights)
        k -= 1
    else:
        a1 = ring[max(y - k + 1, 0) % depth]
        b1 = ring[min(y + k - 1, height - 1) % depth]
        _start_two(total, centre, a0, b0, a1, b1, weights)
        k -= 2
    while k >= 2:
        a0 = ring[max(y - k, 0) % depth]
        b0 = ring[min(y + k, height - 1) % depth]
        a1 = ring[max(y - k + 1, 0) % depth]
        b1 = ring[min(y + k - 1, height - 1) % depth]
        _add_two(total, a0, b0, weights[k], a1, b1, weights[k - 1])
        k -= 2


@inlined
def _at(padded, taps, channels, n):  # type: ignore[no-untyped-def]
    return padded[taps * channels : taps * channels + n]


@inlined
def _row_pass(total, padded, channels, weights):  # type: ignore[no-untyped-def]
    """Filter a row whose ends are repeated weights.size - 1 times, in the same order."""
    n = total.size
    r = weights.size - 1
    k = r
    centre = _at(padded, r, channels, n)
    a0 = _at(padded, 0, channels, n)
    b0 = _at(padded, 2 * r, channels, n)
    if k % 2 == 1:
        _start(total, centre, a0, b0, weights)
        k -= 1
    else:
        a1 = _at(padded, 1, channels, n)
        b1 = _at(padded, 2 * r - 1, channels, n)
        _start_two(total, centre, a0, b0, a1, b1, weights)
        k -= 2
    while k >= 2:
        a0 = _at(padded, r - k, channels, n)
        b0 = _at(padded, r + k, channels, n)
        a1 = _at(padded, r - k + 1, channels, n)
        b1 = _at(padded, r + k - 1, channels, n)
        _add_two(total, a0, b0, weights[k], a1, b1, weights[k - 1])
        k -= 2


@inlined
def _floored(value, half):  # type: ignore[no-untyped-def]
    return np.uint8(np.int32(min(value, 1.0) * 255.0 + half))


@kernel
def _blur(images, weights, across, half):  # type: ignore[no-untyped-def]
    count, height, width, channels = images.shape
    out = np.empty_like(images)
    radius = weights.size - 1
    n = width * channels
    if radius == 0:
        # the one weight is 1: what is left is the floor, which takes some values down by one
        table = np.empty(256, np.uint8)
        for level in range(256):
            table[level] = _floored(np.float64(level) / 255.0, half)
        source8 = images.reshape(images.size)
        target8 = out.reshape(images.size)
        for j in range(images.size):
            target8[j] = table[source8[j]]
        return out
    # only the rows within reach of the current one are kept as doubles
    depth = min(2 * radius + 1, height)
    ring = np.empty((depth, n), np.float64)
    padded = np.empty(n + 2 * radius * channels, np.float64)
    inner = padded[radius * channels : radius * channels + n]
    total = np.empty(n, np.float64)
    for i in range(count):
        ready = 0
        for y in range(height):
            while ready < min(y + radius + 1, height):
                source = images[i, ready].reshape(n)
                target = ring[ready % depth]
                for j in range(n):
                    target[j] = double_over_255(source[j])
                ready += 1
            _column_pass(inner, ring, y, height, weights)
            floored = out[i, y].reshape(n)
            if not across:
                for j in range(n):
                    floored[j] = _floored(inner[j], half)
                continue
            for x in range(radius):
                for c in range(channels):
                    padded[x * channels + c] = inner[c]
                    padded[(radius + width + x) * channels + c] = inner[n - channels + c]
            _row_pass(total, padded, channels, weights)
            for j in range(n):
                floored[j] = _floored(total[j], half)
    return out


def gaussian_filter(images: Images, sigma: float, axes: str = "both", half: float = 0.0) -> Images:
    """Blur, edges replicated, and floor to uint8.

    Parameters
    ----------
    images : (N, H, W, C) ndarray of uint8
        Left untouched.
    sigma : float
        Above 0, pixels.
    axes : {"both", "rows"}
        "rows" filters each column by itself.
    half : float
        Added before the floor: 0, or 0.5 to round.

    Returns
    -------
    (N, H, W, C) ndarray of uint8

    Notes
    -----
    Every operation is scipy's, in scipy's order (x / 255 in doubles, columns first, then rows), for the floor turns
    the last bit of a flat area into a whole level: 255 may become 254, as in the published sets.
    """
    return np.asarray(_blur(images, filter_weights(sigma), axes == "both", float(half)))
