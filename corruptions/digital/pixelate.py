"""The corruption `pixelate`, which shrinks the image and enlarges it again."""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...references import HENDRYCKS_2019
from ..kernels import inlined, kernel
from ..registry import Images, Int64Array, Keys, Parameter, corruption

_BITS = 22  # Pillow's weights for 8-bit images have this number of fractional bits.
_SHIFT = np.uint32(_BITS)
_HALF = np.uint32(1 << (_BITS - 1))
_WHITE = np.uint32(255)
_NONE = np.uint32(0)
_0 = np.uint64(0)
_1 = np.uint64(1)
_2 = np.uint64(2)


class Boxes(NamedTuple):
    """The boxes of pixels that are averaged to shrink one side of an image."""

    spans: Int64Array
    """The first input pixel and the length of every box, (n, 2)."""
    weights: NDArray[np.uint32]
    """The weight of each pixel in a box, (n,)."""
    shortest: int
    """The length of the shortest box."""
    longest: int
    """The length of the longest box."""


@functools.lru_cache(maxsize=256)
def _boxes(size_in: int, size_out: int) -> Boxes:
    """Return the boxes for shrinking `size_in` to `size_out` pixels with Pillow's box filter."""
    scale = size_in / size_out
    support = 0.5 * scale
    inverse = 1.0 / scale
    spans = np.empty((size_out, 2), np.int64)
    weights = np.empty(size_out, np.uint32)
    for i in range(size_out):
        centre = (i + 0.5) * scale
        first = max(int(centre - support + 0.5), 0)
        last = min(int(centre + support + 0.5), size_in)
        inside = [x for x in range(first, last) if -0.5 < (x - centre + 0.5) * inverse <= 0.5]
        spans[i] = inside[0], len(inside)
        weights[i] = int(0.5 + (1.0 / len(inside)) * (1 << _BITS))
    return Boxes(spans, weights, int(spans[:, 1].min()), int(spans[:, 1].max()))


@functools.lru_cache(maxsize=256)
def _nearest(size_in: int, size_out: int) -> Int64Array:
    """Return the input pixel under the centre of every output pixel, which Pillow's box filter uses for enlarging."""
    scale = size_in / size_out
    return np.array([min(int((i + 0.5) * scale), size_in - 1) for i in range(size_out)], np.int64)


@inlined
def _level(total, weight):  # type: ignore[no-untyped-def]
    """Multiply a sum over a box by its weight and round it to a byte.

    The product fits in 32 bits, because a weight is 2**22 divided by the length of the box.
    """
    return np.uint32(min(np.uint32(np.uint32(total * weight) + _HALF) >> _SHIFT, _WHITE))


@inlined
def _sum_along(row, boxes, channels, sums):  # type: ignore[no-untyped-def]
    """Sum a row over boxes of pixels."""
    colour = channels == 3
    step = np.uint64(channels)
    to = np.uint64(0)
    for x in range(boxes.weights.size):
        length = boxes.spans[x, 1]
        # numba omits the check for negative indices if they are unsigned.
        p = np.uint64(boxes.spans[x, 0]) * step
        red, green, blue = np.uint32(0), np.uint32(0), np.uint32(0)
        for _ in range(boxes.shortest):
            red += row[p]
            if colour:
                green += row[p + _1]
                blue += row[p + _2]
            p += step
        # A branch that depends on the box would be slow, so shorter boxes read their last pixel again and mask it.
        for k in range(boxes.shortest, boxes.longest):
            p -= _0 if k < length else step
            mask = _WHITE if k < length else _NONE
            red += row[p] & mask
            if colour:
                green += row[p + _1] & mask
                blue += row[p + _2] & mask
            p += step
        sums[to] = red
        if colour:
            sums[to + _1] = green
            sums[to + _2] = blue
        to += step


@inlined
def _spread(small, from_x, channels, row):  # type: ignore[no-untyped-def]
    """Enlarge a row by repeating pixels."""
    if channels == 3:
        for x in range(np.uint64(from_x.size)):
            p, q = np.uint64(3) * x, np.uint64(3) * np.uint64(from_x[x])
            row[p] = small[q]
            row[p + _1] = small[q + _1]
            row[p + _2] = small[q + _2]
    else:
        for x in range(np.uint64(from_x.size)):
            row[x] = small[np.uint64(from_x[x])]


@kernel
def _pixelate(images, out, across, down, from_x, from_y):  # type: ignore[no-untyped-def]
    count, height, width, channels = images.shape
    size = across.weights.size * channels
    weights = np.empty(size, np.uint32)
    for p in range(size):
        weights[p] = across.weights[p // channels]
    sums = np.empty(size, np.uint32)
    totals = np.empty(size, np.uint32)
    small = np.empty(size, np.uint8)
    line = width * channels
    for i in range(count):
        source = images[i].reshape(-1)
        target = out[i].reshape(-1)
        y = np.int64(0)
        for box in range(down.weights.size):
            for p in range(np.uint64(size)):
                totals[p] = np.uint32(0)
            for k in range(down.spans[box, 0], down.spans[box, 0] + down.spans[box, 1]):
                _sum_along(source[k * line : (k + 1) * line], across, channels, sums)
                for p in range(np.uint64(size)):
                    totals[p] += _level(sums[p], weights[p])
            weight = down.weights[box]
            for p in range(np.uint64(size)):
                small[p] = np.uint8(_level(totals[p], weight))
            first = y
            while y < height and from_y[y] == box:
                row = target[y * line : (y + 1) * line]
                if y > first:
                    above = target[first * line : (first + 1) * line]
                    for p in range(np.uint64(line)):
                        row[p] = above[p]
                else:
                    _spread(small, from_x, channels, row)
                y += 1


@corruption(
    reference=f"{HENDRYCKS_2019}; released make_imagenet_c.py, pixelate",
    parameters=(Parameter("fraction", float, 0.0, 1.0, "side of the small image as a fraction of the full side"),),
    deterministic=True,
)
def pixelate(images: Images, keys: Keys, *, fraction: float) -> Images:
    """Shrink the image with a box filter and enlarge it to its original size.

    The sides of the small image are ``int(side * fraction)`` pixels, but at least 1.

    Notes
    -----
    The arithmetic is that of Pillow's ``resize(..., Image.BOX)``. It has 22-bit fixed-point weights, filters along rows
    first, and rounds to 8 bits between the two passes. Pillow 13 reverses the order for tall images, which changes a
    few values by one. A box contains whole pixels only, so its weights are equal. For enlarging, each output pixel
    takes the input pixel under its centre.
    """
    height, width = images.shape[1:3]
    small_height, small_width = max(int(height * fraction), 1), max(int(width * fraction), 1)
    out = np.empty_like(images)
    _pixelate(
        images,
        out,
        _boxes(width, small_width),
        _boxes(height, small_height),
        _nearest(small_width, width),
        _nearest(small_height, height),
    )
    return out
