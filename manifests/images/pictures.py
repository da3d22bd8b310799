"""The formats of single images, JPEG and PNG of 8 bits, and their decoder."""

from __future__ import annotations

import io
import warnings

import numpy as np
from numpy.typing import NDArray
from PIL import Image

FORMATS = {"jpeg": ("JPEG", "JPEG"), "png": ("PNG", "png")}
"""Encoding format -> Pillow's name, suffix of the files."""


def stored_format(path: str, encoding_format: str) -> str:
    """Return the format of an image file of a data set.

    A data set of JPEG whose files keep their names has PNG where a name says so.

    Examples
    --------
    >>> stored_format("images/fog/1/a/B.PNG", "jpeg"), stored_format("a.jpg", "png")
    ('png', 'png')
    """
    return "png" if path.lower().endswith(".png") else encoding_format


def own_path(path: str | None, sample_id: str, encoding_format: str) -> str:
    """Return the path of an image in its source, else its id with suffix."""
    return path or f"{sample_id}.{FORMATS[encoding_format][1]}"


class NotAPicture(ValueError):
    """Bytes that are no grey or RGB image of 8 bits in the expected format."""


def decode(data: bytes | memoryview, encoding_format: str) -> NDArray[np.uint8]:
    """Return the pixels of an encoded image, (H, W, C), C 1 or 3.

    The format is ``jpeg`` or ``png``; no other decoder is tried.

    NotAPicture: another format, truncated, more pixels than Pillow's bomb limit, or neither grey nor RGB.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("error", Image.DecompressionBombWarning)
        try:
            with Image.open(io.BytesIO(data), formats=[FORMATS[encoding_format][0]]) as picture:
                picture.load()
                if picture.mode not in ("L", "RGB"):
                    raise NotAPicture(f"a picture of mode {picture.mode}, expected L or RGB")
                pixels = np.array(picture)
        except NotAPicture:
            raise
        # Pillow's decoders raise OSError, SyntaxError, ValueError, struct.error, bomb errors ... on bad bytes
        except Exception as e:
            raise NotAPicture(f"not a whole {encoding_format.upper()} ({type(e).__name__}: {e})") from e
    return pixels if pixels.ndim == 3 else pixels[..., None]


def picture_of(pixels: NDArray[np.uint8]) -> Image.Image:
    """Return an image, (H, W, C), as a PIL image of mode L or RGB."""
    return Image.fromarray(pixels[..., 0] if pixels.shape[2] == 1 else pixels)


def png_bytes(pixels: NDArray[np.uint8]) -> bytes:
    """Return an image as a PNG file."""
    out = io.BytesIO()
    picture_of(pixels).save(out, "PNG")
    return out.getvalue()
