"""From an image and a place in it to a region's pixels: cropped and resized, in the middle of a canvas, or shrunk and embedded in one."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from PIL import Image

Pixels = NDArray[np.uint8]


def crop(image: Pixels, side: int, y: int, x: int) -> Pixels:
    """Return a region's own pixels, (side, side, C), C-contiguous, never the input's memory."""
    return np.array(image[y : y + side, x : x + side], order="C")


def resized(image: Pixels, side: int, interpolation: str) -> Pixels:
    """Return an image as (side, side, C), by Pillow's filter of that name; one that has the size is copied."""
    if image.shape[:2] == (side, side):
        return image.copy()
    grey = image.shape[2] == 1
    picture = Image.fromarray(image[:, :, 0] if grey else image)
    out = np.array(picture.resize((side, side), Image.Resampling[interpolation.upper()]))
    return out[:, :, None] if grey else out


def centred(image: Pixels, side: int) -> Pixels:
    """Return an image in the middle of a black (side, side, C) canvas; of an odd rest, the larger part is to the right and below."""
    height, width, channels = image.shape
    canvas = np.zeros((side, side, channels), np.uint8)
    top, left = (side - height) // 2, (side - width) // 2
    canvas[top : top + height, left : left + width] = image
    return canvas


def embedded(image: Pixels, canvas: int, y: int, x: int) -> Pixels:
    """Return an image on a black (canvas, canvas, C) square, its upper left pixel at (y, x)."""
    height, width, channels = image.shape
    out = np.zeros((canvas, canvas, channels), np.uint8)
    out[y : y + height, x : x + width] = image
    return out
