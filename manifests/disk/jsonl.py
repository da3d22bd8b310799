"""JSON lines: one record a line, checked when it is read."""

from __future__ import annotations

import errno
import json
import os
import sys
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Any, Generic, TypeVar

from ...errors import CorruptsetError, MachineError, VerificationError
from ...files import open_regular
from ..records.models import Record
from ..records.parsing import record_or_mistakes

LINE_CAP = 1 << 20
"""Bytes of one row; real rows have a few hundred."""
R = TypeVar("R", bound=Record)


def json_line(record: Record) -> bytes:
    """Return a record as one line of JSON, fields in the model's order, UTF-8."""
    return json.dumps(record.as_json(), ensure_ascii=False, separators=(", ", ": "), allow_nan=False).encode() + b"\n"


def damaged(what: str) -> VerificationError:
    """Return the error of a damaged file, with the next step."""
    return VerificationError(f"{what}. Run `corruptset verify` on the data set for everything that is wrong.")


_MACHINE_ADVICE = {
    errno.EACCES: "Check its permissions.",
    errno.EPERM: "Check its permissions.",
    errno.EMFILE: "Raise the limit of open files (ulimit -n), or open fewer datasets at once.",
    errno.ENFILE: "The system has too many open files: close some programs.",
    errno.EIO: "The disk reports an error: check it, or copy the dataset to another disk.",
    getattr(errno, "ESTALE", -1): "The network file system has lost the file: mount it again.",
}


def unreadable(path: Path, error: OSError) -> CorruptsetError:
    """Return the error of a file that cannot be read: damage of the dataset, or a problem of the machine."""
    advice = _MACHINE_ADVICE.get(error.errno or 0)
    if advice is None:
        return damaged(f"{path}: cannot be read ({error.strerror or error})")
    return MachineError(f"{path} cannot be read: {os.strerror(error.errno or 0)}. {advice}")


class BadLine(ValueError):
    """A row of a JSON lines file that is not a record, and why."""


def scan_jsonl(path: Path, model: type[R]) -> Iterator[R | BadLine]:
    """Yield a record or a BadLine for every line.

    Never more than LINE_CAP bytes are in memory. OSError: it cannot be read.
    """
    with open_regular(path) as f:
        number = 0
        while line := f.readline(LINE_CAP):
            number += 1
            if not line.endswith(b"\n"):
                cut = "is longer than any row is" if len(line) == LINE_CAP else "does not end: the file is cut off"
                yield BadLine(f"line {number}: {cut}")
                return
            record, mistakes = record_or_mistakes(model, line)
            yield BadLine(f"line {number}: {'; '.join(mistakes)}") if record is None else record


def read_jsonl(path: Path, model: type[R]) -> Iterator[R]:
    """Yield the records of a JSON lines file.

    VerificationError says which line and field is not a record, or that there is no file.
    """
    try:
        for record in scan_jsonl(path, model):
            if isinstance(record, BadLine):
                raise damaged(f"{path}: {record}")
            yield record
    except OSError as e:
        raise unreadable(path, e) from e


def row_at(path: Path, model: type[R], index: int) -> R:
    """Return the record with an ``index``, without reading the others.

    Rows are numbered upwards from 0.

    VerificationError: there is none, or it is not a record of this kind.
    """
    try:
        with open_regular(path) as f:

            def line_from(at: int) -> bytes:
                """Return the first line that begins at a byte or behind it."""
                f.seek(max(at - 1, 0))
                if at:
                    f.readline(LINE_CAP)
                return f.readline(LINE_CAP)

            size = f.seek(0, os.SEEK_END)
            line = line_from(bisect_left(range(size), index, key=lambda at: _index(line_from(at))))
    except OSError as e:
        raise unreadable(path, e) from e
    if _index(line) != index:
        raise damaged(f"{path}: there is no row {index}")
    record, mistakes = record_or_mistakes(model, line)
    if record is None:
        raise damaged(f"{path}: row {index}: {'; '.join(mistakes)}")
    return record


def _index(line: bytes) -> int:
    """Return the number of a row.

    Behind the last, a huge one; of what is no row, -1: it is looked for elsewhere, and not found.
    """
    try:
        index = json.loads(line)["index"] if line else sys.maxsize
        return index if isinstance(index, int) else -1
    except (ValueError, KeyError, TypeError, RecursionError):
        return -1


class RowTable(Generic[R]):
    """The numbered rows of a file of records, read when first used.

    `counts` are how many there have to be, all the same number. What was read is not pickled: reading it again is
    cheaper.
    """

    def __init__(self, path: Path, model: type[R], counts: Iterable[int]) -> None:
        self._path, self._model, self._counts = path, model, frozenset(counts)

    def __getstate__(self) -> dict[str, Any]:
        return {
            key: value
            for key, value in self.__dict__.items()
            if not isinstance(getattr(type(self), key, None), cached_property)
        }

    @cached_property
    def records(self) -> list[R]:
        """The records, by index."""
        return list(self._read())

    def each(self) -> Iterator[R]:
        """Yield the records without keeping them; those that `records` has read already are not read again."""
        known: list[R] | None = self.__dict__.get("records")
        return self._read() if known is None else iter(known)

    def _read(self) -> Iterator[R]:
        number = 0
        for number, record in enumerate(read_jsonl(self._path, self._model), 1):
            if getattr(record, "index", None) != number - 1:
                raise self._not_in_order()
            yield record
        # a row too few or too many would give images the labels of others
        if self._counts - {number}:
            raise self._not_in_order()

    def _not_in_order(self) -> VerificationError:
        return damaged(f"{self._path} does not hold rows 0 to {max(self._counts, default=0) - 1} in order")

    def record(self, index: int) -> R:
        """Return one of `records`, without reading the others."""
        return row_at(self._path, self._model, index)
