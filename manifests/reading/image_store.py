"""Where the images of one set come from: what an `ImageSet` asks of it, and the store that reads a disk."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from ...errors import VerificationError
from ...files import read_regular
from ...pixels import pixel_digest
from ..disk.atomic import inside
from ..disk.jsonl import read_jsonl, row_at
from ..images.pictures import decode, stored_format
from ..images.shards import ShardCache
from ..layout import set_path
from ..records.digests import set_digest
from ..records.models import ImageRecord, SetRecord, StoredRecord

Pixels = NDArray[np.uint8]
Container = Literal["folder", "hdf5"]

BLOCK_BYTES = 16 << 20
"""How many bytes of pixels `ImageStore.images` reads or makes at once."""


class ImageStore(Protocol):
    """The images of one set, by their index, 0 to N - 1, which the caller has checked. An image is (H, W, C) of uint8, C 1 or 3.

    A store is pickled into spawned workers and copied into forked ones. What belongs to one process, open files above all, does not
    travel: each process opens its own.
    """

    @property
    def encoding(self) -> str:
        """``png`` or ``jpeg``: how the images are encoded, or would be if they were stored."""

    @property
    def rows(self) -> list[ImageRecord]:
        """The records of the images, by index."""

    def single(self, index: int) -> Pixels:
        """Return one image, for a caller who wants a few: what is shared by all images is not read for it."""

    def images(self, indices: Sequence[int], block_bytes: int = BLOCK_BYTES) -> Iterator[Pixels]:
        """Yield images in the given order; neighbours may be read or made together, at most so many bytes at a time."""

    def pixel_digest(self) -> str:
        """Return the set's digest, of the pixels of all images before they were encoded."""

    def stored(self, index: int, prefer: Container | None = None) -> tuple[StoredRecord, Path | Pixels]:
        """Return where an image is stored: its record, and its file or the row as stored (pixels, or 1-D encoded bytes)."""


def damaged(path: Path, why: str) -> VerificationError:
    """Return the error that names a damaged file and the next step."""
    return VerificationError(f"{path} {why}. Run `corruptset verify` on the data set for everything that is wrong.")


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Turn what reading a damaged file raises into one error that names it and the next step."""
    try:
        yield
    except FileNotFoundError as e:
        raise damaged(path, "is missing") from e
    # NotAPicture, NotAShard, and what h5py raises on damaged files
    except (OSError, KeyError, ValueError, RuntimeError, IndexError) as e:
        raise damaged(path, f"cannot be read ({e})") from e


class StoredImages:
    """An `ImageStore` of a data set's directory; `prefer` as in `corruptset.open`."""

    def __init__(self, directory: Path, record: SetRecord, encoding: str, prefer: Container | None = None) -> None:
        self._directory = directory
        self._record = record
        self._prefer = prefer
        self._shards = ShardCache(directory)
        self._folders: set[str] = set()
        self.encoding = encoding

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in self.__dict__.items() if key != "rows"}

    @cached_property
    def rows(self) -> list[ImageRecord]:
        """The records of the images; read when first used."""
        rows = list(read_jsonl(self._rows_path, ImageRecord))
        if [r.index for r in rows] != list(range(self._record.count)):
            raise damaged(self._rows_path, f"does not hold rows 0 to {self._record.count - 1} in order")
        return rows

    @property
    def _rows_path(self) -> Path:
        return inside(self._directory, set_path(self._record.id))

    def single(self, index: int) -> Pixels:
        """Return one image; the records of the others are not read."""
        return self._read(self._choose(row_at(self._rows_path, ImageRecord, index)))

    def stored(self, index: int, prefer: Container | None = None) -> tuple[StoredRecord, Path | Pixels]:
        """Return where an image is stored, and its file or its row."""
        stored = self._choose(self.rows[index], prefer)
        return stored, self._file(stored) if stored.row is None else self._row(stored)

    def images(self, indices: Sequence[int], block_bytes: int = BLOCK_BYTES) -> Iterator[Pixels]:
        """Yield images in the given order; neighbouring rows of a shard of pixels are read together."""
        rows = self.rows
        places = [self._choose(rows[i]) for i in indices]
        start = 0
        while start < len(places):
            first, count = places[start], 1
            if first.row is not None and self.encoding == "png":
                most = min(len(places) - start, max(1, block_bytes // max(1, first.bytes)))
                while count < most and _follows(first, places[start + count], count):
                    count += 1
            if first.row is None or count == 1:
                yield self._read(first)
            else:
                path = self._file(first)
                with explained(path), self._shards.opened(first.path) as shard:
                    block = shard.block(first.row, first.row + count)
                # a short block means a shard with fewer rows than recorded
                if len(block) != count:
                    raise damaged(path, "has fewer rows than recorded")
                yield from block
            start += count

    def pixel_digest(self) -> str:
        """Return the set's digest, of the pixels of all images; VerificationError where those that were encoded are not stored."""
        if self.encoding != "png":
            raise VerificationError(
                f"{self._directory} has images as {self.encoding.upper()}, and digests are of the pixels before that. "
                "`corruptset verify` compares the stored bytes."
            )
        return set_digest(map(pixel_digest, self.images(range(self._record.count))))

    def _choose(self, row: ImageRecord, prefer: Container | None = None) -> StoredRecord:
        """Return the place to read an image from: in the preferred container, where it is in that one."""
        prefer = prefer or self._prefer or ("hdf5" if self.encoding == "png" else "folder")
        by_container = {"folder" if f.row is None else "hdf5": f for f in row.files}
        if not by_container:
            raise VerificationError(f"{self._directory}: image {row.index} of set {self._record.id} is stored nowhere, say its records.")
        return by_container.get(prefer) or next(iter(by_container.values()))

    def _file(self, stored: StoredRecord) -> Path:
        return inside(self._directory, stored.path, self._folders)

    def _read(self, stored: StoredRecord) -> Pixels:
        path = self._file(stored)
        with explained(path):
            if stored.row is None:
                return decode(read_regular(path, stored.bytes), stored_format(stored.path, self.encoding))
            row = self._row(stored)
            return row if row.ndim == 3 else decode(row.data, self.encoding)

    def _row(self, stored: StoredRecord) -> Pixels:
        """Return a row as it is stored."""
        with explained(self._file(stored)), self._shards.opened(stored.path) as shard:
            return shard.row(stored.row or 0)


def _follows(first: StoredRecord, other: StoredRecord, steps: int) -> bool:
    return other.path == first.path and first.row is not None and other.row == first.row + steps
