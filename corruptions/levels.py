"""Convert fractional values to uint8, and apply lookup tables."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .registry import Images, choice

ROUNDING = choice(
    "rounding",
    ("floor", "round"),
    "conversion to whole grey values: floor, as in ImageNet-C's generator, or round, as in MNIST-C's",
)
"""The option `rounding`, which all corruptions with fractional results have."""


def to_uint8(levels: NDArray[np.float64], rounding: str) -> NDArray[np.uint8]:
    """Floor or round the grey values of a table (0 to 255), and convert them to uint8.

    As in MNIST-C's generator, values are converted to single precision before they are rounded, and halves are rounded
    to even. Halves are common. For example, adding 255 * 0.1 = 25.5 to all grey values makes all of them halves.
    """
    return (np.rint(levels.astype(np.float32)) if rounding == "round" else np.floor(levels)).astype(np.uint8)


def rounding_offset(rounding: str) -> float:
    """Return the constant to add before the floor, which is 0.5 (halves are rounded up) or 0."""
    return 0.5 if rounding == "round" else 0.0


def look_up(images: Images, table: NDArray[np.uint8]) -> Images:
    """Return ``table[images]`` for a table of shape (256,) and dtype uint8."""
    import cv2  # This is a local import, so that corruptions can be listed without OpenCV.

    return np.asarray(cv2.LUT(images.reshape(len(images), -1), table), np.uint8).reshape(images.shape)
