"""Pixelate: shrunk by a box filter and enlarged again."""

from __future__ import annotations

import functools

import numpy as np
from numpy.typing import NDArray

from ..kernels import kernel
from ..keys import Keys
from ..registry import Images, Parameter, corruption

_BITS = 22  # Pillow's fixed point for 8-bit images


@functools.lru_cache(maxsize=256)
def _boxes(size_in: int, size_out: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return, for shrinking `size_in` to `size_out` pixels, every box's first input pixel and length, and the weight
    that all its pixels share: Pillow's box filter is 1 inside, and the weights are normalised.
    """
    scale = size_in / size_out
    support = 0.5 * scale
    inverse = 1.0 / scale
    spans = np.empty((size_out, 2), np.int64)
    weights = np.empty(size_out, np.int64)
    for i in range(size_out):
        centre = (i + 0.5) * scale
        first = max(int(centre - support + 0.5), 0)
        last = min(int(centre + support + 0.5), size_in)
        inside = [x for x in range(first, last) if -0.5 < (x - centre + 0.5) * inverse <= 0.5]
        spans[i] = inside[0], len(inside)
        weights[i] = int(0.5 + (1.0 / len(inside)) * (1 << _BITS))
    return spans, weights


@functools.lru_cache(maxsize=256)
def _nearest(size_in: int, size_out: int) -> NDArray[np.int64]:
    """Return the input pixel under every output pixel's centre: Pillow's box filter when it enlarges."""
    scale = size_in / size_out
    return np.array([min(int((i + 0.5) * scale), size_in - 1) for i in range(size_out)], np.int64)


@kernel
def _pixelate(images, out, spans_x, weights_x, spans_y, weights_y, from_x, from_y):  # type: ignore[no-untyped-def]
    count, height, width, channels = images.shape
    small_height, small_width = spans_y.shape[0], spans_x.shape[0]
    half = np.int64(1) << (_BITS - 1)
    narrow = np.empty((height, small_width * channels), np.uint8)
    sums = np.empty(small_width * channels, np.int64)
    small = np.empty((small_height, small_width * channels), np.uint8)
    for i in range(count):
        source = images[i].reshape((height, width * channels))
        target = out[i].reshape((height, width * channels))
        for y in range(height):
            for x in range(small_width):
                start = spans_x[x, 0] * channels
                length = spans_x[x, 1]
                weight = weights_x[x]
                for c in range(channels):
                    total = np.int64(0)
                    for k in range(length):
                        total += source[y, start + k * channels + c]
                    narrow[y, x * channels + c] = np.uint8(min((total * weight + half) >> _BITS, 255))
        for y in range(small_height):
            sums[:] = 0
            for k in range(spans_y[y, 0], spans_y[y, 0] + spans_y[y, 1]):
                for p in range(sums.size):
                    sums[p] += narrow[k, p]
            weight = weights_y[y]
            for p in range(sums.size):
                small[y, p] = np.uint8(min((sums[p] * weight + half) >> _BITS, 255))
        for y in range(height):
            row = from_y[y]
            if y > 0 and row == from_y[y - 1]:
                target[y] = target[y - 1]
            else:
                for x in range(width):
                    start = from_x[x] * channels
                    for c in range(channels):
                        target[y, x * channels + c] = small[row, start + c]


@corruption(
    family="digital",
    revision=1,
    reference="Hendrycks & Dietterich 2019, ImageNet-C; released make_imagenet_c.py, pixelate",
    parameters=(Parameter("fraction", low=0.0, high=1.0, about="small side over full side"),),
    deterministic=True,
)
def pixelate(images: Images, keys: Keys, *, fraction: float) -> Images:
    """Shrink with a box filter to ``int(side * fraction)`` pixels a side (at least 1) and enlarge again.

    Nothing is drawn at random.

    Parameters
    ----------
    images : (N, H, W, C) ndarray of uint8, RGB or grey
    keys : Keys
        Not used.
    fraction : float
        0..1.

    Returns
    -------
    (N, H, W, C) ndarray of uint8

    Notes
    -----
    The arithmetic is Pillow's ``resize(..., Image.BOX)``: 22-bit fixed-point weights, rows first, rounded to 8 bits
    in between (Pillow 13 turns the order round for tall pictures, which moves single values by one level). A box
    holds whole pixels only, so its weights are equal; enlarging takes the pixel under the centre.

    References
    ----------
    Hendrycks and Dietterich, ICLR 2019, section 3; ``pixelate`` of the released ``make_imagenet_c.py``.
    """
    height, width = images.shape[1:3]
    small_height, small_width = max(int(height * fraction), 1), max(int(width * fraction), 1)
    out = np.empty_like(images)
    _pixelate(
        images,
        out,
        *_boxes(width, small_width),
        *_boxes(height, small_height),
        _nearest(small_width, width),
        _nearest(small_height, height),
    )
    return out
