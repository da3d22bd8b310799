"""A file of predictions as a table: columns of the same rows, read a block of rows at a time."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .reduction import COLUMNS, KINDS, Kind

BLOCK_BYTES = 1 << 19
"""Of the widest column in a block: with what is computed of it, it stays in a processor's cache."""
MOST_ROWS = 1 << 14
"""In a block."""
NAMES = {"set_id": "U", "id": "U", "index": "iu", "logits": "f", "probs": "f", "top": "iu", "rank_true": "iu", "p_true": "f"}
"""Column -> numpy's letters for what it may hold."""
MOST_TEXT_BYTES = 4 * 4096
"""Of a name in a column of text: the longest path."""
_WIDE = ("logits", "probs", "top")
_KINDS_OF_NUMBERS = {"f": "float16, float32 or float64", "iu": "whole numbers (int64)", "U": "text of a fixed width"}


class BadTable(Exception):
    """A file that is no table of predictions; the message says why, as what follows the file's name."""


@dataclass(frozen=True)
class Column:
    """What stands in a column."""

    dtype: np.dtype[Any]
    width: int | None
    """Values in a row of a column of several."""
    rows: int | None
    """None where only reading tells."""


class Table(ABC):
    """An open file of predictions, with the columns that it has of `NAMES`."""

    columns: Mapping[str, Column]
    _file: Any

    @abstractmethod
    def blocks(self, names: Sequence[str]) -> Iterator[dict[str, NDArray[Any]]]:
        """Yield some columns, a block of rows at a time; a block's arrays may be used again for the next one.

        Raises
        ------
        BadTable
            The file is damaged, a line has other cells than the first one, or a cell is not a number.
        """

    @abstractmethod
    def place(self, row: int) -> str:
        """Return where a row stands in the file: ``row 7``, ``line 9``."""

    def close(self) -> None:
        """Close the file."""
        self._file.close()


@dataclass(frozen=True)
class Layout:
    """What a table's columns say together."""

    kind: Kind
    rows: int | None
    key: str | None
    """``index`` or ``id``; None where rows stand in the data set's order."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns to be read."""
        return (*COLUMNS[self.kind], *([self.key] if self.key else []))


def layout(table: Table, classes: int) -> tuple[Layout | None, list[str]]:
    """Return what a table's columns say, or all that is wrong with them, as what follows the file's name."""
    columns = table.columns
    kinds = [kind for kind in KINDS if any(name in columns for name in COLUMNS[kind])]
    if not kinds:
        return None, [f"holds no predictions: it has {', '.join(columns) or 'no column that is known'}; expected {_EXPECTED}"]
    problems = []
    if len(kinds) > 1:
        given = " and ".join(name for kind in kinds for name in COLUMNS[kind] if name in columns)
        problems.append(f"holds {given}, which are {len(kinds)} kinds of predictions: write one of {_EXPECTED}")
    elif missing := [name for name in COLUMNS[kinds[0]] if name not in columns]:
        there = next(name for name in COLUMNS[kinds[0]] if name in columns)
        problems.append(f"holds {there} without {missing[0]}: the two belong together")
    if {"index", "id"} <= columns.keys():
        problems.append("holds both index and id: write one of them")
    problems += [text for name, column in columns.items() for text in _column_problems(name, column, classes)]
    counts = {name: column.rows for name, column in columns.items()}
    if len(set(counts.values())) > 1:
        problems.append("has columns of different lengths: " + ", ".join(f"{name} {rows:,}" for name, rows in counts.items()))
    key = next((name for name in ("index", "id") if name in columns), None)
    return (None if problems else Layout(kinds[0], columns[COLUMNS[kinds[0]][0]].rows, key)), problems


_EXPECTED = "logits, probs, top, or rank_true with p_true"


def _column_problems(name: str, column: Column, classes: int) -> Iterator[str]:
    if column.dtype.kind not in NAMES[name] or (column.dtype.kind == "f" and column.dtype.itemsize > 8):
        yield f"has {name} of {column.dtype}; expected {_KINDS_OF_NUMBERS[NAMES[name]]}{_remedy(name, column.dtype)}"
    elif column.dtype.kind == "U" and column.dtype.itemsize > MOST_TEXT_BYTES:
        yield f"has {name} of {column.dtype.itemsize // 4:,} characters; a name has at most {MOST_TEXT_BYTES // 4:,}"
    if (name in _WIDE) != (column.width is not None):
        shape = "(N, classes)" if name in _WIDE else "(N,)"
        yield f"has {name} of {'1 dimension' if column.width is None else '2 dimensions'}; expected {shape}"
    elif name in ("logits", "probs") and column.width != classes:
        yield f"has {name} of {column.width:,} classes; the data set has {classes:,}"
    elif name == "top" and column.width is not None and not 1 <= column.width <= classes:
        yield f"has top of {column.width:,} classes; the data set has {classes:,}"


def _remedy(name: str, dtype: np.dtype[Any]) -> str:
    """Return the next step, where there is one for a type that is not taken."""
    if dtype.kind == "V":
        return " (numpy has no bfloat16: convert to float32 first)"
    if dtype.kind == "S":
        return ": array.astype(str)"
    if dtype.kind in "iuf":
        return f": array.astype({'np.float32' if NAMES[name] == 'f' else 'np.int64'})"
    return ""


def block_rows(columns: Sequence[Column]) -> int:
    """Return how many rows a block of these columns has."""
    widest = max((column.dtype.itemsize * (column.width or 1) for column in columns), default=1)
    return max(1, min(MOST_ROWS, BLOCK_BYTES // max(1, widest)))
