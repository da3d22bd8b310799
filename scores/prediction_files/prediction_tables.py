"""Files of predictions as tables, read a block of rows at a time: .npz archives and CSV files; pickled arrays never."""

from __future__ import annotations

import csv
import io
import math
import re
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from .reduction import COLUMNS, KINDS, Kind

BLOCK_BYTES = 1 << 20
"""Of the widest column in a block."""
MOST_LINE = 1 << 20
"""Characters of a CSV file's line: a longer one is read as two, whose cells are too few."""
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
MOST_NAME = 4096
"""Characters of a name: the longest path."""
HEAD_FIELDS = ("model", "digest")
"""Texts that an archive may hold beside its columns."""
EXPECTED = "logits, probs, top, or rank_true with p_true"
_WORDS = {"f": "float16, float32 or float64", "iu": "whole numbers (int64)", "U": "text of a fixed width"}
Block = dict[str, NDArray[Any]]


class BadTable(Exception):
    """A file that is no table of predictions; its arguments say why, each as what follows the file's name."""


@dataclass(frozen=True)
class Column:
    """What stands in a column."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    """Of a row: () or (values,)."""
    rows: int | None
    """None where only reading tells."""


@contextmanager
def _sound() -> Iterator[None]:
    """Raise BadTable for whatever zipfile, zlib and numpy's parser of headers raise on a damaged archive."""
    try:
        yield
    except (BadTable, OSError):
        raise
    except Exception as e:
        said = str(e).partition("\n")[0][:200] or type(e).__name__
        raise BadTable(f"is not a sound .npz archive ({said}): write it again by np.savez") from None


class NpzTable:
    """An .npz archive in an open file; BadTable where it is none, is damaged, or has an array that is not what its
    header says.
    """

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
    def _opened(self, name: str) -> Iterator[tuple[IO[bytes], tuple[int, ...], bool, np.dtype[Any]]]:
        """Yield the data of an array, and what its header says: shape, whether it lies column by column, type."""
        with _sound(), self._archive.open(f"{name}.npy") as stream:
            version = np.lib.format.read_magic(stream)
            read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
            yield stream, *read(stream)

    def _column(self, name: str) -> Column:
        with self._opened(name) as (stream, shape, by_columns, dtype):
            begin = stream.tell()
        if dtype.hasobject:
            raise BadTable(
                f"has {name} as Python objects (a pickle), which are never loaded: write an array of numbers, or of "
                "text by "
                "np.asarray(names, dtype=str)"
            )
        if by_columns and len(shape) > 1:
            raise BadTable(f"has {name} stored column by column: write np.ascontiguousarray({name})")
        size = self._archive.getinfo(f"{name}.npy").file_size
        if min(shape, default=0) < 0 or begin + math.prod(shape) * dtype.itemsize != size:
            raise BadTable(f"has {name} of {size:,} bytes whose header says {shape} of {dtype}: it is damaged")
        if dtype.kind == "U" and dtype.itemsize > 4 * MOST_NAME:
            raise BadTable(f"has {name} of {dtype.itemsize // 4:,} characters; a name has at most {MOST_NAME:,}")
        if name in NAMES and not shape:
            raise BadTable(f"has {name} of shape (); expected a row an image")
        return Column(dtype, shape[1:], shape[0] if shape else 1)

    def _text(self, name: str) -> str:
        column = self._column(name)
        if column.dtype.kind != "U" or column.rows != 1 or column.shape:
            raise BadTable(f"has {name} of {column.dtype}; expected one text")
        return str(next(self._rows(name, column, 1))[0])

    def blocks(self, names: Sequence[str]) -> Iterator[Block]:
        """Yield some columns, a block of rows at a time."""
        widest = max(math.prod(self.columns[name].shape) * self.columns[name].dtype.itemsize for name in names)
        most = max(1, BLOCK_BYTES // max(1, widest))
        for parts in zip(*(self._rows(name, self.columns[name], most) for name in names), strict=True):
            yield dict(zip(names, parts, strict=True))

    def _rows(self, name: str, column: Column, most: int) -> Iterator[NDArray[Any]]:
        with self._opened(name) as (stream, *_):
            for first in range(0, column.rows or 0, most):
                shape = (min(most, (column.rows or 0) - first), *column.shape)
                data = stream.read(math.prod(shape) * column.dtype.itemsize)
                yield (
                    np.frombuffer(data, column.dtype).reshape(shape).astype(column.dtype.newbyteorder("="), copy=False)
                )
            stream.read(1)  # at its end the checksum is held against what was read


_PARTS = {"top": ("top", 1), "logits": ("logit_", 0), "probs": ("prob_", 0)}
"""Column of several values -> how the names of its parts begin in a CSV file, and the number of the first one."""
_TYPES = {"U": np.dtype(np.str_), "iu": np.dtype(np.int64), "f": np.dtype(np.float64)}


class CsvTable:
    """A CSV file in an open file: UTF-8, commas, a line of names first, then a line an image of a set; BadTable where
    it is none.
    """

    row_word, first_row = "line", 2

    def __init__(self, file: IO[bytes]) -> None:
        self._file = io.TextIOWrapper(file, encoding="utf-8-sig", newline="")
        self.texts: Mapping[str, str] = {}
        self._names = names = next(self._lines(), [])
        if len(set(names)) < len(names):
            raise BadTable(f"names the column {next(name for name in names if names.count(name) > 1)!r} twice")
        self._places = {name: [names.index(name)] for name in NAMES if name not in _PARTS and name in names}
        for name, (prefix, begin) in _PARTS.items():
            given = [part for part in names if re.fullmatch(rf"{prefix}\d+", part)]
            wanted = [f"{prefix}{number}" for number in range(begin, begin + len(given))]
            if missing := [part for part in wanted if part not in given]:
                raise BadTable(f"has columns such as {given[0]}, and none with the name {missing[0]}")
            if wanted:
                self._places[name] = [names.index(part) for part in wanted]
        self.columns = {
            name: Column(_TYPES[NAMES[name]], (len(places),) if name in _PARTS else (), None)
            for name, places in self._places.items()
        }

    def _lines(self) -> Iterator[list[str]]:
        self._file.seek(0)
        try:
            yield from filter(None, csv.reader(iter(lambda: self._file.readline(MOST_LINE), "")))
        except (csv.Error, UnicodeDecodeError) as e:
            raise BadTable(f"is not a CSV file in UTF-8 ({e})") from None

    def blocks(self, names: Sequence[str]) -> Iterator[Block]:
        """Yield some columns, a block of rows at a time."""
        lines = islice(self._lines(), 1, None)
        most, first = max(1, (BLOCK_BYTES >> 4) // len(self._names)), self.first_row
        while block := list(islice(lines, most)):
            for line, cells in enumerate(block, first):
                if len(cells) != len(self._names):
                    raise BadTable(f"has {len(cells)} cells in line {line:,}; its first line has {len(self._names)}")
            columns = {
                name: [self._values(block, place, name, first) for place in self._places[name]] for name in names
            }
            yield {name: np.stack(parts, axis=1) if name in _PARTS else parts[0] for name, parts in columns.items()}
            first += len(block)

    def _values(self, block: list[list[str]], place: int, name: str, first: int) -> NDArray[Any]:
        """Return a column of some lines; an error names the first cell that is no number."""
        dtype = self.columns[name].dtype
        try:
            return np.array([cells[place] for cells in block], dtype)
        except (ValueError, OverflowError):
            if len(block) > 1:
                for line, cells in enumerate(block, first):
                    self._values([cells], place, name, line)
            wanted = "a whole number" if dtype.kind == "i" else "a number"
            raise BadTable(
                f"has {block[0][place][:50]!r} in column {self._names[place]} of line {first:,}; expected {wanted}"
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
    columns: tuple[str, ...]
    """Those to be read."""


def layout(columns: Mapping[str, Column], classes: int, images: int, set_id: str | None, names: int) -> Layout:
    """Return what a table's columns say; BadTable has all that is wrong with them.

    `set_id` is that of the one set that the table must be of, None where it must name them; `names` is how many names
    of sets there are.
    """
    kinds = [kind for kind in KINDS if any(name in columns for name in COLUMNS[kind])]
    if not kinds:
        raise BadTable(
            f"holds no predictions: it has {', '.join(columns) or 'no column that is known'}; expected {EXPECTED}"
        )
    problems = []
    parts = [name for kind in kinds for name in COLUMNS[kind] if name in columns]
    if len(kinds) > 1:
        problems.append(
            f"holds {' and '.join(parts)}, which are {len(kinds)} kinds of predictions: write one of {EXPECTED}"
        )
    elif missing := [name for name in COLUMNS[kinds[0]] if name not in columns]:
        problems.append(f"holds {parts[0]} without {missing[0]}: the two belong together")
    keys = [name for name in ("index", "id") if name in columns]
    if len(keys) > 1:
        problems.append("holds both index and id: write one of them")
    if "set_id" in columns and set_id is not None:
        problems.append("has a column set_id: a file of many sets is given itself, in place of a folder")
    if "set_id" not in columns and set_id is None:
        problems.append("has no column set_id: give the folder of such files, or write the id of each row's set")
    problems += [text for name, column in columns.items() for text in _column_problems(name, column, classes)]
    counts = {name: column.rows for name, column in columns.items()}
    rows, most = counts[parts[0]], images * (1 if set_id is not None else names)
    if len(set(counts.values())) > 1:
        problems.append(
            "has columns of different lengths: " + ", ".join(f"{name} {count:,}" for name, count in counts.items())
        )
    elif not problems and rows is not None and (rows > most or (rows != most and not keys and set_id is not None)):
        more = "" if keys else "; where there is no index or id, every image has a row, in the data set's order"
        problems.append(
            f"has {rows:,} rows; the data set has {images:,} images{' a set' if set_id is None else ''}{more}"
        )
    if problems:
        raise BadTable(*problems)
    return Layout(
        kinds[0], keys[0] if keys else None, (*(["set_id"] if set_id is None else []), *keys, *COLUMNS[kinds[0]])
    )


def _column_problems(name: str, column: Column, classes: int) -> Iterator[str]:
    dtype, wide, wanted = column.dtype, name in ("logits", "probs", "top"), NAMES[name]
    if dtype.kind not in wanted or (dtype.kind == "f" and dtype.itemsize > 8):
        of_numbers = f": array.astype({'np.float32' if wanted == 'f' else 'np.int64'})" if dtype.kind in "iuf" else ""
        remedies = {"V": " (numpy has no bfloat16: convert to float32 first)", "S": ": array.astype(str)"}
        yield f"has {name} of {dtype}; expected {_WORDS[wanted]}{remedies.get(dtype.kind, of_numbers)}"
    if len(column.shape) != wide:
        yield (
            f"has {name} of {len(column.shape) + 1} dimension{'s' * bool(column.shape)}; expected "
            f"{'(N, classes)' if wide else '(N,)'}"
        )
    elif (name in ("logits", "probs") and column.shape != (classes,)) or (
        name == "top" and not 1 <= column.shape[0] <= classes
    ):
        yield f"has {name} of {column.shape[0]:,} classes; the data set has {classes:,}"
