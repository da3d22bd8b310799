"""What image files, HDF5 shards and arrays share: a run of samples, the records of images, and about how many bytes one takes."""

from __future__ import annotations

import json
import math
import mmap
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...corruptions.registry import Images
from ...errors import BuildError
from ..pixels.encoding import Encoding
from ..sources.source import Sample

if TYPE_CHECKING:
    from .containers import Sink

json_text = json.JSONEncoder(ensure_ascii=False).encode  # json.dumps would make an encoder for every call
JPEG_BYTES = 0.30
"""Bytes a pixel, quality 85."""
PNG_BYTES = 2.2
"""Bytes a pixel, three channels."""
FILE_BYTES = 2048
"""Half a block of the file system and a directory entry, for each file."""


@dataclass(frozen=True)
class Run:
    """Consecutive samples: ``first`` up to, not including, ``stop``."""

    number: int
    first: int
    stop: int

    @property
    def count(self) -> int:
        """How many samples."""
        return self.stop - self.first


@dataclass(frozen=True)
class EncodedImage:
    """An image as the bytes of a file."""

    data: bytes
    sha256: str


_blocks: list[mmap.mmap] = []
"""Free blocks, for the next sets: a page that the kernel has to clear and map anew costs more than the copy into it."""


class SetSink:
    """Takes the images of one set x one run, and keeps pixels until they are written; the three kinds say how.

    The memory of pixels is the kernel's and not malloc's, which would keep freed blocks in pieces: a worker would hold a quarter more.

    Parameters
    ----------
    sink : Sink
        What the set goes into.
    directory : Path
        The build's.
    set_id : str
    run : Run
    samples : sequence of Sample
        Those of the run.
    """

    def __init__(self, sink: Sink, directory: Path, set_id: str, run: Run, samples: Sequence[Sample]) -> None:
        self.sink, self.directory, self.set_id, self.run, self.samples = sink, directory, set_id, run, samples
        self.records = [""] * run.count
        """The JSON of each image's file record, by position in the run; complete after `finish`."""
        self.bytes = 0
        """Of the images, as they are stored."""
        self.rows: NDArray[np.uint8] | None = None
        """All images of the run, (N, H, W, C), where pixels are kept until `finish`."""
        self._block: mmap.mmap | None = None

    def put(self, positions: Sequence[int], images: Images, encoded: Sequence[EncodedImage]) -> None:
        """Take images by their positions in the run; `encoded` is empty where no sink encodes.

        Raises
        ------
        BuildError
            Pixels are kept, and these have another shape than those before.
        """
        if self.rows is None:
            shape = (self.run.count, *images.shape[1:])
            self._block = _free_block(math.prod(shape))
            self.rows = np.frombuffer(self._block, np.uint8, math.prod(shape)).reshape(shape)
        elif self.rows.shape[1:] != images.shape[1:]:
            shapes = sorted([self.rows.shape[1:], images.shape[1:]])
            raise BuildError(
                f"Set {self.set_id}, samples {self.run.first} to {self.run.stop - 1}: images of several shapes ({shapes}) do not fit "
                "into one array of pixels. Use --format folder, or a recipe whose preprocessing makes all images equal."
            )
        self.rows[rows_at(positions)] = images

    def finish(self, pixel_hashes: Sequence[str]) -> Mapping[str, Any] | None:
        """Write what is written once per run and free the images; return path, bytes and sha256 of a shard."""
        return None

    def free(self) -> None:
        """Give the memory to the next set; nobody may look at the images any more."""
        self.rows = None
        if self._block is not None:
            _blocks.append(self._block)
            self._block = None


def _free_block(size: int) -> mmap.mmap:
    """Return memory of at least `size` bytes; what it holds is not defined."""
    with suppress(IndexError):  # no block is free
        while True:
            block = _blocks.pop()
            if size <= len(block) <= 2 * size:
                return block
    return mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)


def free_all_blocks() -> None:
    """Return the memory kept for rows to the system."""
    _blocks.clear()


def rows_at(positions: Sequence[int]) -> slice | list[int]:
    """Return what gives rows of an array: a slice, which copies nothing, where the positions follow each other."""
    adjoin = positions[-1] - positions[0] + 1 == len(positions) and all(b > a for a, b in pairwise(positions))
    return slice(positions[0], positions[-1] + 1) if adjoin else list(positions)


def file_record(path: str, row: int | None, size: int, sha256: str) -> str:
    """Return the JSON of a file record; `path` is JSON already."""
    return f'{{"path": {path}, "row": {"null" if row is None else row}, "bytes": {size}, "sha256": "{sha256}"}}'


def row_records(path: str, numbers: Sequence[int], rows: NDArray[np.uint8]) -> list[str]:
    """Return the records of images that are rows of an array; `numbers` says which. A record costs little more than its hash."""
    size = rows[0].nbytes
    view = rows.reshape(-1).data
    start, end = f'{{"path": {json_text(path)}, "row": ', f', "bytes": {size}, "sha256": "sha256:'
    return [f'{start}{n}{end}{sha256(view[k * size : (k + 1) * size]).hexdigest()}"}}' for k, n in enumerate(numbers)]


def stored_bytes(encoding: Encoding, size: tuple[int, int], container: str = "folder") -> int:
    """Return the estimated bytes of one stored image of (width, height)."""
    pixels = size[0] * size[1]
    if encoding.format == "png":
        return 3 * pixels if container == "hdf5" else round(PNG_BYTES * pixels) + FILE_BYTES
    # Bytes a pixel grow steeply with quality: 30 at q85, about 9 at q30, about 100 at q100.
    one = round(JPEG_BYTES * pixels * 2 ** ((encoding.quality - 85) / (8.5 if encoding.quality > 85 else 30)))
    return one + 700 + (FILE_BYTES if container == "folder" else 0)
