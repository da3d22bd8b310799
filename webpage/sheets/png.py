"""PNG with the same bytes on every machine."""

from __future__ import annotations

import struct
import zlib

import numpy as np
from numpy.typing import NDArray

_SUB, _UP = 1, 2


def png(canvas: NDArray[np.uint8]) -> bytes:
    """Return an (H, W, 3) canvas as a PNG file.

    Of zlib's strategies, run lengths give the same bytes in zlib and in all releases of zlib-ng (tested), where the others differ; of
    photographs under differences to the left they leave 1 % more bytes than Pillow's writer at level 3, in a quarter of its time.
    """
    height, width, _ = canvas.shape
    rows = np.empty((height, 1 + 3 * width), np.uint8)
    rows[:, 0] = _SUB
    values = canvas.reshape(height, 3 * width)
    rows[:, 1:4] = values[:, :3]
    np.subtract(values[:, 3:], values[:, :-3], out=rows[:, 4:])
    # a row that equals the one above it, as in enlarged pictures, is all zeros
    rows[1:][(values[1:] == values[:-1]).all(axis=1)] = np.eye(1, 1 + 3 * width, dtype=np.uint8) * _UP
    packer = zlib.compressobj(6, zlib.DEFLATED, 15, 8, zlib.Z_RLE)
    data = packer.compress(rows.data) + packer.flush()
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", head) + _chunk(b"IDAT", data) + _chunk(b"IEND", b"")


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
