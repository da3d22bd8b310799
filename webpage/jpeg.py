"""Pictures of a page: JPEG files inside it, as few bytes as the page has room for."""

from __future__ import annotations

import base64
import io

import numpy as np
from numpy.typing import NDArray
from PIL import Image

Pixels = NDArray[np.uint8]
SMALL = 64
"""Pixels: pictures with no longer side are shown enlarged, each pixel a square, and keep their colours at full resolution."""


def jpeg(image: Pixels, quality: int) -> bytes:
    """Return an (H, W, C) image of uint8, C 1 or 3, as the bytes of a JPEG file: the same everywhere."""
    picture = Image.fromarray(image[:, :, 0] if image.shape[2] == 1 else image)
    out = io.BytesIO()
    picture.save(out, "JPEG", quality=quality, subsampling=0 if max(image.shape[:2]) <= SMALL else 2, optimize=False)
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
    small = np.asarray(picture.resize((max(1, round(width * factor)), max(1, round(height * factor))), Image.Resampling.BOX))
    return small[:, :, None] if small.ndim == 2 else small


def framed(image: Pixels, height: int, width: int, channels: int) -> Pixels:
    """Return an image in the middle of a grey (height, width) canvas, reduced to fit, with one or three channels."""
    factor = min(height / image.shape[0], width / image.shape[1])
    fitted = image if factor >= 1 else resized(image, max(1, int(max(image.shape[:2]) * factor)))
    canvas = np.full((height, width, channels), 128, np.uint8)
    top, left = (height - fitted.shape[0]) // 2, (width - fitted.shape[1]) // 2
    canvas[top : top + fitted.shape[0], left : left + fitted.shape[1]] = fitted
    return canvas


def stacked(images: list[Pixels], columns: int) -> Pixels:
    """Return images of one size as one: `columns` side by side, rows below each other; all grey, or all in colour."""
    height = max(image.shape[0] for image in images)
    width = max(image.shape[1] for image in images)
    channels = max(image.shape[2] for image in images)
    cells = [image if image.shape == (height, width, channels) else framed(image, height, width, channels) for image in images]
    cells += [np.full((height, width, channels), 128, np.uint8)] * (-len(cells) % columns)
    rows = [np.concatenate(cells[start : start + columns], axis=1) for start in range(0, len(cells), columns)]
    return np.concatenate(rows, axis=0)
