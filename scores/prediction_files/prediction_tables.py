"""Files of predictions as tables, read a block of rows at a time: .npz archives and CSV files; pickled arrays never."""

from __future__ import annotations

import csv
import io
import math
import re
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from ...files import open_regular

BLOCK_BYTES = 1 << 20
"""Of the widest column in a block."""
MOST_LINE = 1 << 20
"""Characters of a CSV file's line: a longer one is read as two, whose cells are too few."""
NAMES = {"set_id": "U", "id": "U", "index": "iu", "logits": "f", "probs": "f", "top": "iu", "rank_true": "iu", "p_true": "f"}
"""Column -> numpy's letters for what it may hold."""
MOST_NAME = 4096
"""Characters of a name: the longest path."""
HEAD_FIELDS = ("model", "digest")
"""Texts that an archive may hold beside its columns."""
Block = dict[str, NDArray[Any]]


class BadTable(Exception):
    """A file that is no table of predictions; the message says why, as what follows the file's name."""


@dataclass(frozen=True)
class Column:
    """What stands in a column."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    """Of a row: () or (values,)."""
    rows: int | None
    """None where only reading tells."""


class NpzTable:
    """An open .npz archive.

    Raises
    ------
    BadTable
        It is no archive, is damaged, or has an array that is not what its header says.
    OSError
        It cannot be read.
    """

    row_word, first_row = "row", 0

    def __init__(self, path: Path) -> None:
        self._file = open_regular(path)
        try:
            self._archive = zipfile.ZipFile(self._file)
            named = {name.removesuffix(".npy"): name for name in self._archive.namelist() if name.endswith(".npy")}
            if not named:
                other = ", ".join(self._archive.namelist()[:3])
                raise BadTable(f"holds no arrays{f' but {other}' if other else ''}: write it by np.savez(file, logits=logits)")
            self.columns = {name: self._column(name) for name in (*NAMES, *HEAD_FIELDS) if name in named}
            self.texts = {name: self._text(name, self.columns.pop(name)) for name in HEAD_FIELDS if name in self.columns}
        except DAMAGE as e:
            self._file.close()
            raise damaged(e) from None
        except BadTable:
            self._file.close()
            raise

    def _column(self, name: str) -> Column:
        with self._archive.open(f"{name}.npy") as stream:
            shape, by_columns, dtype = header(stream)
            begin = stream.tell()
        if dtype.hasobject:
            raise BadTable(
                f"has {name} as Python objects (a pickle), which are never loaded: write an array of numbers, or of text by "
                "np.asarray(names, dtype=str)"
            )
        if by_columns and len(shape) > 1:
            raise BadTable(f"has {name} stored column by column: write np.ascontiguousarray({name})")
        size = self._archive.getinfo(f"{name}.npy").file_size
        if min(shape, default=0) < 0 or begin + math.prod(shape) * dtype.itemsize != size:
            raise BadTable(f"has {name} of {size:,} bytes whose header says {shape} of {dtype}: it is damaged")
        if name in NAMES and not shape:
            raise BadTable(f"has {name} of shape (); expected a row an image")
        return Column(dtype, shape[1:], shape[0] if shape else 1)

    def _text(self, name: str, column: Column) -> str:
        if column.dtype.kind != "U" or column.rows != 1 or column.shape or column.dtype.itemsize > 4 * MOST_NAME:
            raise BadTable(f"has {name} of {column.dtype}; expected one text")
        return str(next(self._rows(name, column, 1))[0])

    def blocks(self, names: Sequence[str]) -> Iterator[Block]:
        """Yield some columns, a block of rows at a time."""
        widest = max(math.prod(self.columns[name].shape) * self.columns[name].dtype.itemsize for name in names)
        most = max(1, BLOCK_BYTES // max(1, widest))
        for parts in zip(*(self._rows(name, self.columns[name], most) for name in names), strict=True):
            yield dict(zip(names, parts, strict=True))

    def _rows(self, name: str, column: Column, most: int) -> Iterator[NDArray[Any]]:
        try:
            with self._archive.open(f"{name}.npy") as stream:
                header(stream)
                for first in range(0, column.rows or 0, most):
                    shape = (min(most, (column.rows or 0) - first), *column.shape)
                    data = stream.read(math.prod(shape) * column.dtype.itemsize)
                    yield np.frombuffer(data, column.dtype).reshape(shape).astype(column.dtype.newbyteorder("="), copy=False)
                stream.read(1)  # at its end the checksum is held against what was read
        except DAMAGE as e:
            raise damaged(e) from None

    def close(self) -> None:
        """Close the file."""
        self._file.close()


DAMAGE = (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, ValueError, OverflowError)


def damaged(error: Exception) -> BadTable:
    """Return what is said of an archive that is damaged."""
    said = str(error).partition("\n")[0][:200]
    return BadTable(f"is not a sound .npz archive ({said or type(error).__name__}): write it again by np.savez")


def header(stream: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Read the header of an array: its shape, whether it lies column by column, its type."""
    try:
        version = np.lib.format.read_magic(stream)
        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        return read(stream)
    except zipfile.BadZipFile:
        raise
    except Exception as e:  # the header is Python text, on which numpy raises whatever Python's parser does
        raise ValueError(str(e) or type(e).__name__) from None


_PARTS = {"top": ("top", 1), "logits": ("logit_", 0), "probs": ("prob_", 0)}
"""Column of several values -> how the names of its parts begin in a CSV file, and the number of the first one."""
_TYPES = {"U": np.dtype(np.str_), "iu": np.dtype(np.int64), "f": np.dtype(np.float64)}


class CsvTable:
    """An open CSV file: UTF-8, commas, a line of names first, then a line an image of a set.

    Raises
    ------
    BadTable
        Its first line does not name columns.
    OSError
        It cannot be read.
    """

    row_word, first_row = "line", 2

    def __init__(self, path: Path) -> None:
        self._file = io.TextIOWrapper(open_regular(path), encoding="utf-8-sig", newline="")
        self.texts: Mapping[str, str] = {}
        try:
            self._names = next(self._lines(), [])
            self._places = _places(self._names)
        except BadTable:
            self._file.close()
            raise
        self.columns = {
            name: Column(_TYPES[NAMES[name]], (len(places),) if name in _PARTS else (), None) for name, places in self._places.items()
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
                name: [_numbers(block, place, self.columns[name].dtype, self._names, first) for place in self._places[name]]
                for name in names
            }
            yield {name: np.stack(parts, axis=1) if name in _PARTS else parts[0] for name, parts in columns.items()}
            first += len(block)

    def close(self) -> None:
        """Close the file."""
        self._file.close()


Table = NpzTable | CsvTable
READERS: Mapping[str, type[Table]] = {".npz": NpzTable, ".csv": CsvTable}
"""By the suffix of a file."""


def _places(names: list[str]) -> dict[str, list[int]]:
    """Return the columns that a first line names, and where their parts stand."""
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


def _numbers(block: list[list[str]], place: int, dtype: np.dtype[Any], names: list[str], first: int) -> NDArray[Any]:
    """Return a column of some lines; an error names the first cell that is no number."""
    try:
        return np.array([cells[place] for cells in block], dtype)
    except (ValueError, OverflowError):
        for line, cells in enumerate(block, first):
            try:
                np.array([cells[place]], dtype)
            except (ValueError, OverflowError):
                wanted = "a whole number" if dtype.kind == "i" else "a number"
                raise BadTable(f"has {cells[place][:50]!r} in column {names[place]} of line {line:,}; expected {wanted}") from None
        raise
