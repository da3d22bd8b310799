"""Rectangles at random places: how they are drawn, and the check of those that are given."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..kernels import kernel
from ..keys import Keys, level_stream
from ..random.philox import fill_words
from ..registry import Draw, Images, Parameter, Shape
from .counts import counted, plural

RECTANGLES = 0
"""The draw of a level's rectangles: words 4 k .. 4 k + 3 are the width, height, left and top of rectangle k."""

COLUMNS = (
    Parameter("density", low=0.0, high=10.0, about="rectangles a level, over height plus width"),
    Parameter("least", int, low=1, high=1000, about="pixels, the shortest side"),
    Parameter("most", int, low=1, high=1000, about="pixels, the longest side"),
)


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


def draw_rectangles(keys: Keys, level: int, count: int, least: int, most: int, height: int, width: int) -> NDArray[np.int64]:
    """Draw `count` rectangles of one level for each image, (N, count, 4) of (x, y, width, height).

    Width and height are uniform between `least` and `most`, both included, and each by itself (but no longer than the image);
    places are uniform over those where the whole rectangle lies in the image.
    """
    out = np.empty((len(keys.samples), count, 4), np.int64)
    _rectangles(out, least, max(least, most), height, width, keys.stage, keys.samples, level_stream(level, RECTANGLES))
    return out


def _given(value: Any, shape: Shape, parameters: Mapping[str, Any]) -> NDArray[np.int64]:
    array = np.asarray(value)
    height, width, _ = shape
    if array.ndim != 3 or array.shape[2] != 4 or len(array) < parameters["level"]:
        raise ValueError(f"got shape {array.shape}, expected ({parameters['level']} or more, how many a level, 4)")
    if array.dtype.kind not in "iu":
        raise ValueError(f"got dtype {array.dtype}, expected whole numbers")
    out = np.array(array, dtype=np.int64, order="C")
    corner, sides = out[..., :2], out[..., 2:]
    if (corner < 0).any() or (sides < 1).any() or (corner + sides > (width, height)).any():
        raise ValueError(f"got rectangles that are empty or lie beyond the image of {height}x{width} (height x width)")
    return out


DRAWS = (Draw("boxes", "the rectangles of each level, whole numbers as (x, y, width, height)", _given),)


def rectangles_of(
    images: Images, keys: Keys, level: int, density: float, least: int, most: int, boxes: NDArray[np.int64] | None
) -> NDArray[np.int64]:
    """Return the rectangles of a level for each image, (N, K, 4): drawn, or the given ones of that level."""
    count, height, width, _ = images.shape
    if boxes is not None:
        return np.repeat(boxes[level - 1][None], count, axis=0)
    return draw_rectangles(keys, level, counted(density, height + width), least, most, height, width)


def described(level: int, shape: Shape, parameters: Mapping[str, Any], what: str) -> str:
    """Return how many rectangles there are up to a level: ``"88 boxes"``."""
    return plural(level * counted(parameters["density"], shape[0] + shape[1]), what)
