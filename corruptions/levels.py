"""Whole levels: how a value becomes one of the 256; tables of levels."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from .registry import Images, choice

ROUNDING = choice(
    "rounding",
    ("floor", "round"),
    "how values become whole levels: floor, as ImageNet-C's generator, or round, as MNIST-C's",
)
"""An option of every corruption that computes with fractions."""


def whole(levels: NDArray[np.float64], rounding: str) -> NDArray[np.uint8]:
    """Return levels (0..255) of a table as uint8: floored, or rounded.

    Rounding takes them to single precision first and halves to the even level, as MNIST-C's generator does: 255 * 0.1
    is 25.5, so where something is added to all levels, all may be halves.
    """
    return (np.rint(levels.astype(np.float32)) if rounding == "round" else np.floor(levels)).astype(np.uint8)


def half(rounding: str) -> float:
    """Return what is added before the floor: 0, or one half where `rounding` is "round".

    There, halves go up.
    """
    return 0.5 if rounding == "round" else 0.0


def look_up(images: Images, table: NDArray[np.uint8]) -> Images:
    """Return ``table[images]``, the table being (256,) ndarray of uint8."""
    return np.asarray(cv2.LUT(images.reshape(len(images), -1), table), np.uint8).reshape(images.shape)
