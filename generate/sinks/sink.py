"""Chunks of samples, the records of stored images, and rough estimates of image sizes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ..pixels.encoding import Encoding

json_text = json.JSONEncoder(ensure_ascii=False).encode  # json.dumps would create an encoder for each call
JPEG_BYTES = 0.30
"""The bytes per pixel of a JPEG with quality 85."""
PNG_BYTES = 2.2
"""The bytes per pixel of a PNG with three channels."""
FILE_BYTES = 2048
"""The overhead of a file in bytes: half a file-system block, and a directory entry."""


@dataclass(frozen=True)
class Chunk:
    """A range of consecutive samples, from `first` to `stop` - 1. `number` is the number of the chunk."""

    number: int
    first: int
    stop: int

    @property
    def count(self) -> int:
        """The number of samples."""
        return self.stop - self.first


def rows_at(positions: Sequence[int]) -> slice | list[int]:
    """Return an array index for rows. For consecutive positions it is a slice, because a slice makes no copy."""
    adjoin = all(b == a + 1 for a, b in pairwise(positions))
    return slice(positions[0], positions[-1] + 1) if adjoin else list(positions)


def file_record(path: str, row: int | None, size: int, sha256: str) -> str:
    """Return a file record in JSON. `path` must already be a JSON string."""
    return f'{{"path": {path}, "row": {"null" if row is None else row}, "bytes": {size}, "sha256": "{sha256}"}}'


def row_records(path: str, first: int, rows: NDArray[np.uint8]) -> list[str]:
    """Return the file records, in JSON, of consecutive array rows. `first` is the number of the first row."""
    size = rows[0].nbytes
    view = rows.reshape(-1).data
    start, end = f'{{"path": {json_text(path)}, "row": ', f', "bytes": {size}, "sha256": "sha256:'
    return [
        f'{start}{first + k}{end}{sha256(view[k * size : (k + 1) * size]).hexdigest()}"}}' for k in range(len(rows))
    ]


def stored_bytes(encoding: Encoding, size: tuple[int, int], container: str = "folder") -> int:
    """Return the estimated size, in bytes, of one stored image. `size` is its (width, height)."""
    pixels = size[0] * size[1]
    if encoding.format == "png":
        return 3 * pixels if container == "hdf5" else round(PNG_BYTES * pixels) + FILE_BYTES
    # The size grows steeply with the quality. 100 pixels take about 9 bytes at quality 30, 30 bytes at quality 85, and
    # 100 bytes at quality 100.
    size_in_bytes = round(JPEG_BYTES * pixels * 2 ** ((encoding.quality - 85) / (8.5 if encoding.quality > 85 else 30)))
    return size_in_bytes + 700 + (FILE_BYTES if container == "folder" else 0)
