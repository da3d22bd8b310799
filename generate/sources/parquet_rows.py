"""Read single images from the row groups of a Parquet file."""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Iterator
from contextlib import ExitStack
from functools import lru_cache
from itertools import accumulate
from pathlib import Path
from typing import Any

from ...errors import SourceError
from .decoding import MAX_FILE_BYTES, TOO_LARGE, BadSample
from .parquet_columns import opened
from .tar_archives import FileVersion, file_version, reading_errors

KEPT_BYTES = 32 << 20
KEPT_ROWS = 4096
"""Row groups up to this size are kept in memory. Larger ones are read in batches."""
BATCH_BYTES = 4 << 20
"""Size of a batch, if all images of the row group have the same size."""
MAX_BATCH = 256
"""Limit on the rows of a batch."""


def image_rows(path: Path, column: str) -> ImageRowReader:
    """Return the reader of a file in this process. A changed file gets another one."""
    with reading_errors(path):
        return _reader(path, column, file_version(path), os.getpid())


@lru_cache(maxsize=2)
def _reader(path: Path, column: str, file_version: FileVersion, process: int) -> ImageRowReader:
    return ImageRowReader(path, column)


class ImageRowReader:
    """The images of a column, of which neighbouring rows are read at once."""

    def __init__(self, path: Path, column: str) -> None:
        self._path, self._column = path, column
        self._stack = ExitStack()
        self._parquet: Any = self._stack.enter_context(opened(path))
        metadata = self._parquet.metadata
        counts = [metadata.row_group(group).num_rows for group in range(metadata.num_row_groups)]
        self._starts = [0, *accumulate(counts)]
        self._bytes = [self._group_bytes(metadata.row_group(group)) for group in range(metadata.num_row_groups)]
        self._group = -1
        self._first = 0
        self._rows: Any = ()
        self._batches: Iterator[Any] = iter(())
        self._failed: dict[int, tuple[int, str]] = {}
        """Row group -> first row that cannot be read, and the reason."""

    def _group_bytes(self, group: Any) -> int:
        leaf = f"{self._column}.bytes"
        chunks = [group.column(number) for number in range(group.num_columns)]
        sizes = [max(c.total_uncompressed_size, c.total_compressed_size) for c in chunks if c.path_in_schema == leaf]
        return sum(sizes)

    def __getitem__(self, row: int) -> bytes:
        if not self._first <= row < self._first + len(self._rows):
            self._move(row)
        value = self._rows[row - self._first]
        if not value.is_valid:
            raise BadSample(
                "has no image in its column, or only a path to one, which is not read: save the dataset with its images"
            )
        data = value.as_buffer()
        if data.size > MAX_FILE_BYTES:
            raise BadSample(TOO_LARGE)
        return bytes(data)

    def _move(self, row: int) -> None:
        """Read the batch that contains a row."""
        group = bisect_right(self._starts, row) - 1
        if group >= len(self._bytes):
            raise SourceError(f"{self._path} has fewer rows than before.")
        failed = self._failed.get(group)
        if failed is not None and row >= failed[0]:
            raise SourceError(failed[1])
        if group != self._group or row < self._first:
            self._group, self._first, self._rows = group, self._starts[group], ()
            count = self._starts[group + 1] - self._starts[group]
            size = count
            if self._bytes[group] > KEPT_BYTES or count > KEPT_ROWS:
                size = max(1, min(MAX_BATCH, BATCH_BYTES * count // max(1, self._bytes[group])))
            self._batches = self._parquet.iter_batches(
                size, row_groups=[group], columns=[f"{self._column}.bytes"], use_threads=False
            )
        while row >= self._first + len(self._rows):
            self._first += len(self._rows)
            self._rows = ()
            try:
                self._rows = next(self._batches).column(self._column).field("bytes")
            except Exception as e:  # pyarrow raises many kinds of errors for damaged pages
                self._group = -1
                what = "it has fewer rows than it states" if isinstance(e, StopIteration) else str(e)[:200]
                self._failed[group] = self._first, f"{self._path} is damaged ({what}). Download it again."
                raise SourceError(self._failed[group][1]) from None
