"""The gradual degradations `black_lines` and `white_lines`, which draw one more line per level."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...quantities import plural
from ...references import SWINGLER_2022
from ..keys import level_stream
from ..registry import Draw, Given, Gradual, Images, Int64Array, Keys, Shape, corruption

ENDS = 0
"""The number of the draw for the ends of a line.

Words 0..2 select the edge (left or top), the row and the column of the first end. Words 3..5 select the edge (right or
bottom), the row and the column of the second end.
"""


def draw_ends(keys: Keys, shape: Shape, parameters: Given) -> Int64Array:
    """Draw the two ends (x, y) of each image's line at one level, as an array (N, 2, 2).

    The first end is on the left or top edge, and the second end is on the right or bottom edge. The two edges are
    equally likely, and the position on the edge is uniform.
    """
    height, width, _ = shape
    words = keys.integers(*[2, height, width] * 2, stream=level_stream(parameters["level"], ENDS))
    on_side, row, column = words[:, 0::3] == 0, words[:, 1::3], words[:, 2::3]
    far = np.array([0, 1])
    x = np.where(on_side, far * (width - 1), column)
    y = np.where(on_side, row, far * (height - 1))
    return np.stack([x, y], axis=-1)


def _given_ends(ends: Int64Array, shape: Shape, parameters: Given) -> Int64Array:
    if ends.ndim != 3 or ends.shape[1:] != (2, 2) or len(ends) < parameters["level"]:
        raise ValueError(f"got shape {ends.shape}, expected ({parameters['level']} or more, 2, 2)")
    if (ends < 0).any() or (ends >= (shape[1], shape[0])).any():
        raise ValueError(f"got ends beyond the image of {shape[0]}x{shape[1]} (height x width)")
    return ends


_LINES: Any = {
    "revision": 1,
    "parameters": (),
    "draws": (
        Draw(
            "ends",
            "ends of the line of each level, two pairs (x, y) of whole numbers",
            draw_ends,
            None,
            np.int64,
            check=_given_ends,
        ),
    ),
    "gradual": Gradual(lambda level, shape, parameters: plural(level, "line")),
}


def _drawn_over(images: Images, value: int, ends: Int64Array) -> Images:
    import cv2  # This is a local import, so that corruptions can be listed without OpenCV.

    out = images.copy()
    for image, (start, end) in zip(out, ends.tolist(), strict=True):
        cv2.line(image, start, end, (value,) * images.shape[3], 1, cv2.LINE_AA)
    return out


@corruption(reference=f"{SWINGLER_2022}, black lines", **_LINES)
def black_lines(images: Images, keys: Keys, *, level: int, ends: Int64Array) -> Images:
    """Draw one black line across the image per level.

    Notes
    -----
    The two ends of each line are drawn at random. The first end is on the left or top edge, and the second end on the
    right or bottom edge. The two edges are equally likely, and the position on the edge is uniform.

    The line is one pixel wide and anti-aliased by OpenCV's ``line(..., lineType=LINE_AA)``, as in the released
    notebook. Because of anti-aliasing, it changes up to three pixels across its width. The line is computed in
    integers, and OpenCV 4.10 and 5.0 give the same bytes.
    """
    return _drawn_over(images, 0, ends)


@corruption(reference=f"{SWINGLER_2022}, white lines", **_LINES)
def white_lines(images: Images, keys: Keys, *, level: int, ends: Int64Array) -> Images:
    """Draw one white line across the image per level, like `black_lines`."""
    return _drawn_over(images, 255, ends)
