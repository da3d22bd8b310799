"""Conversion of fractional values to uint8, and lookup tables."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .registry import Images, choice

ROUNDING = choice(
    "rounding",
    ("floor", "round"),
    "conversion to whole grey values: floor, as in ImageNet-C's generator, or round, as in MNIST-C's",
)
"""The option of all corruptions that compute with fractions."""


def whole(levels: NDArray[np.float64], rounding: str) -> NDArray[np.uint8]:
    """Floor or round the grey values of a table (0 to 255) and return them as uint8.

    As in MNIST-C's generator, rounding converts to single precision first and rounds halves to even. This matters
    because 255 * 0.1 is 25.5, so a constant that is added to all grey values can make all of them halves.
    """
    return (np.rint(levels.astype(np.float32)) if rounding == "round" else np.floor(levels)).astype(np.uint8)


def half(rounding: str) -> float:
    """Return the constant to add before the floor, which is 0.5 if `rounding` is "round" and otherwise 0.

    With it, halves are rounded up.
    """
    return 0.5 if rounding == "round" else 0.0


def look_up(images: Images, table: NDArray[np.uint8]) -> Images:
    """Return ``table[images]`` for a table of shape (256,) and dtype uint8."""
    import cv2  # so that the declaration is known without it

    return np.asarray(cv2.LUT(images.reshape(len(images), -1), table), np.uint8).reshape(images.shape)
