"""Read single images from the row groups of a Parquet file."""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from functools import lru_cache
from itertools import accumulate
from pathlib import Path
from typing import Any, cast

from ...errors import SourceError
from .decoding import MAX_FILE_BYTES, TOO_LARGE, BadSample
from .parquet_columns import open_parquet
from .tar_archives import FileVersion, file_version, reading_errors

BATCH_BYTES = 4 << 20
"""Size of a batch in bytes, if all images in a row group have the same size."""
MAX_BATCH = 256
"""Limit on the rows of a batch."""


def image_rows(path: str, version: FileVersion, column: str) -> ImageRowReader:
    """Return this process's reader for one version of a file. Forked processes must not share file handles."""
    return _reader(path, version, column, os.getpid())


@lru_cache(maxsize=2)
def _reader(path: str, version: FileVersion, column: str, process: int) -> ImageRowReader:
    return ImageRowReader(Path(path), column)


class ImageRowReader:
    """The images in a column. They are read in batches of neighbouring rows."""

    def __init__(self, path: Path, column: str) -> None:
        self._path, self._column = path, column
        self._open()

    def _open(self) -> None:
        with reading_errors(self._path):
            self._version = file_version(self._path)
        self._stack = ExitStack()
        self._parquet: Any = self._stack.enter_context(open_parquet(self._path))
        metadata = self._parquet.metadata
        groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
        self._starts = [0, *accumulate(group.num_rows for group in groups)]
        row_bytes = max((self._group_bytes(group) // max(1, group.num_rows) for group in groups), default=0)
        self._batch = max(1, min(MAX_BATCH, BATCH_BYTES // max(1, row_bytes)))
        self._first = 0
        self._rows: Sequence[bytes | None] = ()
        self._next_group = 0
        """The number of the first row group that the current batches do not reach."""
        self._batches: Iterator[Any] = iter(())
        self._damaged = False
        """True if the file has a damaged row group. Batches then contain rows of one row group only."""
        self._failed: dict[int, tuple[int, str]] = {}
        """For each damaged row group, the first row that cannot be read, and the error message."""

    def _group_bytes(self, group: Any) -> int:
        leaf = f"{self._column}.bytes"
        chunks = [group.column(number) for number in range(group.num_columns)]
        return sum(max(c.total_uncompressed_size, c.total_compressed_size) for c in chunks if c.path_in_schema == leaf)

    def __getitem__(self, row: int) -> bytes:
        if not self._first <= row < self._first + len(self._rows):
            self._read_batch(row)
        data = self._rows[row - self._first]
        if data is None:
            raise BadSample(
                "has no image in its column, or only a path to one, which is not read: save the dataset with its images"
            )
        if len(data) > MAX_FILE_BYTES:
            raise BadSample(TOO_LARGE)
        return data

    def _read_batch(self, row: int) -> None:
        """Read the batch that contains a row. A file that was replaced is opened again."""
        with reading_errors(self._path):
            version = file_version(self._path)
        if version != self._version:
            self._open()
        group = bisect_right(self._starts, row) - 1
        if group >= len(self._starts) - 1:
            raise SourceError(f"{self._path} has fewer rows than before.")
        if group in self._failed and row >= self._failed[group][0]:
            raise SourceError(self._failed[group][1])
        end = self._first + len(self._rows)
        if row < end or group >= self._next_group or self._starts[group] > end:
            self._start(group)
        first, rows = self._first, cast(Any, self._rows)
        while row >= first + len(rows):
            first += len(rows)
            self._first, self._rows = first, ()
            try:
                rows = next(self._batches).column(self._column).field("bytes")
            except Exception as e:  # pyarrow raises many kinds of errors for damaged pages
                self._next_group = 0
                if not self._damaged:  # another row group may be the damaged one
                    self._damaged = True
                    return self._read_batch(row)
                reason = "it has fewer rows than it states" if isinstance(e, StopIteration) else str(e)[:200]
                self._failed[group] = first, f"{self._path} is damaged ({reason}). Download it again."
                raise SourceError(self._failed[group][1]) from None
        self._rows = rows.to_pylist()

    def _start(self, group: int) -> None:
        """Begin to read batches at a row group."""
        self._first, self._rows = self._starts[group], ()
        self._next_group = group + 1 if self._damaged else len(self._starts) - 1
        self._batches = self._parquet.iter_batches(
            self._batch,
            row_groups=list(range(group, self._next_group)),
            columns=[f"{self._column}.bytes"],
            use_threads=False,
        )
