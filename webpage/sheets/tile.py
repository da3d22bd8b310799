"""One picture of a sheet: enlarged or reduced to its place, with an edge that shows where a white one ends."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from .style import LINE, rgb

Picture = NDArray[np.uint8]
"""(H, W, C), RGB or grey."""


def tile(picture: Picture, width: int, height: int) -> Picture:
    """Return a picture as RGB that fits a place: its pixels as squares of a whole number of pixels, or reduced by the mean over boxes."""
    high, wide = picture.shape[:2]
    factor = min(width // wide, height // high)
    if factor:
        fitting = picture.repeat(factor, axis=0).repeat(factor, axis=1) if factor > 1 else picture
    else:
        share = min(width / wide, height / high)
        size = max(1, int(wide * share)), max(1, int(high * share))
        image = Image.fromarray(picture[:, :, 0] if picture.shape[2] == 1 else picture)
        fitting = np.asarray(image.resize(size, Image.Resampling.BOX)).reshape(size[1], size[0], picture.shape[2])
    return np.broadcast_to(fitting, (*fitting.shape[:2], 3))


def put(canvas: Picture, x: int, y: int, drawn: Picture) -> None:
    """Put a tile on a canvas, its upper left pixel at (x, y), with an edge around it."""
    height, width = drawn.shape[:2]
    canvas[y - 1 : y + height + 1, x - 1 : x + width + 1] = rgb(LINE)
    canvas[y : y + height, x : x + width] = drawn
