"""Read and write JSON Lines files. Each line is a record that is validated when it is read."""

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
from ..records.parsing import parse_record

LINE_CAP = 1 << 20
"""Limit on the size of a row in bytes. Rows usually have a few hundred bytes."""
R = TypeVar("R", bound=Record)


def json_line(record: Record) -> bytes:
    """Return a record as one line of JSON in UTF-8, with the fields in the order of the model."""
    return json.dumps(record.as_json(), ensure_ascii=False, separators=(", ", ": "), allow_nan=False).encode() + b"\n"


def damage_error(what: str) -> VerificationError:
    """Return the error for a damaged file, including the next step."""
    return VerificationError(f"{what}. Run `corruptset verify` on the dataset to list all problems.")


_MACHINE_ADVICE = {
    errno.EACCES: "Check its permissions.",
    errno.EPERM: "Check its permissions.",
    errno.EMFILE: "Raise the limit of open files (ulimit -n), or open fewer datasets at once.",
    errno.ENFILE: "The system has too many open files. Close some programs.",
    errno.EIO: "The disk reports an error. Check the disk, or copy the dataset to another one.",
    getattr(errno, "ESTALE", -1): "The network file system has lost the file. Mount the file system again.",
}


def read_error(path: Path, error: OSError) -> CorruptsetError:
    """Return the error for a file that cannot be read, because the dataset is damaged or the machine has a problem."""
    advice = _MACHINE_ADVICE.get(error.errno or 0)
    if advice is None:
        return damage_error(f"{path}: cannot be read ({error.strerror or error})")
    return MachineError(f"{path} cannot be read: {os.strerror(error.errno or 0)}. {advice}")


class BadLine(ValueError):
    """A line that is not a valid record. The message states the reason."""


def scan_jsonl(path: Path, model: type[R]) -> Iterator[R | BadLine]:
    """Yield a record or a `BadLine` for every line.

    At most `LINE_CAP` bytes are held in memory at a time. If the file cannot be read, an `OSError` is raised.
    """
    with open_regular(path) as f:
        number = 0
        while line := f.readline(LINE_CAP):
            number += 1
            if not line.endswith(b"\n"):
                reason = "is too long" if len(line) == LINE_CAP else "is truncated"
                yield BadLine(f"line {number} {reason}")
                return
            record, errors = parse_record(model, line)
            yield BadLine(f"line {number}: {'; '.join(errors)}") if record is None else record


def read_jsonl(path: Path, model: type[R]) -> Iterator[R]:
    """Yield the records of a JSON Lines file.

    Raises
    ------
    VerificationError
        The file is missing, or a line is not a record. The message names the line and the field.
    """
    try:
        for record in scan_jsonl(path, model):
            if isinstance(record, BadLine):
                raise damage_error(f"{path}: {record}")
            yield record
    except OSError as e:
        raise read_error(path, e) from e


def row_at(path: Path, model: type[R], index: int) -> R:
    """Return the record whose ``index`` is `index`, without reading the whole file.

    The rows must be sorted by index.

    Raises
    ------
    VerificationError
        No row has this index, or the row is not a record of this kind.
    """
    try:
        with open_regular(path) as f:

            def line_from(at: int) -> bytes:
                """Return the first line that begins at or after a byte offset."""
                f.seek(max(at - 1, 0))
                if at:
                    f.readline(LINE_CAP)
                return f.readline(LINE_CAP)

            size = f.seek(0, os.SEEK_END)
            line = line_from(bisect_left(range(size), index, key=lambda at: _index(line_from(at))))
    except OSError as e:
        raise read_error(path, e) from e
    if _index(line) != index:
        raise damage_error(f"{path}: there is no row {index}")
    record, errors = parse_record(model, line)
    if record is None:
        raise damage_error(f"{path}: row {index}: {'; '.join(errors)}")
    return record


def _index(line: bytes) -> int:
    """Return the index of a row: the largest integer for an empty line (the end of the file), or -1 for a bad row."""
    try:
        index = json.loads(line)["index"] if line else sys.maxsize
        return index if isinstance(index, int) else -1
    except (ValueError, KeyError, TypeError, RecursionError):
        return -1


class RowTable(Generic[R]):
    """The rows of a JSON Lines file. They are read on first access.

    Pickles do not include the rows, because it is faster to read the file again.

    Parameters
    ----------
    path : Path
        The file.
    model : type
        The model of the rows.
    counts : iterable of int
        The numbers of rows that other records state, such as the count of each set. Each must equal the number of rows
        in the file.
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
        """The records in the order of their index."""
        return list(self._read())

    def each(self) -> Iterator[R]:
        """Yield the records without keeping them in memory.

        If `records` has already read them, the file is not read again.
        """
        known: list[R] | None = self.__dict__.get("records")
        return self._read() if known is None else iter(known)

    def _read(self) -> Iterator[R]:
        number = 0
        for number, record in enumerate(read_jsonl(self._path, self._model), 1):
            if getattr(record, "index", None) != number - 1:
                raise self._not_in_order()
            yield record
        # with a missing or an extra row, images would get the labels of other images
        if self._counts - {number}:
            raise self._not_in_order()

    def _not_in_order(self) -> VerificationError:
        return damage_error(
            f"{self._path} does not contain the rows 0 to {max(self._counts, default=0) - 1} in this order"
        )

    def record(self, index: int) -> R:
        """Return one record without reading the whole file."""
        return row_at(self._path, self._model, index)
