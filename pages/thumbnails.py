"""Make thumbnails, which are small versions of images that a page contains as JPEG."""

from __future__ import annotations

import base64
import io
import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from PIL import Image

Pixels = NDArray[np.uint8]
SMALL = 64
"""The maximum side of a small image, in pixels. The browser enlarges small images so that each pixel becomes a square.
They are therefore stored at a higher quality.
"""
MAX_BYTES = 2_150_000
"""The approximate size of all thumbnails on a page, in bytes. Base64 adds a third, so a page has about 3 MB."""
_LARGEST, _SMALLEST, _BLOCK = 320, 48, 16
"""The limits for a thumbnail's side, and the size of a JPEG block with subsampled colours, in pixels."""
_BYTES_PER_PIXEL = {False: 0.27, True: 1.3}
"""The usual number of bytes per pixel in JPEG files of large (False) and small (True) images. Corrupted photographs
with a side of 160 pixels need 0.26.
"""
_GREY = 128


def thumbnail_side(images: int, *, small: bool, max_bytes: float = MAX_BYTES) -> int:
    """Return the side, in pixels, at which all thumbnails on a page together have about `max_bytes` bytes.

    Parameters
    ----------
    images : int
        The number of images.
    small : bool
        Whether the images are at most 64 pixels wide and high.
    max_bytes : float
        The number of bytes for all images.

    Examples
    --------
    >>> thumbnail_side(304, small=False), thumbnail_side(304, small=True), thumbnail_side(10_000, small=False)
    (160, 64, 48)
    """
    side = math.sqrt(max_bytes / _BYTES_PER_PIXEL[small] / max(images, 1))
    return min(SMALL if small else _LARGEST, max(_SMALLEST, int(side) // _BLOCK * _BLOCK))


def shrunk(image: Pixels, width: int, height: int) -> Image.Image:
    """Return an (H, W, C) image as a Pillow image that fits into `width` x `height` pixels."""
    reduced = Image.fromarray(image[:, :, 0] if image.shape[2] == 1 else image)
    reduced.thumbnail((width, height), Image.Resampling.BOX)
    return reduced


def mosaic(images: Sequence[Pixels], width: int, height: int, *, columns: int = 1, gap: int = 0) -> Image.Image:
    """Return several images as one image, each in the middle of a grey cell of `width` x `height` pixels.

    The mosaic is greyscale if all images are greyscale.
    """
    rows = -(-len(images) // columns)
    size = columns * (width + gap) - gap, rows * (height + gap) - gap
    is_grey = all(image.shape[2] == 1 for image in images)
    canvas = Image.new("L" if is_grey else "RGB", size, _GREY if is_grey else (_GREY,) * 3)
    for number, image in enumerate(images):
        reduced = shrunk(image, width, height)
        left, top = number % columns * (width + gap), number // columns * (height + gap)
        canvas.paste(reduced, (left + (width - reduced.width) // 2, top + (height - reduced.height) // 2))
    return canvas


def data_uri(image: Image.Image, *, small: bool) -> str:
    """Return an image as a data URI that contains a JPEG file."""
    out = io.BytesIO()
    image.save(out, "JPEG", quality=90 if small else 75, subsampling=0 if small else 2)
    return f"data:image/jpeg;base64,{base64.b64encode(out.getvalue()).decode()}"
