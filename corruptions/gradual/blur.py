"""Blur everywhere, and in small rectangles."""

from __future__ import annotations

import cv2
import numpy as np

from ...quantities import plural
from ...references import SWINGLER_2022
from ..kernels import inlined, kernel
from ..registry import Given, Gradual, Images, Keys, Parameter, Shape, Wholes, corruption
from .random_boxes import RECTANGLE_DRAWS, RECTANGLE_PARAMETERS, describe_rectangles

GREATEST_REACH = 7
"""The largest reach of a window, because the sums of its values must fit into 16 bits."""
_BITS = 24  # of the reciprocal: (sum + area // 2) * ceil(2**24 / area) stays below 2**32, and its quotient is exact
_REACH = Parameter("reach", int, 1, GREATEST_REACH, "pixels of the window to either side of its centre")


def _size(parameters: Given) -> str:
    return "{0}x{0} mean".format(2 * parameters["reach"] + 1)


def _times(level: int, shape: Shape, parameters: Given) -> str:
    return f"{_size(parameters)}, {plural(level, 'time')}"


def _blurred(level: int, shape: Shape, parameters: Given) -> str:
    how = _size(parameters) if parameters["inside"] == "blurred" else "mean of each"
    return f"{how}, {describe_rectangles(level, shape, parameters, 'rectangle')}"


@inlined
def _mirrored(i, size):  # type: ignore[no-untyped-def]
    """Return the place under `i` when a row is mirrored about its end values.

    It is within 0 .. size - 1.
    """
    period = max(2 * (size - 1), 1)
    i = abs(i) % period
    return min(i, period - i) if size > 1 else i * 0


# A call of cv2.blur for each of 448 rectangles would take eleven times as long.
@kernel
def _filter(source, target, top, left, channels, reach):  # type: ignore[no-untyped-def]
    """Write the means over the window into `target`, from (top, left) on.

    `target` is (H, W * C).

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
        total[:] = 0
        for k in range(2 * reach + 1):
            shifted = sums[k * channels :]
            for j in range(np.uint32(row)):
                total[j] += shifted[j]
        out = target[top + y, left * channels :]
        for j in range(np.uint32(row)):
            out[j] = np.uint8(((np.uint32(total[j]) + half) * reciprocal) >> np.uint32(_BITS))


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


@corruption(
    reference=f"{SWINGLER_2022}, global blur",
    parameters=(_REACH,),
    deterministic=True,
    gradual=Gradual(_times),
)
def global_blur(images: Images, keys: Keys, *, level: int, reach: int) -> Images:
    """Replace every value by the mean over a square window, once per level.

    The window is 2 reach + 1 pixels wide and high. Means are rounded, and beyond its edges the image is mirrored about
    its outermost pixels, as OpenCV's ``blur`` does it. Published: reach 2.
    """
    out = np.empty_like(images)
    for image, target in zip(images, out, strict=True):
        cv2.blur(image, (2 * reach + 1, 2 * reach + 1), target)
    return out


@corruption(
    reference=f"{SWINGLER_2022}, local blur",
    parameters=(
        *RECTANGLE_PARAMETERS,
        Parameter(
            "inside",
            str,
            choices=("blurred", "mean"),
            about="what a rectangle becomes: blurred, or its mean in every channel",
        ),
        _REACH,
    ),
    draws=RECTANGLE_DRAWS,
    gradual=Gradual(_blurred),
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
    boxes: Wholes,
) -> Images:
    """Blur small rectangles, ``floor(density * (H + W))`` a level, one after the other.

    Rectangles are those of `random_boxes`. Published: density 1 (448 rectangles at 224x224), sides from 2 to 10, reach
    2. A rectangle becomes the mean over a window around each pixel, as the released notebook does, or its mean in every
    channel, as the paper's text says. Both are rounded.

    Notes
    -----
    The window sees nothing beyond its rectangle, which is mirrored about its outermost pixels: so edges appear at the
    rectangles' borders, in the published images too.
    """
    out = images.copy()
    _filter_inside(out, boxes, int(reach), inside == "mean")
    return out
