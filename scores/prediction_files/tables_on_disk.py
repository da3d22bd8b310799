"""Tables of predictions in files: .npz archives and CSV files; pickled arrays are never loaded."""

from __future__ import annotations

import csv
import io
import math
import re
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from ...errors import first_few
from .reduction import COLUMNS, KINDS, Kind

MOST_LINE = 1 << 20
"""Characters of a CSV file's line: a longer one is read as two, whose cells are too few."""
MOST_NAME = 4096
"""Characters of a name: the longest path."""
LINES = 1 << 14
"""Lines of a CSV file that are in memory as text."""
HOLDS = dict.fromkeys(("set_id", "id"), "U") | dict.fromkeys(("index", "top", "rank_true"), "iu")
HOLDS |= dict.fromkeys(("logits", "probs", "p_true"), "f")
"""Column -> numpy's letters for what it may hold."""
EXPECTED = "logits, probs, top, or rank_true with p_true"
WRITE = {
    "f": "float16, float32 or float64 (numpy has no bfloat16): array.astype(np.float32)",
    "iu": "whole numbers: array.astype(np.int64)",
    "U": "text of a fixed width: np.asarray(names, dtype=str)",
}


class BadTable(Exception):
    """A file that is no table of predictions: reasons that follow its name."""


class ArrayColumn(NamedTuple):
    """The type and shape of an array in an archive."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    by_columns: bool


class NpzTable:
    """An .npz archive in an open file; BadTable where it is none, or is damaged."""

    row_word, first_row = "row", 0

    def __init__(self, file: IO[bytes]) -> None:
        with _sound():
            self._archive = zipfile.ZipFile(file)
            members = self._archive.namelist()
            self.names = [name.removesuffix(".npy") for name in members if name.endswith(".npy")]
            if not self.names:
                other = f" but {', '.join(members[:3])}" if members else ""
                raise BadTable(f"holds no arrays{other}: write it by np.savez(file, logits=logits)")
            self.columns: dict[str, ArrayColumn] = {}
            for name in [name for name in HOLDS if name in self.names]:
                with self._opened(name) as (_, self.columns[name]):
                    pass
            self.texts: Mapping[str, str] = {
                name: self._text(name) for name in ("model", "digest") if name in self.names
            }

    @contextmanager
    def _opened(self, name: str) -> Iterator[tuple[IO[bytes], ArrayColumn]]:
        """Yield the data of an array, and what its header says."""
        with _sound(), self._archive.open(f"{name}.npy") as stream:
            old = npy.read_magic(stream) == (1, 0)
            shape, by_columns, dtype = (npy.read_array_header_1_0 if old else npy.read_array_header_2_0)(stream)
            yield stream, ArrayColumn(dtype, shape, by_columns)

    def _text(self, name: str) -> str:
        with self._opened(name) as (stream, (dtype, shape, _)):
            if dtype.kind != "U" or math.prod(shape) != 1 or dtype.itemsize > 4 * MOST_NAME:
                raise BadTable(f"has {name} of {dtype} and shape {shape}; expected one text, such as str({name})")
            return str(np.frombuffer(stream.read(dtype.itemsize), dtype)[0])

    def blocks(self, name: str, most: int) -> Iterator[NDArray[Any]]:
        """Yield an array, so many rows at a time; its size was looked at before."""
        with self._opened(name) as (stream, (dtype, (rows, *shape), by_columns)):
            # stored column by column, an array has no whole row before its end
            step = max(rows, 1) if by_columns else most
            for first in range(0, rows, step):
                size = (min(step, rows - first), *shape)
                data = stream.read(math.prod(size) * dtype.itemsize)  # the last one is held against the checksum
                read = np.frombuffer(data, dtype).astype(dtype.newbyteorder("="), copy=False)
                block = read.reshape(size[::-1]).T if by_columns else read.reshape(size)
                yield from (block[at : at + most] for at in range(0, len(block), most))


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


PARTS = {"top": ("top", 1), "logits": ("logit_", 0), "probs": ("prob_", 0)}
"""Column of several values -> how the names of its parts begin in a CSV file, and the number of the first one."""
TYPES = {"U": np.dtype(np.str_), "iu": np.dtype(np.int64), "f": np.dtype(np.float64)}


class CsvTable:
    """A CSV file: UTF-8, commas, names in the first line; BadTable where it is none."""

    row_word, first_row = "line", 2
    texts: Mapping[str, str] = {}

    def __init__(self, file: IO[bytes]) -> None:
        with io.TextIOWrapper(file, encoding="utf-8-sig", newline="") as text:
            try:
                self.columns = self._read(csv.reader(iter(lambda: text.readline(MOST_LINE), "")))
            except (csv.Error, UnicodeDecodeError) as e:
                raise BadTable(f"is not a CSV file in UTF-8 ({e})") from None

    def _read(self, reader: Iterator[list[str]]) -> dict[str, NDArray[Any]]:
        lines = filter(None, reader)
        self.names = names = next(lines, [])
        if len(names) == 1 and (mark := re.search(r"[;\t]", names[0])):
            raise BadTable(f"has {mark[0]!r} between its columns; expected commas")
        if len(set(names)) < len(names):
            raise BadTable(f"names the column {next(name for name in names if names.count(name) > 1)!r} twice")
        parts_of = {name: [name] for name in HOLDS if name not in PARTS and name in names} | _parts(names)
        type_of = {part: TYPES[HOLDS[name]] for name, parts in parts_of.items() for part in parts}
        read = {part: [np.empty(0, dtype)] for part, dtype in type_of.items()}
        first = self.first_row
        while block := list(islice(lines, LINES)):
            for line, cells in enumerate(block, first):
                if len(cells) != len(names):
                    raise BadTable(f"has {len(cells)} cells in line {line:,}; its first line has {len(names)}")
            for part, texts in zip(names, zip(*block, strict=True), strict=True):
                if part in read:
                    read[part].append(_values(texts, type_of[part], part, first))
            first += len(block)
        whole = {part: np.concatenate(arrays) for part, arrays in read.items()}
        return {
            name: np.stack([whole[part] for part in parts], axis=1) if name in PARTS else whole[name]
            for name, parts in parts_of.items()
        }

    def blocks(self, name: str, most: int) -> Iterator[NDArray[Any]]:
        """Yield a column, so many lines at a time."""
        return (self.columns[name][first : first + most] for first in range(0, len(self.columns[name]), most))


def _parts(names: Sequence[str]) -> dict[str, list[str]]:
    """Return which of a CSV file's columns make each column of several values."""
    found = {}
    for name, (prefix, begin) in PARTS.items():
        given = [part for part in names if re.fullmatch(rf"{prefix}\d+", part)]
        wanted = [f"{prefix}{number}" for number in range(begin, begin + len(given))]
        if missing := [part for part in wanted if part not in given]:
            raise BadTable(
                f"has columns such as {given[0]}, and none with the name {missing[0]}; expected {wanted[0]}, ..."
            )
        if wanted:
            found[name] = wanted
    return found


def _values(texts: Sequence[str], dtype: np.dtype[Any], name: str, first: int) -> NDArray[Any]:
    """Return some lines of a column; an error names the first bad cell."""
    try:
        return np.array(texts, dtype)
    except (ValueError, OverflowError):
        if len(texts) > 1:
            for line, text in enumerate(texts, first):
                _values([text], dtype, name, line)
        a_number = "a whole number" if dtype.kind == "i" else "a number"
        raise BadTable(f"has {texts[0][:50]!r} in column {name} of line {first:,}; expected {a_number}") from None


Table = NpzTable | CsvTable
READERS: Mapping[str, type[Table]] = {".npz": NpzTable, ".csv": CsvTable}
"""Suffix of a file -> what reads it."""


def layout(table: Table, classes: int, images: int, set_id: str | None, names: int) -> tuple[Kind, str | None]:
    """Return the kind of a table, and the column that names its images.

    That is ``index`` or ``id``; None where rows stand in the data set's order. BadTable has all that is wrong. `set_id`
    is that of the only set, None where the table must name them; `names` is how many names of sets there are.
    """
    columns = table.columns
    kinds = [kind for kind in KINDS if any(name in columns for name in COLUMNS[kind])]
    if not kinds:
        raise BadTable(f"holds no predictions: it has {first_few(table.names) or 'no column'}; expected {EXPECTED}")
    values = tuple(name for kind in kinds for name in COLUMNS[kind] if name in columns)
    keys = [name for name in ("index", "id") if name in columns]
    wrong = {
        f"holds {' and '.join(values)}; expected one of {EXPECTED}": values != COLUMNS[kinds[0]],
        "holds both index and id: write one of them": len(keys) > 1,
        "has a column set_id: a file of many sets is given itself, in place of a folder": set_id is not None
        and "set_id" in columns,
        "has no column set_id: give the folder of such files, or write the id of each row's set": set_id is None
        and "set_id" not in columns,
    }
    problems = [problem for problem, is_so in wrong.items() if is_so]
    problems += [text for name, column in columns.items() for text in _column_problems(name, column, classes)]
    lengths = {name: column.shape[0] if column.shape else 0 for name, column in columns.items()}
    rows, most = lengths[values[0]], images if set_id is not None else images * names
    if len(set(lengths.values())) > 1:
        said = ", ".join(f"{name} {length}" for name, length in lengths.items())
        problems.append(f"has columns of different lengths: {said}")
    elif not problems and (rows > most or (rows != most and not keys and set_id is not None)):
        more = "" if keys else "; where there is no index or id, every image has a row, in the data set's order"
        problems.append(
            f"has {rows:,} rows; the data set has {images:,} images{' a set' if set_id is None else ''}{more}"
        )
    if problems:
        raise BadTable(*problems)
    return kinds[0], keys[0] if keys else None


def _column_problems(name: str, column: ArrayColumn | NDArray[Any], classes: int) -> Iterator[str]:
    """Yield what is wrong with the type and the shape of a column."""
    (kind, size), shape = (column.dtype.kind, column.dtype.itemsize), column.shape
    if kind not in HOLDS[name] or (kind == "f" and size > 8):
        yield f"has {name} of {column.dtype}; expected {WRITE[HOLDS[name]]}"
    if kind == "U" and size > 4 * MOST_NAME:
        yield f"has {name} of {size // 4:,} characters; a name has at most {MOST_NAME:,}"
    expected, sound = "(N,)", len(shape) == 1
    if name in ("logits", "probs"):
        expected, sound = f"(N, {classes})", shape[1:] == (classes,)
    elif name == "top":
        expected, sound = f"(N, 1 to {classes})", len(shape) == 2 and 0 < shape[1] <= classes
    if not sound:
        yield f"has {name} of shape {shape}; expected {expected}: the data set has {classes:,} classes"
