"""The canvas of a whole rotated image, and how it is brought back to the image's size: both in whole numbers."""

from __future__ import annotations

import functools
from decimal import ROUND_CEILING, Context, localcontext

import numpy as np
from numpy.typing import NDArray

from ..arithmetic import decimal_sine_cosine
from ..kernels import kernel
from ..registry import Images

_AT_LEAST = 3  # pixels mixed at once: what it takes to shrink by up to a half; a canvas has more
RESIZES = ("area", "bilinear", "nearest")


def loose_size(height: int, width: int, angle_deg: float) -> tuple[int, int]:
    """Return (height, width) of the least whole canvas that holds an image rotated by an angle, either way.

    It is MATLAB's ``imrotate(..., 'loose')`` since R2015b, ceil(height |cos| + width |sin|) by
    ceil(width |cos| + height |sin|): pixels are squares, and the image's outer edges are turned, not the centres of its
    corner pixels. In decimals of 60 digits, so that nothing depends on a last bit: for an angle that a double can hold
    those sums are whole at multiples of 90 degrees only.

    Examples
    --------
    >>> loose_size(224, 224, 30.0), loose_size(20, 30, -90.0), loose_size(20, 30, 180.0)
    ((306, 306), (30, 20), (20, 30))
    """
    with localcontext(Context(prec=100)):
        sine, cosine = (abs(value) for value in decimal_sine_cosine(float(angle_deg)))
        sides = (height * cosine + width * sine, width * cosine + height * sine)
        rows, columns = (int(side.to_integral_value(ROUND_CEILING)) for side in sides)
    return rows, columns


@functools.lru_cache(maxsize=256)
def _taps(size_in: int, size_out: int, method: str) -> tuple[NDArray[np.int64], NDArray[np.float64], int]:
    """Return how the pixels of a line are mixed into those of another: (first, weights, total).

    Output pixel i is the sum of weights[j, i] times input pixel first[i] + j, over total. Weights are whole, and their
    sum is total. Pixel i covers i * size_in to (i + 1) * size_in, where input pixel k covers k * size_out to
    (k + 1) * size_out.
    """
    rows: list[tuple[int, list[int]]] = []
    total = {"area": size_in, "bilinear": 2 * size_out, "nearest": 1}[method]
    for i in range(size_out):
        centre = (2 * i + 1) * size_in  # in halves
        if method == "area":
            start, end = i * size_in, (i + 1) * size_in
            inside = range(start // size_out, (end - 1) // size_out + 1)
            rows.append((inside[0], [min((k + 1) * size_out, end) - max(k * size_out, start) for k in inside]))
        elif method == "bilinear":
            left, part = divmod(centre - size_out, total)
            edge = left < 0 or left + 1 >= size_in
            rows.append((min(max(left, 0), size_in - 1), [total] if edge else [total - part, part]))
        else:
            rows.append((centre // (2 * size_out), [1]))
    most = max(_AT_LEAST, *(len(weights) for _, weights in rows))
    first, mixed = np.empty(size_out, np.int64), np.zeros((most, size_out))
    for i, (start, weights) in enumerate(rows):
        # as many pixels for each, none of them outside: the weights of those that are not mixed in stay 0
        first[i] = min(start, size_in - most)
        mixed[start - first[i] : start - first[i] + len(weights), i] = weights
    return first, mixed, total


@kernel
def _resize(images, out, first_y, weights_y, first_x, weights_x, total):  # type: ignore[no-untyped-def]
    count, height, width, channels = images.shape
    across, along = np.uint32(width * channels), np.uint32(out.shape[2] * channels)
    step = np.uint64(channels)
    sums = np.empty(across, np.float64)
    mixed = np.empty(along, np.float64)
    starts = np.empty(along, np.uint32)
    weights = np.empty((weights_x.shape[0], along), np.float64)
    for x in range(out.shape[2]):
        for c in range(channels):
            starts[x * channels + c] = first_x[x] * channels + c
            for j in range(weights_x.shape[0]):
                weights[j, x * channels + c] = weights_x[j, x]
    # Sums of whole numbers, exact below 2**53. A half is added for rounding and a quarter more, so that the product with the
    # rounded inverse falls to the right side of a whole number: before, it is a quarter of 1 / total away from one at least.
    left, middle, right = weights[0], weights[1], weights[2]
    half, inverse = 0.5 * total + 0.25, 1.0 / total
    for n in range(count):
        source = images[n].reshape((height, width * channels))
        for y in range(out.shape[1]):
            top = first_y[y]
            one, two, three = source[top], source[top + 1], source[top + 2]
            for p in range(across):
                sums[p] = weights_y[0, y] * one[p] + weights_y[1, y] * two[p] + weights_y[2, y] * three[p]
            for j in range(3, weights_y.shape[0]):
                weight = weights_y[j, y]
                if weight != 0.0:
                    row = source[top + j]
                    for p in range(across):
                        sums[p] += weight * row[p]
            for p in range(along):
                at = np.uint64(starts[p])
                mixed[p] = half + left[p] * sums[at] + middle[p] * sums[at + step] + right[p] * sums[at + step + step]
            for j in range(3, weights_x.shape[0]):
                ours = weights[j]
                ahead = np.uint64(j) * step
                for p in range(along):
                    mixed[p] += ours[p] * sums[np.uint64(starts[p]) + ahead]
            target = out[n, y].reshape(out.shape[2] * channels)
            for p in range(along):
                target[p] = np.uint8(np.int32(mixed[p] * inverse))


def resize_into(images: Images, out: Images, method: str) -> None:
    """Bring images, (N, H', W', C), to the size of `out`, in whole numbers, rounded once, halves up.

    ``area``: the mean over the rectangle that a pixel covers, of every pixel the part of it that lies inside. ``bilinear``: at a pixel's
    centre, between the four nearest; nothing is averaged when it shrinks. ``nearest``: the pixel under the centre.
    """
    height, width = images.shape[1:3]
    first_y, weights_y, total_y = _taps(height, out.shape[1], method)
    first_x, weights_x, total_x = _taps(width, out.shape[2], method)
    _resize(images, out, first_y, weights_y, first_x, weights_x, float(total_y * total_x))
