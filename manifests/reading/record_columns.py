"""A compact table of the records of a set's images, for datasets with many sets or large sets."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from functools import cached_property
from operator import eq
from typing import NamedTuple, overload

from ..disk.jsonl import RowTable
from ..records.models import ImageRecord, StoredRecord

_PIXELS, _SHA256 = "blake3:", "sha256:"
_DIGEST = 32
"""Size of a digest in bytes."""


class StoredAt(NamedTuple):
    """The location of a stored image: a file, or a row of a shard."""

    path: str
    row: int | None
    bytes: int


class RecordColumns(Sequence[ImageRecord]):
    """The image records of one set, by index.

    Records are created on access. The table needs 36 bytes per image, and 44 bytes per file or row of a shard. Each
    file needs another 8 bytes and its name without folders. A list of pydantic models would need more than ten times as
    much memory. Forked workers would also copy such a list, because reading an object changes its reference count.

    Parameters
    ----------
    records : iterable of ImageRecord
        Records whose indices count up from 0.
    """

    def __init__(self, records: Iterable[ImageRecord]) -> None:
        pixels, sha256 = bytearray(), bytearray()
        first, path_of, after_row, sizes, folder_of, ends = (array("Q") for _ in range(6))
        paths: dict[str, int] = {}
        first.append(0)
        for record in records:
            pixels += bytes.fromhex(record.pixels.removeprefix(_PIXELS))
            for stored in record.files:
                sha256 += bytes.fromhex(stored.sha256.removeprefix(_SHA256))
                path_of.append(paths.setdefault(stored.path, len(paths)))
                after_row.append(0 if stored.row is None else stored.row + 1)
                sizes.append(stored.bytes)
            first.append(len(sizes))
        folders: dict[str, int] = {}
        names = bytearray()
        ends.append(0)
        for path in paths:
            folder, slash, name = path.rpartition("/")
            folder_of.append(folders.setdefault(folder + slash, len(folders)))
            names += name.encode()
            ends.append(len(names))
        self._pixels, self._sha256, self._names = bytes(pixels), bytes(sha256), bytes(names)
        self._folders = list(folders)
        self._first, self._path_of, self._after_row = _pack(first), _pack(path_of), _pack(after_row)
        self._sizes, self._folder_of, self._ends = _pack(sizes), _pack(folder_of), _pack(ends)

    def __len__(self) -> int:
        return len(self._first) - 1

    @overload
    def __getitem__(self, index: int) -> ImageRecord: ...
    @overload
    def __getitem__(self, index: slice) -> list[ImageRecord]: ...
    def __getitem__(self, index: int | slice) -> ImageRecord | list[ImageRecord]:
        if isinstance(index, slice):
            return [self[i] for i in range(len(self))[index]]
        i = range(len(self))[index]
        digest = self._pixels[_DIGEST * i : _DIGEST * (i + 1)].hex()
        # the values were validated when the file was read
        return ImageRecord.model_construct(index=i, pixels=_PIXELS + digest, files=self.files(i))

    def files(self, index: int) -> list[StoredRecord]:
        """Return the records of the files and rows that store an image."""
        return [
            StoredRecord.model_construct(
                **place._asdict(), sha256=_SHA256 + self._sha256[_DIGEST * number : _DIGEST * (number + 1)].hex()
            )
            for number, place in enumerate(self.places(index), self._first[index])
        ]

    def places(self, index: int) -> list[StoredAt]:
        """Return the locations of an image, in the order of its records."""
        found = []
        for number in range(self._first[index], self._first[index + 1]):
            path, after_row = self._path_of[number], self._after_row[number]
            name = self._names[self._ends[path] : self._ends[path + 1]].decode()
            folder = self._folders[self._folder_of[path]]
            found.append(StoredAt(folder + name, after_row - 1 if after_row else None, self._sizes[number]))
        return found

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and len(self) == len(other) and all(map(eq, self, other))

    __hash__ = None  # type: ignore[assignment]  # a list has no hash either

    def __repr__(self) -> str:
        return f"<RecordColumns: {len(self)} images>"


def _pack(numbers: array[int]) -> array[int]:
    """Return an array of the same numbers with 4 bytes per number if all numbers fit, or else 8 bytes."""
    return array("I" if max(numbers, default=0) < 1 << 32 else "Q", numbers)


class ImageRecordTable(RowTable[ImageRecord]):
    """The rows of ``sets/<set id>.jsonl``. They are read on first access."""

    @cached_property
    def rows(self) -> RecordColumns:
        """The records by index."""
        return RecordColumns(self.each())
