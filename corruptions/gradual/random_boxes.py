"""The gradual degradation `random_boxes`, and functions that draw random rectangles."""

from __future__ import annotations

import numpy as np

from ...quantities import plural
from ...references import SWINGLER_2022
from ..kernels import kernel
from ..keys import level_stream
from ..random.philox import fill_words
from ..registry import Draw, Given, Gradual, Images, Int64Array, Keys, Parameter, Shape, corruption
from . import floored_share

RECTANGLES = 0
"""The number of the draw for rectangles. Words 4 k .. 4 k + 3 are the width, height, left and top of rectangle k."""


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


def draw_rectangles(keys: Keys, shape: Shape, parameters: Given) -> Int64Array:
    """Draw the rectangles of one level for each image.

    The width and height are independent and uniform from `least` to `most`, both included, but not longer than the
    image. The position is uniform over all positions at which the whole rectangle is inside the image.

    Returns
    -------
    (N, K, 4) ndarray of int64
        The x, y, width and height of each rectangle in pixels.
    """
    height, width, _ = shape
    least, stream = parameters["least"], level_stream(parameters["level"], RECTANGLES)
    out = np.empty((len(keys.samples), floored_share(parameters["density"], height + width), 4), np.int64)
    _rectangles(out, least, max(least, parameters["most"]), height, width, *keys, stream)
    return out


def _given(boxes: Int64Array, shape: Shape, parameters: Given) -> Int64Array:
    height, width, _ = shape
    if boxes.ndim != 3 or boxes.shape[2] != 4 or len(boxes) < parameters["level"]:
        raise ValueError(f"got shape {boxes.shape}, expected ({parameters['level']} or more, boxes per level, 4)")
    corner, sides = boxes[..., :2], boxes[..., 2:]
    if (corner < 0).any() or (sides < 1).any() or (corner + sides > (width, height)).any():
        raise ValueError(
            f"got rectangles that are empty or extend beyond the image of {height}x{width} (height x width)"
        )
    return boxes


RECTANGLE_PARAMETERS = (
    Parameter("density", float, 0.0, 10.0, "number of rectangles per level, divided by height plus width"),
    Parameter("least", int, 1, 1000, "minimum side in pixels"),
    Parameter("most", int, 1, 1000, "maximum side in pixels"),
)
"""The parameters of every corruption that draws rectangles."""
RECTANGLE_DRAWS = (
    Draw(
        "boxes",
        "rectangles of each level, whole numbers (x, y, width, height)",
        draw_rectangles,
        None,
        np.int64,
        check=_given,
    ),
)
"""The draw of every corruption that draws rectangles."""


def describe_rectangles(level: int, shape: Shape, parameters: Given, what: str) -> str:
    """Return the number of rectangles up to a level as text, such as ``"88 boxes"``."""
    return plural(level * floored_share(parameters["density"], shape[0] + shape[1]), what)


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
    reference=f"{SWINGLER_2022}, occluding boxes",
    parameters=RECTANGLE_PARAMETERS,
    draws=RECTANGLE_DRAWS,
    gradual=Gradual(lambda level, shape, parameters: describe_rectangles(level, shape, parameters, "box")),
)
def random_boxes(
    images: Images, keys: Keys, *, level: int, density: float, least: int, most: int, boxes: Int64Array
) -> Images:
    """Draw ``floor(density * (H + W))`` small black rectangles per level.

    The published density is 0.1 (44 rectangles at 224x224), with sides from 3 to 6. In the paper's text, the sides are
    from 2 to 5.

    Notes
    -----
    Each rectangle is drawn at random. Its width and height are independent and uniform from `least` to `most`. Its
    position is uniform over all positions at which the whole rectangle is inside the image.
    """
    out = images.copy()
    _blacken(out, boxes)
    return out
