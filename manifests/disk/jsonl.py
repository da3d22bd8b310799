"""JSON lines: one record a line, checked when it is read."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar

from ...errors import VerificationError
from ...files import open_regular
from ..records.models import Record
from ..records.parsing import record_or_mistakes

LINE_CAP = 1 << 20
"""Bytes of one row; real rows have a few hundred."""
R = TypeVar("R", bound=Record)


def json_line(record: Record) -> bytes:
    """Return a record as one line of JSON, fields in the model's order, UTF-8."""
    return json.dumps(record.as_json(), ensure_ascii=False, separators=(", ", ": "), allow_nan=False).encode() + b"\n"


class BadLine(ValueError):
    """A row of a JSON lines file that is not a record; `line` counts from 1."""

    def __init__(self, line: int, problem: str) -> None:
        super().__init__(f"line {line}: {problem}")
        self.line = line


def scan_jsonl(path: Path, model: type[R]) -> Iterator[R | BadLine]:
    """Yield a record or a BadLine for every line, never more than LINE_CAP bytes in memory; OSError where it cannot be read."""
    with open_regular(path) as f:
        number = 0
        while line := f.readline(LINE_CAP):
            number += 1
            if not line.endswith(b"\n"):
                cut = "is longer than any row is" if len(line) == LINE_CAP else "does not end: the file is cut off"
                yield BadLine(number, cut)
                return
            record, mistakes = record_or_mistakes(model, line)
            yield BadLine(number, "; ".join(mistakes)) if record is None else record


def row_at(path: Path, model: type[R], index: int) -> R:
    """Return the record with an ``index``, of a file whose rows are numbered upwards from 0, without reading the others.

    VerificationError: there is none, or it is not a record of this kind.
    """
    try:
        with open_regular(path) as f:
            low, high = 0, f.seek(0, os.SEEK_END)  # the row begins in this range
            while low < high:
                middle = (low + high) // 2
                f.seek(middle)
                if middle:
                    f.seek(middle - 1)
                    f.readline(LINE_CAP)
                begin = f.tell()
                line = f.readline(LINE_CAP)
                if begin >= high or _index(line) > index:
                    high = middle
                elif _index(line) == index:
                    record, mistakes = record_or_mistakes(model, line)
                    if record is None:
                        raise VerificationError(f"{path}: row {index}: {'; '.join(mistakes)}. Run `corruptset verify` on the data set.")
                    return record
                else:
                    low = begin + len(line)
    except OSError as e:
        raise VerificationError(f"{path}: cannot be read ({e.strerror}). Run `corruptset verify` on the data set.") from e
    raise VerificationError(f"{path}: there is no row {index}. Run `corruptset verify` on the data set.")


def _index(line: bytes) -> int:
    """Return the number of a row; of what is none, -1: it is then looked for elsewhere, and not found."""
    try:
        index = json.loads(line)["index"]
    except (ValueError, KeyError, TypeError):
        return -1
    return index if isinstance(index, int) else -1


def read_jsonl(path: Path, model: type[R]) -> Iterator[R]:
    """Yield the records of a JSON lines file; VerificationError says which line and field is not a record, or that there is no file."""
    try:
        for record in scan_jsonl(path, model):
            if isinstance(record, BadLine):
                raise VerificationError(f"{path}: {record}. Run `corruptset verify` on the data set for everything that is wrong.")
            yield record
    except OSError as e:
        raise VerificationError(f"{path}: cannot be read ({e.strerror}). Run `corruptset verify` on the data set.") from e
