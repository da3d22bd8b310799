"""Lines: one more across the image at every level, black or white."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from ...references import SWINGLER_2022
from ..keys import Keys, level_stream
from ..random.philox import whole_numbers
from ..registry import Draw, Gradual, Images, Shape, corruption
from .counts import plural

ENDS = 0
"""The draw of a line's ends: words 0..2 are of the first (left or top, row, column), 3..5 of the last (right or bottom)."""


def _given_ends(value: Any, shape: Shape, parameters: Mapping[str, Any]) -> NDArray[np.int64]:
    array = np.asarray(value)
    height, width, _ = shape
    if array.ndim != 3 or array.shape[1:] != (2, 2) or len(array) < parameters["level"]:
        raise ValueError(f"got shape {array.shape}, expected ({parameters['level']} or more, 2, 2)")
    if array.dtype.kind not in "iu":
        raise ValueError(f"got dtype {array.dtype}, expected whole numbers")
    if (array < 0).any() or (array >= (width, height)).any():
        raise ValueError(f"got ends beyond the image of {height}x{width} (height x width)")
    return np.array(array, dtype=np.int64, order="C")


_DRAWS = (Draw("ends", "the two ends of each level's line, whole numbers as (x, y)", _given_ends),)
_LINES = Gradual(lambda level, shape, parameters: plural(level, "line"))


def draw_ends(keys: Keys, level: int, height: int, width: int) -> NDArray[np.int64]:
    """Draw the ends of one level's lines, (N, 2, 2) of (x, y).

    The first end lies on the left or the top edge, the last on the right or the bottom one, each edge as likely, and
    uniformly on it.
    """
    words: NDArray[np.int64] = whole_numbers(keys.stage, keys.samples, level_stream(level, ENDS), np.array([2, height, width] * 2))
    on_side, row, column = words[:, 0::3] == 0, words[:, 1::3], words[:, 2::3]
    far = np.array([0, 1])
    x = np.where(on_side, far * (width - 1), column)
    y = np.where(on_side, row, far * (height - 1))
    return np.stack([x, y], axis=-1)


def _drawn_over(images: Images, keys: Keys, level: int, value: int, ends: NDArray[np.int64] | None) -> Images:
    height, width, channels = images.shape[1:]
    lines = draw_ends(keys, level, height, width) if ends is None else np.broadcast_to(ends[level - 1], (len(images), 2, 2))
    out = images.copy()
    for image, ((x0, y0), (x1, y1)) in zip(out, lines.tolist(), strict=True):
        cv2.line(image, (x0, y0), (x1, y1), (value,) * channels, 1, cv2.LINE_AA)
    return out


@corruption(
    revision=1,
    reference=f"{SWINGLER_2022}, black lines",
    parameters=(),
    draws=_DRAWS,
    gradual=_LINES,
)
def black_lines(images: Images, keys: Keys, *, level: int, ends: NDArray[np.int64] | None = None) -> Images:
    """Draw a black line from the left or top edge to the right or bottom edge, one a level.

    The first end is uniform on the left edge or on the top one, by a coin; the last likewise on the right or the bottom edge.

    Notes
    -----
    One pixel wide and anti-aliased: OpenCV's ``line(..., lineType=LINE_AA)``, which the released notebook calls. It works
    in whole numbers, darkens three pixels across the line, and its bytes are the same in OpenCV 4.10 and 5.0.
    """
    return _drawn_over(images, keys, level, 0, ends)


@corruption(
    revision=1,
    reference=f"{SWINGLER_2022}, white lines",
    parameters=(),
    draws=_DRAWS,
    gradual=_LINES,
)
def white_lines(images: Images, keys: Keys, *, level: int, ends: NDArray[np.int64] | None = None) -> Images:
    """Draw a white line from the left or top edge to the right or bottom edge, one a level, as `black_lines` does."""
    return _drawn_over(images, keys, level, 255, ends)
