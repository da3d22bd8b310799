"""Labels and the classes that they number: of a flat folder's CSV (``file,label``), of arrays, and of lists of names."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import SourceError
from ...manifests.records.models import ClassRecord
from .image_csv import read_column, refuse_column
from .naming import find_equal, name_problem

MAX_LABEL = 99_999


def read_labels(path: Path, images: Sequence[str]) -> tuple[dict[str, int], tuple[ClassRecord, ...]]:
    """Return the label of every file that a CSV names, by the path as it is on disk, and the classes.

    Labels are whole numbers, kept as they are (their classes' folders are the numbers with leading zeros, so that they
    sort), or class names, numbered in their sorted order. A name is taken in Unicode's normal form C.

    Parameters
    ----------
    path : Path
        UTF-8, with or without a byte-order mark.
    images : sequence of str
        Paths below the folder.

    Raises
    ------
    SourceError
        Every mistake at once, with its line.
    """
    given, problems = read_column(path, "label", images)
    classes = _classes([label for _, _, label in given], problems)
    refuse_column(path, "label", problems, given, "the label a whole number or a class name")
    index_of = {c.name: c.index for c in classes}
    numbers = all(_whole(label) for _, _, label in given)
    return {file: int(label) if numbers else index_of[label] for _, file, label in given}, classes


def _whole(label: str) -> bool:
    return label.isascii() and label.isdigit()


def _classes(labels: Sequence[str], problems: list[str]) -> tuple[ClassRecord, ...]:
    names = sorted(set(labels))
    numbers = [name for name in names if _whole(name)]
    other = [name for name in names if not _whole(name)]
    if numbers and other:
        problems.append(f"the labels mix whole numbers ({numbers[0]}, ...) and class names ({other[0]}, ...); use one kind")
        return ()
    if numbers:
        values = sorted({int(name) for name in numbers})
        problems += [f"the label {v} is above {MAX_LABEL}" for v in values if v > MAX_LABEL]
        return () if problems else numbered_classes(values[-1])
    problems += [f"the class name {name!r} {problem}" for name in names if (problem := _folder_problem(name)) is not None]
    same = find_equal({name: name for name in names})
    problems += [f"the class name {name!r} {reason}" for name, reason in same.items()]
    return tuple(ClassRecord(index=i, name=name, folder=name) for i, name in enumerate(names))


def _folder_problem(name: str) -> str | None:
    """Return why a class's name cannot be its folder's, or None."""
    if (problem := name_problem(name)) is not None:
        return problem
    unfit = not name or "/" in name or name.startswith(".") or len(name.encode()) > 200
    return "cannot be a folder's name; use letters, digits, spaces, - and _" if unfit else None


def whole_labels(given: Any, count: int, where: str) -> NDArray[np.int64]:
    """Return labels, an array or a dataset that is not read yet, or refuse them."""
    if given.dtype.kind not in "iu" or given.ndim != 1:
        raise SourceError(f"{where} holds {given.dtype} of shape {given.shape}; expected whole numbers of shape ({count},), one an image.")
    if len(given) != count:
        raise SourceError(f"{where} has {len(given)} labels for {count} images; expected one an image. Do the two files belong together?")
    values: NDArray[np.int64] = np.asarray(given[()]).astype(np.int64)
    check_labels(values, 0, MAX_LABEL, where)
    return values


def numbered_classes(last: int) -> tuple[ClassRecord, ...]:
    """Return classes that have numbers for names, 0 up to the last label: a manifest numbers its classes without gaps.

    Examples
    --------
    >>> [c.folder for c in numbered_classes(10)][:3]
    ['00', '01', '02']
    """
    width = len(str(last))
    return tuple(ClassRecord(index=i, name=str(i), folder=f"{i:0{width}d}") for i in range(last + 1))


def named_classes(names: Sequence[str], where: str) -> tuple[ClassRecord, ...]:
    """Return the classes of a list of names; a folder is the name, with its index in front where names do not sort as they are numbered.

    Raises
    ------
    SourceError
        A name is empty, given twice, or cannot be a folder's.

    Examples
    --------
    >>> [c.folder for c in named_classes(["cat", "dog"], "x")], [c.folder for c in named_classes(["dog", "cat"], "x")]
    (['cat', 'dog'], ['0_dog', '1_cat'])
    """
    problems = [f"class {i}, {name!r}, {problem}" for i, name in enumerate(names) if (problem := _folder_problem(name)) is not None]
    if not problems and len({n.casefold() for n in names}) < len(names):
        problems = ["a class name is given twice"]
    if problems or not names:
        raise SourceError(f"{where} does not hold class names: {'; '.join(problems[:5]) or 'it has none'}. Download it again.")
    sorts = list(names) == sorted(names)
    width = len(str(len(names) - 1))
    return tuple(ClassRecord(index=i, name=n, folder=n if sorts else f"{i:0{width}d}_{n}") for i, n in enumerate(names))


def check_labels(labels: NDArray[np.int64], low: int, high: int, where: str) -> None:
    """Refuse labels outside ``low`` .. ``high``."""
    wrong = np.flatnonzero((labels < low) | (labels > high))
    if len(wrong):
        rows = ", ".join(f"row {i}: {labels[i]}" for i in wrong[:5])
        raise SourceError(
            f"{where} has {len(wrong)} label{'s' * (len(wrong) > 1)} out of range ({rows}); expected {low} to {high}. "
            "Download it again, or make it again."
        )
