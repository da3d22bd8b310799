"""Tables of predictions in files: .npz archives and CSV files; pickled arrays are never loaded."""

from __future__ import annotations

import csv
import io
import math
import re
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from .reduction import COLUMNS, KINDS, Kind

MOST_LINE = 1 << 20
"""Characters of a CSV file's line: a longer one is read as two, whose cells are too few."""
MOST_NAME = 4096
"""Characters of a name: the longest path."""
LINES = 1 << 14
"""Of a CSV file that are in memory as text."""
NAMES = {
    "set_id": "U",
    "id": "U",
    "index": "iu",
    "logits": "f",
    "probs": "f",
    "top": "iu",
    "rank_true": "iu",
    "p_true": "f",
}
"""Column -> numpy's letters for what it may hold."""
HEAD_FIELDS = ("model", "digest")
"""Texts that an archive may hold beside its columns."""
EXPECTED = "logits, probs, top, or rank_true with p_true"
_WORDS = {
    "f": "float16, float32 or float64 (numpy has no bfloat16): array.astype(np.float32)",
    "iu": "whole numbers: array.astype(np.int64)",
    "U": "text of a fixed width: np.asarray(names, dtype=str)",
}


class BadTable(Exception):
    """A file that is no table of predictions; its arguments say why, each as what follows the file's name."""


class Column(NamedTuple):
    """The type and shape of an array; a column of a CSV file is one itself."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]


@contextmanager
def _sound() -> Iterator[None]:
    """Raise BadTable for whatever zipfile, zlib and numpy raise on a damaged archive."""
    try:
        yield
    except (BadTable, OSError):
        raise
    except Exception as e:
        said = str(e).partition("\n")[0][:200] or type(e).__name__
        raise BadTable(f"is not a sound .npz archive ({said}): write it again by np.savez") from None


class NpzTable:
    """An .npz archive in an open file; BadTable where it is none, or is damaged."""

    row_word, first_row = "row", 0

    def __init__(self, file: IO[bytes]) -> None:
        with _sound():
            self._archive = zipfile.ZipFile(file)
            members = self._archive.namelist()
            if not any(name.endswith(".npy") for name in members):
                other = f" but {', '.join(members[:3])}" if members else ""
                raise BadTable(f"holds no arrays{other}: write it by np.savez(file, logits=logits)")
            self.columns = {name: self._column(name) for name in NAMES if f"{name}.npy" in members}
            self.texts = {name: self._text(name) for name in HEAD_FIELDS if f"{name}.npy" in members}

    @contextmanager
    def _opened(self, name: str) -> Iterator[tuple[IO[bytes], Column]]:
        """Yield the data of an array, and what its header says."""
        with _sound(), self._archive.open(f"{name}.npy") as stream:
            old = npy.read_magic(stream) == (1, 0)
            shape, by_columns, dtype = (npy.read_array_header_1_0 if old else npy.read_array_header_2_0)(stream)
            if by_columns and len(shape) > 1:
                raise BadTable(f"has {name} stored column by column: write np.ascontiguousarray({name})")
            yield stream, Column(dtype, shape)

    def _column(self, name: str) -> Column:
        with self._opened(name) as (_, column):
            return column

    def _text(self, name: str) -> str:
        if self._archive.getinfo(f"{name}.npy").file_size > 4 * MOST_NAME:
            raise BadTable(f"has a very long {name}; expected one text")
        with _sound(), self._archive.open(f"{name}.npy") as stream:
            return str(npy.read_array(stream, allow_pickle=False).item())

    def blocks(self, name: str, most: int) -> Iterator[NDArray[Any]]:
        """Yield an array, so many rows at a time; its size was looked at before."""
        with self._opened(name) as (stream, (dtype, (rows, *shape))):
            for first in range(0, rows, most):
                size = (min(most, rows - first), *shape)
                data = stream.read(math.prod(size) * dtype.itemsize)  # the last one is held against the checksum
                yield np.frombuffer(data, dtype).reshape(size).astype(dtype.newbyteorder("="), copy=False)


_PARTS = {"top": ("top", 1), "logits": ("logit_", 0), "probs": ("prob_", 0)}
"""Column of several values -> how the names of its parts begin in a CSV file, and the number of the first one."""
_TYPES = {"U": np.dtype(np.str_), "iu": np.dtype(np.int64), "f": np.dtype(np.float64)}


@contextmanager
def _csv_lines(file: IO[bytes]) -> Iterator[Iterator[list[str]]]:
    """Yield the lines of a CSV file that are not empty; BadTable where it is none."""
    with io.TextIOWrapper(file, encoding="utf-8-sig", newline="") as text:
        try:
            yield filter(None, csv.reader(iter(lambda: text.readline(MOST_LINE), "")))
        except (csv.Error, UnicodeDecodeError) as e:
            raise BadTable(f"is not a CSV file in UTF-8 ({e})") from None


class CsvTable:
    """A CSV file in an open file: UTF-8, commas, names in the first line.

    BadTable where it is none.
    """

    row_word, first_row = "line", 2

    def __init__(self, file: IO[bytes]) -> None:
        self.texts: Mapping[str, str] = {}
        with _csv_lines(file) as lines:
            self._names = next(lines, [])
            places = self._places()
            parts = {name: [self._cells([], name, of, 0)] for name, of in places.items()}
            first = self.first_row
            while block := list(islice(lines, LINES)):
                for line, cells in enumerate(block, first):
                    if len(cells) != len(self._names):
                        raise BadTable(
                            f"has {len(cells)} cells in line {line:,}; its first line has {len(self._names)}"
                        )
                for name, of in places.items():
                    parts[name].append(self._cells(block, name, of, first))
                first += len(block)
        whole = {name: np.concatenate(part) for name, part in parts.items()}
        self.columns = {name: values if name in _PARTS else values[:, 0] for name, values in whole.items()}

    def blocks(self, name: str, most: int) -> Iterator[NDArray[Any]]:
        """Yield a column, so many lines at a time."""
        return (self.columns[name][first : first + most] for first in range(0, len(self.columns[name]), most))

    def _places(self) -> dict[str, list[int]]:
        """Return which of the file's columns make each column of the table."""
        names = self._names
        if len(set(names)) < len(names):
            raise BadTable(f"names the column {next(name for name in names if names.count(name) > 1)!r} twice")
        places = {name: [names.index(name)] for name in NAMES if name not in _PARTS and name in names}
        for name, (prefix, begin) in _PARTS.items():
            given = [part for part in names if re.fullmatch(rf"{prefix}\d+", part)]
            wanted = [f"{prefix}{number}" for number in range(begin, begin + len(given))]
            if missing := [part for part in wanted if part not in given]:
                raise BadTable(f"has columns such as {given[0]}, and none with the name {missing[0]}")
            if wanted:
                places[name] = [names.index(part) for part in wanted]
        return places

    def _cells(self, block: list[list[str]], name: str, places: list[int], first: int) -> NDArray[Any]:
        """Return a column of some lines, (lines, values); an error names the first cell that is no number."""
        dtype = _TYPES[NAMES[name]]
        try:
            values = [[cells[place] for place in places] for cells in block]
            return np.array(values, dtype).reshape(len(block), len(places))
        except (ValueError, OverflowError):
            if len(block) * len(places) > 1:
                for line, cells in enumerate(block, first):
                    for place in places:
                        self._cells([cells], name, [place], line)
            wanted = "a whole number" if dtype.kind == "i" else "a number"
            raise BadTable(
                f"has {block[0][places[0]][:50]!r} in column {self._names[places[0]]} of line {first:,}; "
                f"expected {wanted}"
            ) from None


Table = NpzTable | CsvTable
READERS: Mapping[str, Callable[[IO[bytes]], Table]] = {".npz": NpzTable, ".csv": CsvTable}
"""By the suffix of a file."""


@dataclass(frozen=True)
class Layout:
    """What a table's columns say together."""

    kind: Kind
    key: str | None
    """``index`` or ``id``; None where rows stand in the data set's order."""


def layout(
    columns: Mapping[str, Column | NDArray[Any]], classes: int, images: int, set_id: str | None, names: int
) -> Layout:
    """Return what a table's columns say; BadTable has all that is wrong with them.

    `set_id` is that of the one set that the table must be of, None where it must name them; `names` is how many names
    of sets there are.
    """
    kinds = [kind for kind in KINDS if any(name in columns for name in COLUMNS[kind])]
    if not kinds:
        raise BadTable(
            f"holds no predictions: it has {', '.join(columns) or 'no column that is known'}; expected {EXPECTED}"
        )
    values = tuple(name for kind in kinds for name in COLUMNS[kind] if name in columns)
    keys = [name for name in ("index", "id") if name in columns]
    rules = {
        f"holds {' and '.join(values)}; expected one of {EXPECTED}": values == COLUMNS[kinds[0]],
        "holds both index and id: write one of them": len(keys) < 2,
        "has a column set_id: a file of many sets is given itself, in place of a folder": (
            set_id is None or "set_id" not in columns
        ),
        "has no column set_id: give the folder of such files, or write the id of each row's set": (
            set_id is not None or "set_id" in columns
        ),
    }
    problems = [problem for problem, holds in rules.items() if not holds]
    problems += [text for name, column in columns.items() for text in _column_problems(name, column, classes)]
    counts = {name: column.shape[:1] for name, column in columns.items()}
    (rows,), most = counts[values[0]] or (0,), images * (1 if set_id is not None else names)
    if len(set(counts.values())) > 1:
        lengths = ", ".join(f"{name} {', '.join(map(str, count))}" for name, count in counts.items())
        problems.append(f"has columns of different lengths: {lengths}")
    elif not problems and (rows > most or (rows != most and not keys and set_id is not None)):
        more = "" if keys else "; where there is no index or id, every image has a row, in the data set's order"
        problems.append(
            f"has {rows:,} rows; the data set has {images:,} images{' a set' if set_id is None else ''}{more}"
        )
    if problems:
        raise BadTable(*problems)
    return Layout(kinds[0], keys[0] if keys else None)


def _column_problems(name: str, column: Column | NDArray[Any], classes: int) -> Iterator[str]:
    """Yield what is wrong with the type and the shape of a column."""
    kind, size = column.dtype.kind, column.dtype.itemsize
    if kind not in NAMES[name] or (kind == "f" and size > 8):
        yield f"has {name} of {column.dtype}; expected {_WORDS[NAMES[name]]}"
    if kind == "U" and size > 4 * MOST_NAME:
        yield f"has {name} of {size // 4:,} characters; a name has at most {MOST_NAME:,}"
    expected, sound = "(N,)", len(column.shape) == 1
    if name in ("logits", "probs"):
        expected, sound = f"(N, {classes})", column.shape[1:] == (classes,)
    elif name == "top":
        expected, sound = f"(N, 1 to {classes})", len(column.shape) == 2 and 0 < column.shape[1] <= classes
    if not sound:
        yield f"has {name} of shape {column.shape}; expected {expected}: the data set has {classes:,} classes"
