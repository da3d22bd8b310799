"""The gradual degradations `global_blur` and `local_blur`."""

from __future__ import annotations

import numpy as np

from ...quantities import plural
from ...references import SWINGLER_2022
from ..kernels import inlined, kernel
from ..registry import Given, Gradual, Images, Int64Array, Keys, Parameter, Shape, corruption
from .random_boxes import RECTANGLE_DRAWS, RECTANGLE_PARAMETERS, describe_rectangles

MAX_REACH = 7
"""The maximum reach of a window, because the sums of its values must fit in 16 bits."""
# The reciprocal has this number of fractional bits, so that (sum + area // 2) * ceil(2**24 / area) stays below 2**32
# and the quotient is exact.
_BITS = 24
_REACH = Parameter("reach", int, 1, MAX_REACH, "distance in pixels from the window's centre to its edge")


def _size(parameters: Given) -> str:
    return "{0}x{0} mean".format(2 * parameters["reach"] + 1)


def _times(level: int, shape: Shape, parameters: Given) -> str:
    return f"{_size(parameters)}, {plural(level, 'time')}"


def _blurred(level: int, shape: Shape, parameters: Given) -> str:
    how = _size(parameters) if parameters["inside"] == "blurred" else "mean of each"
    return f"{how}, {describe_rectangles(level, shape, parameters, 'rectangle')}"


@inlined
def _mirrored(i, size):  # type: ignore[no-untyped-def]
    """Return the index in 0 .. size - 1 that `i` refers to in a row with reflect padding."""
    period = max(2 * (size - 1), 1)
    i = abs(i) % period
    return min(i, period - i) if size > 1 else i * 0


# A call to cv2.blur for each of 448 rectangles would take eleven times as long.
@kernel
def _filter(source, target, top, left, channels, reach):  # type: ignore[no-untyped-def]
    """Write the means over the window into `target`, (H, W * C), beginning at (top, left).

    `source`, (h, w * C), is read with reflect padding where the window reaches beyond its edges.
    """
    height, row = source.shape
    width = row // channels
    area = np.uint32((2 * reach + 1) * (2 * reach + 1))
    half = area // np.uint32(2)
    reciprocal = np.uint32(((np.int64(1) << _BITS) + np.int64(area) - 1) // np.int64(area))
    pad = reach * channels
    sums = np.empty(row + 2 * pad, np.uint16)  # These are the sums over the columns of the window.
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
    """Filter the rectangles in place, one after the other, or replace each one by its mean."""
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

    The window is 2 reach + 1 pixels wide and high. As in OpenCV's ``blur``, the image has reflect padding and means are
    rounded. The published reach is 2.
    """
    import cv2  # This is a local import, so that corruptions can be listed without OpenCV.

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
            about="new content of a rectangle: blurred, or its mean in every channel",
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
    boxes: Int64Array,
) -> Images:
    """Blur ``floor(density * (H + W))`` small rectangles per level, one after the other.

    The rectangles are those of `random_boxes`. In the released notebook, each pixel of a rectangle is replaced by the
    mean over a window around it. In the paper's text, the rectangle is replaced by its mean in every channel. Means are
    rounded in both cases. The published density is 1 (448 rectangles at 224x224), with sides from 2 to 10 and a reach
    of 2.

    Notes
    -----
    The position and size of each rectangle are drawn at random.

    The window reads only pixels inside the rectangle, which has reflect padding. Edges therefore appear at the borders
    of rectangles, as in the published images.
    """
    out = images.copy()
    _filter_inside(out, boxes, int(reach), inside == "mean")
    return out
