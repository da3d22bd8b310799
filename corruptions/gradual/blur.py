"""Small rectangles, blackened or blurred; and blur everywhere."""

from __future__ import annotations

import cv2
import numpy as np

from ...quantities import plural
from ...references import SWINGLER_2022
from ..kernels import inlined, kernel
from ..keys import level_stream
from ..random.philox import fill_words
from ..registry import Draw, Given, Gradual, Images, Keys, Parameter, Shape, Wholes, corruption
from . import counted

RECTANGLES = 0
"""The draw of a level's rectangles: words 4 k .. 4 k + 3 are the width, height, left and top of rectangle k."""
GREATEST_REACH = 7
"""Of the window to either side: sums of its values must fit into 16 bits."""
_BITS = 24  # of the reciprocal: (sum + area // 2) * ceil(2**24 / area) stays below 2**32, and its quotient is exact


@kernel
def _rectangles(out, least, most, height, width, stage_key, sample_keys, stream):  # type: ignore[no-untyped-def]
    count, rectangles, _ = out.shape
    words = np.empty(4 * rectangles, np.uint32)
    for n in range(count):
        fill_words(words, np.int64(0), stage_key, sample_keys[n], stream)
        for k in range(rectangles):
            wide = min(least + ((np.int64(words[4 * k]) * (most - least + 1)) >> 32), width)
            high = min(least + ((np.int64(words[4 * k + 1]) * (most - least + 1)) >> 32), height)
            out[n, k, 0] = (np.int64(words[4 * k + 2]) * (width - wide + 1)) >> 32
            out[n, k, 1] = (np.int64(words[4 * k + 3]) * (height - high + 1)) >> 32
            out[n, k, 2] = wide
            out[n, k, 3] = high


def draw_rectangles(keys: Keys, shape: Shape, parameters: Given) -> Wholes:
    """Draw the rectangles of one level for each image.

    They are (N, K, 4), of (x, y, width, height).

    Width and height are uniform between `least` and `most`, both included, and each by itself (but no longer than the
    image); places are uniform over those where the whole rectangle lies in the image.
    """
    height, width, _ = shape
    least, stream = parameters["least"], level_stream(parameters["level"], RECTANGLES)
    out = np.empty((len(keys.samples), counted(parameters["density"], height + width), 4), np.int64)
    _rectangles(out, least, max(least, parameters["most"]), height, width, *keys, stream)
    return out


def _given(boxes: Wholes, shape: Shape, parameters: Given) -> Wholes:
    height, width, _ = shape
    if boxes.ndim != 3 or boxes.shape[2] != 4 or len(boxes) < parameters["level"]:
        raise ValueError(f"got shape {boxes.shape}, expected ({parameters['level']} or more, how many a level, 4)")
    corner, sides = boxes[..., :2], boxes[..., 2:]
    if (corner < 0).any() or (sides < 1).any() or (corner + sides > (width, height)).any():
        raise ValueError(f"got rectangles that are empty or lie beyond the image of {height}x{width} (height x width)")
    return boxes


_COLUMNS = (
    Parameter("density", float, 0.0, 10.0, "rectangles a level, over height plus width"),
    Parameter("least", int, 1, 1000, "pixels, the shortest side"),
    Parameter("most", int, 1, 1000, "pixels, the longest side"),
)
_REACH = Parameter("reach", int, 1, GREATEST_REACH, "pixels of the window to either side of its centre")
_BOXES = (
    Draw(
        "boxes",
        "the rectangles of each level, whole numbers as (x, y, width, height)",
        draw_rectangles,
        None,
        np.int64,
        check=_given,
    ),
)


def _described(level: int, shape: Shape, parameters: Given, what: str) -> str:
    """Return how many rectangles there are up to a level: ``"88 boxes"``."""
    return plural(level * counted(parameters["density"], shape[0] + shape[1]), what)


def _size(parameters: Given) -> str:
    return "{0}x{0} mean".format(2 * parameters["reach"] + 1)


def _times(level: int, shape: Shape, parameters: Given) -> str:
    return f"{_size(parameters)}, {plural(level, 'time')}"


def _blurred(level: int, shape: Shape, parameters: Given) -> str:
    how = _size(parameters) if parameters["inside"] == "blurred" else "mean of each"
    return f"{how}, {_described(level, shape, parameters, 'rectangle')}"


@inlined
def _mirrored(i, size):  # type: ignore[no-untyped-def]
    """Return the place under `i` when a row is mirrored about its end values.

    It is within 0 .. size - 1.
    """
    period = max(2 * (size - 1), 1)
    i = abs(i) % period
    return min(i, period - i) if size > 1 else i * 0


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


@kernel
def _blacken(images, boxes):  # type: ignore[no-untyped-def]
    channels = images.shape[3]
    for n in range(images.shape[0]):
        for k in range(boxes.shape[1]):
            left = boxes[n, k, 0]
            top = boxes[n, k, 1]
            for y in range(top, top + boxes[n, k, 3]):
                for x in range(left, left + boxes[n, k, 2]):
                    for c in range(channels):
                        images[n, y, x, c] = np.uint8(0)


@corruption(
    reference=f"{SWINGLER_2022}, global blur",
    parameters=(_REACH,),
    deterministic=True,
    gradual=Gradual(_times),
)
def global_blur(images: Images, keys: Keys, *, level: int, reach: int) -> Images:
    """Replace every value by the mean over a square window, once a level.

    The window has 2 reach + 1 pixels a side. Means are rounded, and beyond its edges the image is mirrored about its
    outermost pixels, as OpenCV's ``blur`` does it. Published: reach 2.
    """
    out = np.empty_like(images)
    for image, target in zip(images, out, strict=True):
        cv2.blur(image, (2 * reach + 1, 2 * reach + 1), target)
    return out


@corruption(
    reference=f"{SWINGLER_2022}, local blur",
    parameters=(
        *_COLUMNS,
        Parameter(
            "inside",
            str,
            choices=("blurred", "mean"),
            about="what a rectangle becomes: blurred, or its mean in every channel",
        ),
        _REACH,
    ),
    draws=_BOXES,
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


@corruption(
    reference=f"{SWINGLER_2022}, occluding boxes",
    parameters=_COLUMNS,
    draws=_BOXES,
    gradual=Gradual(lambda level, shape, parameters: _described(level, shape, parameters, "box")),
)
def random_boxes(
    images: Images, keys: Keys, *, level: int, density: float, least: int, most: int, boxes: Wholes
) -> Images:
    """Black out small rectangles, ``floor(density * (H + W))`` a level.

    Sides are uniform between `least` and `most`, each by itself, places uniform over those where the whole rectangle
    lies in the image. Published: density 0.1 (44 rectangles at 224x224), sides from 3 to 6 (the paper's text: 2 to 5).
    """
    out = images.copy()
    _blacken(out, boxes)
    return out
