"""Pictures of a page: JPEG files inside it, as small as there is room for."""

from __future__ import annotations

import base64
import io

import numpy as np
from numpy.typing import NDArray
from PIL import Image

Pixels = NDArray[np.uint8]
SMALL = 64
"""Pixels: pictures with no longer side are shown enlarged, each pixel a square, and keep their colours at full
resolution.
"""
_NEUTRAL = 128
"""Grey, where there is no image."""


def jpeg(image: Pixels, quality: int, *, fine: bool) -> bytes:
    """Return an (H, W, C) image of uint8 as the bytes of a JPEG file.

    C is 1 or 3; with all of its colours' detail if `fine`.
    """
    picture = Image.fromarray(image[:, :, 0] if image.shape[2] == 1 else image)
    out = io.BytesIO()
    picture.save(out, "JPEG", quality=quality, subsampling=0 if fine else 2, optimize=False)
    return out.getvalue()


def data_uri(data: bytes) -> str:
    """Return the bytes of a JPEG file as the address of an image."""
    return f"data:image/jpeg;base64,{base64.b64encode(data).decode()}"


def resized(image: Pixels, side: int) -> Pixels:
    """Return an image whose longer side is at most `side`, by the mean over boxes."""
    height, width = image.shape[:2]
    factor = side / max(height, width)
    if factor >= 1:
        return image
    picture = Image.fromarray(image[:, :, 0] if image.shape[2] == 1 else image)
    small = np.asarray(
        picture.resize((max(1, round(width * factor)), max(1, round(height * factor))), Image.Resampling.BOX)
    )
    return small[:, :, None] if small.ndim == 2 else small


def framed(image: Pixels, height: int, width: int, channels: int) -> Pixels:
    """Return an image in the middle of a grey (height, width) canvas.

    It is reduced to fit, and has one or three channels.
    """
    factor = min(height / image.shape[0], width / image.shape[1])
    fitted = image if factor >= 1 else resized(image, max(1, int(max(image.shape[:2]) * factor)))
    canvas = np.full((height, width, channels), _NEUTRAL, np.uint8)
    top, left = (height - fitted.shape[0]) // 2, (width - fitted.shape[1]) // 2
    canvas[top : top + fitted.shape[0], left : left + fitted.shape[1]] = fitted
    return canvas


def stacked(images: list[Pixels], columns: int) -> Pixels:
    """Return images as one, `columns` of them side by side.

    Rows lie below each other, with a line between them; all are grey, or all in colour.
    """
    height = max(image.shape[0] for image in images)
    width = max(image.shape[1] for image in images)
    channels = max(image.shape[2] for image in images)
    cells = [
        image if image.shape == (height, width, channels) else framed(image, height, width, channels)
        for image in images
    ]
    cells += [np.full((height, width, channels), _NEUTRAL, np.uint8)] * (-len(cells) % columns)
    gap = 1 if max(height, width) <= SMALL else 2
    down, across = len(cells) // columns, columns
    canvas = np.full((down * (height + gap) - gap, across * (width + gap) - gap, channels), _NEUTRAL, np.uint8)
    for number, cell in enumerate(cells):
        top, left = number // columns * (height + gap), number % columns * (width + gap)
        canvas[top : top + height, left : left + width] = cell
    return canvas
