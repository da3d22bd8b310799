"""Estimates of stored bytes, from constants measured on photographs."""

from __future__ import annotations

from ..pixels.encoding import Encoding

JPEG_BYTES = 0.30
"""Bytes a pixel, quality 85."""
PNG_BYTES = 2.2
"""Bytes a pixel, three channels."""
FILE_BYTES = 2048
"""Half a block of the file system and a directory entry, for each file."""


def stored_bytes(encoding: Encoding, size: tuple[int, int], container: str = "folder") -> int:
    """Return the estimated bytes of one stored image of (width, height)."""
    pixels = size[0] * size[1]
    if encoding.format == "png":
        return 3 * pixels if container == "hdf5" else round(PNG_BYTES * pixels) + FILE_BYTES
    # Bytes a pixel grow steeply with quality: 30 at q85, about 9 at q30, about 100 at q100.
    one = round(JPEG_BYTES * pixels * 2 ** ((encoding.quality - 85) / (8.5 if encoding.quality > 85 else 30)))
    return one + 700 + (FILE_BYTES if container == "folder" else 0)
