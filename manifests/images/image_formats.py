"""The formats of single images, 8-bit JPEG and PNG, and their decoder."""

from __future__ import annotations

import io

import numpy as np
from numpy.typing import NDArray
from PIL import Image

IMAGE_FORMATS = {"jpeg": ("JPEG", "JPEG"), "png": ("PNG", "png")}
"""Encoding format -> its name in Pillow, and the suffix of its files."""
END_MARKERS = {"jpeg": b"\xff\xd9", "png": b"\0\0\0\0IEND\xaeB`\x82"}
"""The bytes at the end of a complete file, which a truncated file lacks."""
MAX_PIXELS = 89_478_485
"""Limit on the number of pixels of an image, the same as Pillow's default for ``MAX_IMAGE_PIXELS``."""
JPEG_SUFFIXES = ("jpg", "jpeg", "jpe", "jfif")
OTHER_SUFFIXES = (
    "apng",
    "bmp",
    "dib",
    "gif",
    "tif",
    "tiff",
    "webp",
    "ppm",
    "pgm",
    "pbm",
    "pnm",
    "avif",
    "heic",
    "heif",
)
"""Suffixes of image formats that corruptset does not write."""
SIGNATURES = {"jpeg": b"\xff\xd8\xff", "png": b"\x89PNG\r\n\x1a\n"}
"""Encoding format -> the first bytes of its files."""


def stored_format(path: str, encoding_format: str) -> str:
    """Return the format of an image file of a dataset.

    If images keep their names from the source, a dataset of JPEGs may also contain PNGs, whose names end in ``.png``.

    Examples
    --------
    >>> stored_format("images/fog/1/a/B.PNG", "jpeg"), stored_format("a.jpg", "png")
    ('png', 'png')
    """
    return "png" if path.lower().endswith(".png") else encoding_format


def format_of_suffix(path: str) -> str | None:
    """Return the format that the suffix of a file states: ``jpeg``, ``png``, another image suffix, or None.

    Examples
    --------
    >>> [format_of_suffix(path) for path in ("a/B.JPG", "b.png", "c.webp", "im.0")]
    ['jpeg', 'png', 'webp', None]
    """
    suffix = path.rpartition("/")[2].rpartition(".")[2].lower()
    if suffix in JPEG_SUFFIXES:
        return "jpeg"
    return suffix if suffix == "png" or suffix in OTHER_SUFFIXES else None


def format_problem(path: str, begin: bytes) -> str | None:
    """Return why the first bytes of a file do not match its suffix, as part of a sentence, or None if they match."""
    named, found = format_of_suffix(path), next((f for f, mark in SIGNATURES.items() if begin.startswith(mark)), None)
    if named is None or named == found:
        return None
    what = "neither a JPEG nor a PNG" if found is None else f"a {found.upper()}"
    return f"begins like {what}, but its name ends in .{path.rpartition('.')[2]}; export it again"


def preserved_path(path: str | None, sample_id: str, encoding_format: str) -> str:
    """Return the path within the folder of a set for an image that keeps its path from the source.

    An image without a path is named after its id. In a dataset of PNGs, ``.png`` replaces the suffixes of JPEGs.

    Examples
    --------
    >>> preserved_path("a/B.JPG", "a/B", "jpeg"), preserved_path("a/B.JPG", "a/B", "png")
    ('a/B.JPG', 'a/B.png')
    >>> preserved_path(None, "data/7", "jpeg")
    'data/7.JPEG'
    """
    if path is None:
        return f"{sample_id}.{IMAGE_FORMATS[encoding_format][1]}"
    return f"{path.rpartition('.')[0]}.png" if encoding_format == "png" and format_of_suffix(path) == "jpeg" else path


class InvalidImage(ValueError):
    """Bytes that are not an 8-bit grey or RGB image in the expected format."""


def decode(data: bytes | memoryview, encoding_format: str) -> NDArray[np.uint8]:
    """Decode a stored image.

    The result does not depend on Pillow's settings in this process, such as ``LOAD_TRUNCATED_IMAGES``, and no setting
    of the process is changed.

    Parameters
    ----------
    data : bytes or memoryview
        An encoded 8-bit image, grey or RGB.
    encoding_format : {"jpeg", "png"}
        The expected format. No other decoder is tried.

    Returns
    -------
    (H, W, C) ndarray of uint8
        C is 1 or 3.

    Raises
    ------
    InvalidImage
        The data is in a different format, is truncated, has more than `MAX_PIXELS` pixels, or is neither grey nor RGB.
    """
    if END_MARKERS[encoding_format] not in bytes(data):
        raise InvalidImage(f"truncated {encoding_format.upper()}: its end is missing")
    try:
        with Image.open(io.BytesIO(data), formats=[IMAGE_FORMATS[encoding_format][0]]) as image:
            if image.mode not in ("L", "RGB"):
                raise InvalidImage(f"the mode is {image.mode}, but L or RGB is expected")
            if image.width * image.height > MAX_PIXELS:
                raise InvalidImage(f"the size of {image.width}x{image.height} pixels is too large")
            pixels = np.array(image)
    except InvalidImage:
        raise
    # Pillow's decoders raise many kinds of errors for bad bytes: OSError, SyntaxError, ValueError, struct.error, ...
    except Exception as e:
        raise InvalidImage(f"invalid {encoding_format.upper()}: {type(e).__name__}: {e}") from e
    return pixels if pixels.ndim == 3 else pixels[..., None]


def to_pil(pixels: NDArray[np.uint8]) -> Image.Image:
    """Return an (H, W, C) image as a Pillow image in mode L or RGB."""
    return Image.fromarray(pixels[..., 0] if pixels.shape[2] == 1 else pixels)


def png_bytes(pixels: NDArray[np.uint8]) -> bytes:
    """Return an image as a PNG file."""
    out = io.BytesIO()
    to_pil(pixels).save(out, "PNG")
    return out.getvalue()
