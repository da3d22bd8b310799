"""One table from level to level, over a batch."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from .registry import Images


def look_up(images: Images, table: NDArray[np.uint8]) -> Images:
    """Return ``table[images]``, the table being (256,) ndarray of uint8."""
    return np.asarray(cv2.LUT(images.reshape(len(images), -1), table), np.uint8).reshape(images.shape)
