"""What the columns of a table of predictions say together, and all that is wrong with them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from .prediction_tables import MOST_NAME, NAMES, Column
from .reduction import COLUMNS, KINDS, Kind

EXPECTED = "logits, probs, top, or rank_true with p_true"
_KINDS_OF_NUMBERS = {"f": "float16, float32 or float64", "iu": "whole numbers (int64)", "U": "text of a fixed width"}


@dataclass(frozen=True)
class Layout:
    """What a table's columns say together."""

    kind: Kind
    key: str | None
    """``index`` or ``id``; None where rows stand in the data set's order."""
    columns: tuple[str, ...]
    """Those to be read."""


def layout(columns: Mapping[str, Column], classes: int, images: int, set_id: str | None, names: int) -> tuple[Layout | None, list[str]]:
    """Return what a table's columns say, or all that is wrong with them, as what follows the file's name.

    Parameters
    ----------
    columns : mapping
        The table's.
    classes, images : int
        Of the data set.
    set_id : str or None
        Of the one set that the table must be of; None where it must name them.
    names : int
        How many names of sets there are.
    """
    kinds = [kind for kind in KINDS if any(name in columns for name in COLUMNS[kind])]
    if not kinds:
        return None, [f"holds no predictions: it has {', '.join(columns) or 'no column that is known'}; expected {EXPECTED}"]
    problems = []
    parts = [name for kind in kinds for name in COLUMNS[kind] if name in columns]
    if len(kinds) > 1:
        problems.append(f"holds {' and '.join(parts)}, which are {len(kinds)} kinds of predictions: write one of {EXPECTED}")
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
        problems.append("has columns of different lengths: " + ", ".join(f"{name} {count:,}" for name, count in counts.items()))
    elif not problems and rows is not None and (rows > most or (rows != most and not keys and set_id is not None)):
        more = "" if keys else "; where there is no index or id, every image has a row, in the data set's order"
        problems.append(f"has {rows:,} rows; the data set has {images:,} images{' a set' if set_id is None else ''}{more}")
    if problems:
        return None, problems
    return Layout(kinds[0], keys[0] if keys else None, (*(["set_id"] if set_id is None else []), *keys, *COLUMNS[kinds[0]])), []


def _column_problems(name: str, column: Column, classes: int) -> Iterator[str]:
    dtype, wide = column.dtype, name in ("logits", "probs", "top")
    if dtype.kind not in NAMES[name] or (dtype.kind == "f" and dtype.itemsize > 8):
        yield f"has {name} of {dtype}; expected {_KINDS_OF_NUMBERS[NAMES[name]]}{_remedy(name, dtype)}"
    elif dtype.kind == "U" and dtype.itemsize > 4 * MOST_NAME:
        yield f"has {name} of {dtype.itemsize // 4:,} characters; a name has at most {MOST_NAME:,}"
    if len(column.shape) != wide:
        yield f"has {name} of {len(column.shape) + 1} dimension{'s' * bool(column.shape)}; expected {'(N, classes)' if wide else '(N,)'}"
    elif (name in ("logits", "probs") and column.shape != (classes,)) or (name == "top" and not 1 <= column.shape[0] <= classes):
        yield f"has {name} of {column.shape[0]:,} classes; the data set has {classes:,}"


def _remedy(name: str, dtype: np.dtype[Any]) -> str:
    """Return the next step, where there is one for a type that is not taken."""
    if dtype.kind == "V":
        return " (numpy has no bfloat16: convert to float32 first)"
    if dtype.kind == "S":
        return ": array.astype(str)"
    return f": array.astype({'np.float32' if NAMES[name] == 'f' else 'np.int64'})" if dtype.kind in "iuf" else ""
