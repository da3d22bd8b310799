"""The protocol for objects that provide the images of one set, and an implementation that reads images from disk."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from ...errors import VerificationError
from ...files import read_regular
from ...pixels import pixel_digest
from ..disk.atomic import path_inside
from ..disk.jsonl import damage_error, read_error
from ..images.image_formats import decode, stored_format
from ..images.shards import ShardCache
from ..paths import set_path
from ..records.digests import set_digest
from ..records.foreign_names import exists_in_other_form, unicode_advice
from ..records.models import ImageRecord, SetRecord, StoredRecord
from .record_columns import ImageRecordTable, RecordColumns, StoredAt

Pixels = NDArray[np.uint8]
Container = Literal["folder", "hdf5"]

BLOCK_BYTES = 16 << 20
"""The number of bytes of pixels that `ImageStore.images` reads or computes together."""


class ImageStore(Protocol):
    """The images of one set by index. Each image is (H, W, C) of uint8.

    A store is pickled for spawned workers and copied into forked workers. Each process opens its own files.
    """

    @property
    def encoding(self) -> str:
        """The format of the stored images, ``png`` or ``jpeg``."""

    @property
    def rows(self) -> Sequence[ImageRecord]:
        """The records of the images, by index."""

    def single(self, index: int) -> Pixels:
        """Return one image without reading the records of the others."""

    def images(self, indices: Sequence[int], block_bytes: int = BLOCK_BYTES) -> Iterator[Pixels]:
        """Yield images in the given order. At most `block_bytes` bytes of neighbouring images are read together."""

    def pixel_digest(self) -> str:
        """Return the digest of the set, which is computed from the pixels of all images before encoding."""

    def stored(self, index: int, prefer: Container | None = None) -> tuple[StoredRecord, Path | Pixels]:
        """Return the record of an image, and its file or its row in a shard (pixels or encoded bytes)."""


@contextmanager
def naming_damaged_file(path: Path) -> Iterator[None]:
    """While a damaged file is being read, replace any error with a single error that names the file."""
    try:
        yield
    except FileNotFoundError as e:
        if exists_in_other_form(path):
            message = f"{path} exists under a name in a different Unicode form. {unicode_advice(str(path))}"
            raise VerificationError(message) from e
        raise damage_error(f"{path} is missing") from e
    except OSError as e:
        raise read_error(path, e) from e
    # InvalidImage, NotAShard, and the errors that h5py raises for damaged files
    except (KeyError, ValueError, RuntimeError, IndexError) as e:
        raise damage_error(f"{path} cannot be read ({e})") from e


class StoredImages:
    """An `ImageStore` that reads images from the directory of a dataset.

    The parameter `prefer` has the same meaning as in `corruptset.open`.
    """

    def __init__(self, directory: Path, record: SetRecord, encoding: str, prefer: Container | None = None) -> None:
        self._directory, self._record, self._prefer = directory, record, prefer
        self._shards = ShardCache(directory)
        self._folders: set[str] = set()
        self.encoding = encoding

    @cached_property
    def _table(self) -> ImageRecordTable:
        return ImageRecordTable(
            path_inside(self._directory, set_path(self._record.id)), ImageRecord, [self._record.count]
        )

    @property
    def rows(self) -> RecordColumns:
        """The records of the images. They are read on first access."""
        return self._table.rows

    def single(self, index: int) -> Pixels:
        """Return one image without reading the records of the others."""
        files = self._table.record(index).files
        return self._read(self._choose(index, [StoredAt(f.path, f.row, f.bytes) for f in files]))

    def stored(self, index: int, prefer: Container | None = None) -> tuple[StoredRecord, Path | Pixels]:
        """Return the record of an image, and its file or its row in a shard."""
        chosen = self._choose(index, self.rows.places(index), prefer)
        stored = next(f for f in self.rows.files(index) if (f.path, f.row) == (chosen.path, chosen.row))
        return stored, self._file(chosen) if chosen.row is None else self._rows(chosen)[0]

    def images(self, indices: Sequence[int], block_bytes: int = BLOCK_BYTES) -> Iterator[Pixels]:
        """Yield images in the given order. Neighbouring rows of a shard of pixels are read together."""
        rows = self.rows
        start = 0
        while start < len(indices):
            first, count = self._choose(indices[start], rows.places(indices[start])), 1
            if first.row is not None and self.encoding == "png":
                block = indices[start + 1 : start + max(1, block_bytes // max(1, first.bytes))]
                for row, i in enumerate(block, first.row + 1):
                    stored = self._choose(i, rows.places(i))
                    if (stored.path, stored.row) != (first.path, row):
                        break
                    count += 1
            if count == 1:
                yield self._read(first)
            else:
                yield from self._rows(first, count)
            start += count

    def pixel_digest(self) -> str:
        """Return the digest of the set, or raise `VerificationError` if images are stored as JPEG."""
        if self.encoding != "png":
            raise VerificationError(
                f"{self._directory} stores images as {self.encoding.upper()}, so the pixels before encoding are not "
                "available for the digest. Use `corruptset verify`, which compares the stored bytes."
            )
        return set_digest(map(pixel_digest, self.images(range(self._record.count))))

    def _choose(self, index: int, places: Sequence[StoredAt], prefer: Container | None = None) -> StoredAt:
        """Return the location to read an image from, in the preferred container if there are two."""
        shard_first = (prefer or self._prefer or ("hdf5" if self.encoding == "png" else "folder")) == "hdf5"
        for place in places:
            if (place.row is not None) == shard_first:
                return place
        if not places:
            raise VerificationError(
                f"{self._directory}: according to its records, image {index} of set {self._record.id} is not stored. "
                "Run `corruptset verify` on the dataset."
            )
        return places[0]

    def _file(self, place: StoredAt) -> Path:
        return path_inside(self._directory, place.path, self._folders)

    def _read(self, place: StoredAt) -> Pixels:
        path = self._file(place)
        with naming_damaged_file(path):
            if place.row is None:
                return decode(read_regular(path, place.bytes), stored_format(place.path, self.encoding))
            row = self._rows(place)[0]
            return row if row.ndim == 3 else decode(row.data, self.encoding)

    def _rows(self, first: StoredAt, count: int = 1) -> Sequence[Pixels] | Pixels:
        """Return consecutive rows of a shard in their stored form."""
        path, start = self._file(first), first.row or 0
        with naming_damaged_file(path), self._shards.opened(first.path) as shard:
            rows = shard.block(start, start + count)
        # a short block means a shard with fewer rows than recorded
        if len(rows) != count:
            raise damage_error(f"{path} has fewer rows than recorded")
        return rows
