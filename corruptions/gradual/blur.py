"""Blurs: the mean over a small window, everywhere or inside random rectangles, once more at every level."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...references import SWINGLER_2022
from ..kernels import inlined, kernel
from ..keys import Keys
from ..registry import Gradual, Images, Parameter, Shape, corruption
from .counts import plural
from .rectangles import COLUMNS, DRAWS, described, rectangles_of

GREATEST_REACH = 7
"""Of the window to either side: sums of its values must fit into 16 bits."""
_BITS = 24  # of the reciprocal: (sum + area // 2) * ceil(2**24 / area) stays below 2**32, and its quotient is exact


@inlined
def _mirrored(i, size):  # type: ignore[no-untyped-def]
    """Return the place within 0 .. size - 1 that lies under `i` when the row is mirrored about its end values."""
    period = max(2 * (size - 1), 1)
    i = abs(i) % period
    return min(i, period - i) if size > 1 else i * 0


@kernel
def _filter(source, target, top, left, channels, reach):  # type: ignore[no-untyped-def]
    """Write the means over the window into `target`, (H, W * C), from (top, left) on.

    `source`, (h, w * C), is mirrored about its outermost pixels where the window reaches beyond it.
    """
    height, row = source.shape
    width = row // channels
    area = np.uint32((2 * reach + 1) * (2 * reach + 1))
    half = area // np.uint32(2)
    reciprocal = np.uint32(((np.int64(1) << _BITS) + np.int64(area) - 1) // np.int64(area))
    pad = reach * channels
    sums = np.empty(row + 2 * pad, np.uint16)  # over a column of the window
    total = np.empty(row, np.uint16)
    for y in range(height):
        if reach == 2:  # the published one, in one pass over the row
            line0 = source[_mirrored(y - 2, height)]
            line1 = source[_mirrored(y - 1, height)]
            line2 = source[y]
            line3 = source[_mirrored(y + 1, height)]
            line4 = source[_mirrored(y + 2, height)]
            inner = sums[pad:]
            for j in range(np.uint32(row)):
                inner[j] = np.uint16(line0[j]) + np.uint16(line1[j]) + np.uint16(line2[j]) + np.uint16(line3[j]) + np.uint16(line4[j])
        else:
            sums[:] = 0
            for k in range(-reach, reach + 1):
                line = source[_mirrored(y + k, height)]
                for j in range(np.uint32(row)):
                    sums[np.uint32(pad) + j] += np.uint16(line[j])
        for x in range(1, reach + 1):
            before = pad + _mirrored(x, width) * channels
            after = pad + _mirrored(width - 1 + x, width) * channels
            for c in range(channels):
                sums[pad - x * channels + c] = sums[before + c]
                sums[pad + row + (x - 1) * channels + c] = sums[after + c]
        if reach == 2:
            left1 = sums[channels:]
            centre = sums[2 * channels :]
            right1 = sums[3 * channels :]
            right2 = sums[4 * channels :]
            for j in range(np.uint32(row)):
                total[j] = sums[j] + left1[j] + centre[j] + right1[j] + right2[j]
        else:
            total[:] = 0
            for k in range(2 * reach + 1):
                shifted = sums[k * channels :]
                for j in range(np.uint32(row)):
                    total[j] += shifted[j]
        out = target[top + y, left * channels :]
        for j in range(np.uint32(row)):
            out[j] = np.uint8(((np.uint32(total[j]) + half) * reciprocal) >> np.uint32(_BITS))


@kernel
def _filter_all(images, out, reach):  # type: ignore[no-untyped-def]
    count, height, width, channels = images.shape
    for n in range(count):
        _filter(
            images[n].reshape((height, width * channels)),
            out[n].reshape((height, width * channels)),
            np.int64(0),
            np.int64(0),
            channels,
            reach,
        )


@kernel
def _filter_inside(images, boxes, reach, mean):  # type: ignore[no-untyped-def]
    """Filter, in place, one rectangle after the other, or replace each by its mean."""
    count, height, width, channels = images.shape
    scratch = np.empty(height * width * channels, np.uint8)
    for n in range(count):
        image = images[n].reshape((height, width * channels))
        for k in range(boxes.shape[1]):
            left = boxes[n, k, 0]
            top = boxes[n, k, 1]
            high = boxes[n, k, 3]
            row = boxes[n, k, 2] * channels
            inside = scratch[: high * row].reshape((high, row))
            for y in range(high):
                for j in range(row):
                    inside[y, j] = image[top + y, left * channels + j]
            if mean:
                _average(inside, channels, image, top, left)
            else:
                _filter(inside, image, top, left, channels, reach)


@inlined
def _average(inside, channels, image, top, left):  # type: ignore[no-untyped-def]
    high, row = inside.shape
    area = high * row // channels
    for c in range(channels):
        total = np.int64(0)
        for y in range(high):
            for j in range(c, row, channels):
                total += inside[y, j]
        value = np.uint8((total + area // 2) // area)
        for y in range(high):
            for j in range(c, row, channels):
                image[top + y, left * channels + j] = value


def _size(parameters: Mapping[str, Any]) -> str:
    return "{0}x{0} mean".format(2 * parameters["reach"] + 1)


def _times(level: int, shape: Shape, parameters: Mapping[str, Any]) -> str:
    return f"{_size(parameters)}, {plural(level, 'time')}"


def _rectangles(level: int, shape: Shape, parameters: Mapping[str, Any]) -> str:
    how = _size(parameters) if parameters["inside"] == "blurred" else "mean of each"
    return f"{how}, {described(level, shape, parameters, 'rectangle')}"


@corruption(
    revision=1,
    reference=f"{SWINGLER_2022}, global blur",
    parameters=(Parameter("reach", int, low=1, high=GREATEST_REACH, about="pixels of the window to either side of its centre"),),
    deterministic=True,
    gradual=Gradual(_times),
)
def global_blur(images: Images, keys: Keys, *, level: int, reach: int) -> Images:
    """Replace every value by the mean over a square window of 2 reach + 1 a side, once a level.

    Rounded; beyond its edges the image is mirrored about its outermost pixels: OpenCV's ``blur``. Published: reach 2.
    """
    out = np.empty_like(images)
    _filter_all(images, out, int(reach))
    return out


@corruption(
    revision=1,
    reference=f"{SWINGLER_2022}, local blur",
    parameters=(
        *COLUMNS,
        Parameter("inside", str, choices=("blurred", "mean"), about="what a rectangle becomes: blurred, or its mean in every channel"),
        Parameter("reach", int, low=1, high=GREATEST_REACH, about="pixels of the window to either side of its centre"),
    ),
    draws=DRAWS,
    gradual=Gradual(_rectangles),
)
def local_blur(
    images: Images,
    keys: Keys,
    *,
    level: int,
    density: float,
    least: int,
    most: int,
    inside: str,
    reach: int,
    boxes: NDArray[np.int64] | None = None,
) -> Images:
    """Blur small rectangles, ``floor(density * (H + W))`` a level, one after the other.

    Rectangles are those of `random_boxes`. Published: density 1 (448 rectangles at 224x224), sides from 2 to 10, reach 2. A rectangle
    becomes the mean over a window around each pixel, as the released notebook does, or its mean in every channel, as the paper's
    text says. Both are rounded.

    Notes
    -----
    The window sees nothing beyond its rectangle, which is mirrored about its outermost pixels: so edges appear at the
    rectangles' borders, in the published images too.
    """
    out = images.copy()
    _filter_inside(out, rectangles_of(images, keys, level, density, least, most, boxes), int(reach), inside == "mean")
    return out
