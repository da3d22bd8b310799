"""A CSV file as a table: UTF-8, commas, a line of names first, then a line an image of a set."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...files import open_regular
from .table import NAMES, BadTable, Column, Table

MOST_LINE = 1 << 20
"""Characters of a line."""
BLOCK_CELLS = 1 << 16
_NUMBERED = {
    "top": (re.compile(r"top([1-9]\d{0,6})"), 1),
    "logits": (re.compile(r"logit_(\d{1,7})"), 0),
    "probs": (re.compile(r"prob_(\d{1,7})"), 0),
}
"""Column of several values -> the names of its parts in the file, and the number of the first one."""
_TYPES = {"U": np.dtype(np.str_), "iu": np.dtype(np.int64), "f": np.dtype(np.float64)}


class CsvFile(Table):
    """An open CSV file.

    Raises
    ------
    BadTable
        Its first line does not name columns.
    OSError
        It cannot be read.
    """

    def __init__(self, path: Path) -> None:
        self._file = io.TextIOWrapper(open_regular(path), encoding="utf-8-sig", newline="")
        try:
            self._names = next(self._lines(), [])
            self._places = _places(self._names)
        except BaseException:
            self._file.close()
            raise
        self.columns = {
            name: Column(_TYPES[NAMES[name]], len(places) if name in _NUMBERED else None, None) for name, places in self._places.items()
        }

    def _lines(self) -> Iterator[list[str]]:
        self._file.seek(0)
        try:
            for cells in csv.reader(_bounded(self._file)):
                if cells:
                    yield cells
        except (csv.Error, UnicodeDecodeError) as e:
            raise BadTable(f"is not a CSV file in UTF-8 ({e})") from None

    def blocks(self, names: Sequence[str]) -> Iterator[dict[str, NDArray[Any]]]:
        lines = islice(self._lines(), 1, None)
        count, first = max(1, BLOCK_CELLS // len(self._names)), 0
        while block := list(islice(lines, count)):
            for row, cells in enumerate(block, first):
                if len(cells) != len(self._names):
                    raise BadTable(f"has {len(cells)} cells in {self.place(row)}; its first line has {len(self._names)}")
            yield {name: self._column(name, block, first) for name in names}
            first += len(block)

    def _column(self, name: str, block: list[list[str]], first: int) -> NDArray[Any]:
        dtype = self.columns[name].dtype
        parts = []
        for place in self._places[name]:
            cells = [line[place] for line in block]
            try:
                parts.append(np.array(cells, dtype))
            except (ValueError, OverflowError):
                row, cell = _first_that_is_none(int if dtype.kind == "i" else float, cells)
                wanted = "a whole number" if dtype.kind == "i" else "a number"
                raise BadTable(
                    f"has {cell[:50]!r} in column {self._names[place]} of {self.place(first + row)}; expected {wanted}"
                ) from None
        return np.stack(parts, axis=1) if name in _NUMBERED else parts[0]

    def place(self, row: int) -> str:
        """Return where a row stands in the file, where no line is empty or has a line break within quotes."""
        return f"line {row + 2:,}"


def _bounded(file: io.TextIOWrapper) -> Iterator[str]:
    """Yield lines; one without an end is not read whole."""
    while line := file.readline(MOST_LINE):
        if len(line) == MOST_LINE:
            raise BadTable(f"has a line of more than {MOST_LINE:,} characters")
        yield line


def _places(names: list[str]) -> dict[str, list[int]]:
    """Return the columns that a first line names, and where their parts stand."""
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise BadTable(f"names the column {twice!r} twice")
    places = {name: [names.index(name)] for name in NAMES if name not in _NUMBERED and name in names}
    for name, (pattern, begin) in _NUMBERED.items():
        found = {int(match[1]): place for place, given in enumerate(names) if (match := pattern.fullmatch(given))}
        if found and sorted(found) != list(range(begin, begin + len(found))):
            missing = next(number for number in range(begin, begin + len(found)) if number not in found)
            example = next(given for given in names if pattern.fullmatch(given))
            raise BadTable(f"has columns such as {example}, and none with the number {missing}")
        if found:
            places[name] = [found[number] for number in sorted(found)]
    return places


def _first_that_is_none(number: Callable[[str], object], cells: list[str]) -> tuple[int, str]:
    for row, cell in enumerate(cells):
        try:
            number(cell)
        except ValueError:
            return row, cell
    return 0, max(cells, key=len)  # a whole number beyond int64
