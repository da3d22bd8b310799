"""Load arrays of predictions from .npz and CSV files."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import first_few
from ...files import open_regular, read_regular, reason
from ...quantities import plural
from .reduction import COLUMNS

MAX_CSV_BYTES = 2 << 30
FLOATS = ("f", "floating-point numbers, for example array.astype(np.float32)")
INTEGERS = ("iu", "integers, for example array.astype(np.int64)")
TEXT = ("U", "text, for example np.asarray(names, dtype=str)")
TYPES = dict.fromkeys(("logits", "probs", "p_true"), FLOATS) | dict.fromkeys(("top", "rank_true", "index"), INTEGERS)
TYPES |= dict.fromkeys(("id", "set_id"), TEXT)
"""The NumPy type kinds that each array may have, and a description of these types for messages."""
EXPECTED = "logits, probs, top, or rank_true with p_true"

Arrays = Mapping[str, NDArray[Any]]


class BadFile(Exception):
    """A problem with a predictions file. The message continues a sentence that begins with the file name."""


def load_npz(path: Path) -> Arrays:
    """Return the known arrays in an .npz file. Pickled objects are never loaded."""
    try:
        with open_regular(path) as file, np.load(file, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in (*TYPES, "model", "digest") if name in archive.files}
            names = archive.files
    except OSError as e:
        raise BadFile(f"cannot be read: {reason(e)}") from None
    except Exception as e:  # zipfile, zlib and numpy raise many types of errors for damaged archives
        message = str(e).partition("\n")[0][:200]
        raise BadFile(f"is not a valid .npz archive ({message}). Write it again with np.savez") from None
    return _with_values(arrays, names)


def load_csv(path: Path) -> Arrays:
    """Return the known columns in a CSV file as arrays."""
    try:
        lines = csv.reader(io.StringIO(read_regular(path, MAX_CSV_BYTES).decode("utf-8-sig"), newline=""))
        names, *rows = [row for row in lines if row] or [[]]
    except OSError as e:
        raise BadFile(f"cannot be read: {reason(e)}") from None
    except (csv.Error, UnicodeDecodeError) as e:
        raise BadFile(f"is not a CSV file in UTF-8 ({e})") from None
    if wrong := [row for row in rows if len(row) != len(names)]:
        raise BadFile(
            f"has {plural(len(wrong), 'line')} with more or fewer cells than the first line, which has {len(names)}"
        )
    columns = dict(zip(names, zip(*rows, strict=True) if rows else [()] * len(names), strict=True))
    arrays = {name: _column(name, columns[name], TYPES[name][0]) for name in TYPES if name in columns}
    top = sorted((name for name in columns if re.fullmatch(r"top[1-9]\d*", name)), key=lambda name: int(name[3:]))
    if top and top != [f"top{number}" for number in range(1, len(top) + 1)]:
        raise BadFile(f"has the columns {', '.join(top)}; expected top1, top2, ... without gaps")
    if top:
        arrays["top"] = np.stack([_column(name, columns[name], "iu") for name in top], axis=1)
    return _with_values(arrays, names)


def _column(name: str, texts: Sequence[str], kinds: str) -> NDArray[Any]:
    try:
        return np.array(texts, {"U": np.str_, "iu": np.int64, "f": np.float64}[kinds])
    except (ValueError, OverflowError) as e:
        raise BadFile(f"has values in the column {name} that are not numbers ({e})") from None


def _with_values(arrays: Arrays, names: Sequence[str]) -> Arrays:
    """Return the arrays, or raise BadFile if they do not contain exactly one kind of predictions."""
    given = [name for name in TYPES if name in arrays and name not in ("index", "id", "set_id")]
    if not given:
        raise BadFile(f"contains {first_few(list(names)) or 'nothing'} instead of predictions; expected {EXPECTED}")
    if {*given} not in map(set, COLUMNS.values()):
        raise BadFile(f"contains {' and '.join(given)}; expected one of {EXPECTED}")
    if "index" in arrays and "id" in arrays:
        raise BadFile("contains both index and id; expected one of them")
    return arrays


def array_problems(arrays: Arrays, classes: int) -> list[str]:
    """Return the problems with the types and shapes of arrays."""
    problems = []
    for name, array in ((name, array) for name, array in arrays.items() if name in TYPES):
        kinds, words = TYPES[name]
        if array.dtype.kind not in kinds or (array.dtype.kind == "f" and array.dtype.itemsize > 8):
            problems.append(f"has {name} of the type {array.dtype}; expected {words}")
        expected, is_valid = "(N,)", array.ndim == 1
        if name in ("logits", "probs"):
            expected, is_valid = f"(N, {classes})", array.ndim == 2 and array.shape[1] == classes
        elif name == "top":
            expected, is_valid = f"(N, 1 to {classes})", array.ndim == 2 and 0 < array.shape[1] <= classes
        if not is_valid:
            problems.append(
                f"has {name} of the shape {array.shape}; expected {expected}, because the dataset has "
                f"{plural(classes, 'class')}"
            )
    lengths = {name: array.shape[:1] for name, array in arrays.items() if name in TYPES}
    if not problems and len(set(lengths.values())) > 1:
        problems.append(
            f"has arrays of different lengths: {', '.join(f'{n} {rows}' for n, (rows,) in lengths.items())}"
        )
    return problems
