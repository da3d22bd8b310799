"""Labels and the classes that they number: of a CSV beside images, of arrays, and of lists of names."""

from __future__ import annotations

import csv
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import SourceError, first_few, listed, suggest
from ...files import read_text, reason
from ...manifests.records.models import ClassRecord
from .naming import find_equal, name_problem, normal

MAX_LABEL = 99_999
MAX_CSV_BYTES = 512 * 2**20


def read_rows(path: Path, what: str, expected: str) -> list[tuple[int, list[str]]]:
    """Return the rows of a CSV that have something in them, each with the number of its line.

    Raises
    ------
    SourceError
        It cannot be read, or is no UTF-8 or no CSV.
    """
    problem = ""
    try:
        reader = csv.reader(read_text(path, MAX_CSV_BYTES).splitlines(keepends=True), strict=True)
        return [(reader.line_num, [cell.strip() for cell in row]) for row in reader if row]
    except OSError as e:
        problem = reason(e)
    except csv.Error as e:
        problem = f"line {reader.line_num}: {e}"
    raise SourceError(f"The {what} {path} cannot be read: {problem}. Expected {expected}.")


def read_column(
    path: Path, column: str, images: Sequence[str], judge: Callable[[Sequence[str]], Sequence[str]], expected: str
) -> dict[str, str]:
    """Return what a CSV ``file,<column>`` says of each image that it names, by the path as it is on disk.

    Parameters
    ----------
    path : Path
        UTF-8, with or without a byte-order mark.
    column : str
        What it says of an image.
    images : sequence of str
        Paths below the folder. They are compared in Unicode's normal form C, in which a value is returned, too.
    judge : callable
        From all values, sorted, to what is wrong with them.
    expected : str
        What a value is, in words.

    Raises
    ------
    SourceError
        It cannot be read, has another header, or has mistakes: all of them are listed.
    """
    (_, head), *rows = read_rows(path, f"{column}s", f"a CSV with the columns file,{column}") or [(1, ["nothing"])]
    if head != ["file", column]:
        raise SourceError(
            f"The {column}s {path} begin with {','.join(head)!r}; expected the header line 'file,{column}'."
        )
    if not rows:
        raise SourceError(f"The {column}s {path} have a header and no rows.")
    on_disk = {normal(image): image for image in images}
    said: dict[str, str] = {}
    problems: list[str] = []
    seen: dict[str, int] = {}
    for line, row in rows:
        if len(row) != 2:
            problems.append(f"line {line}: has {len(row)} columns; expected file,{column}")
            continue
        name, value = normal(row[0].replace("\\", "/").removeprefix("./")), normal(row[1])
        if name not in on_disk:
            near = suggest(name, on_disk) if len(on_disk) < 5000 else ""
            problems.append(f"line {line}: there is no image {row[0]!r} in the folder.{near}")
        elif seen.setdefault(name, line) != line:
            problems.append(f"line {line}: {row[0]!r} was given on line {seen[name]} already")
        elif not value:
            problems.append(f"line {line}: {row[0]!r} has no {column}")
        else:
            said[on_disk[name]] = value
    problems += judge(sorted(set(said.values())))
    if problems:
        raise SourceError(
            f"The {column}s {path} have {len(problems)} mistake{'s' * (len(problems) > 1)}:\n{listed(problems)}\n"
            f"Expected one line 'file,{column}' an image: the file as a path below the folder, {expected}."
        )
    return said


def read_labels(path: Path, images: Sequence[str]) -> tuple[dict[str, int], tuple[ClassRecord, ...]]:
    """Return the label of every file that a CSV names, by the path as it is on disk, and the classes.

    Labels are whole numbers, kept as they are (their classes' folders are the numbers with leading zeros, so that they
    sort), or class names, numbered in their sorted order.

    Raises
    ------
    SourceError
        Every mistake at once, with its line.
    """
    label_of = read_column(path, "label", images, _label_problems, "the label a whole number or a class name")
    names = sorted(set(label_of.values()))
    if _numbers(names):
        return {file: int(label) for file, label in label_of.items()}, numbered_classes(max(map(int, names)))
    index_of = {name: i for i, name in enumerate(names)}
    return {file: index_of[label] for file, label in label_of.items()}, folder_classes(names)


def _numbers(names: Sequence[str]) -> list[str]:
    return [name for name in names if name.isascii() and name.isdigit()]


def _label_problems(names: Sequence[str]) -> list[str]:
    numbers = _numbers(names)
    if numbers and len(numbers) < len(names):
        other = next(name for name in names if name not in numbers)
        return [f"the labels mix whole numbers ({numbers[0]}, ...) and class names ({other}, ...); use one kind"]
    if numbers:
        return [f"the label {name} is above {MAX_LABEL}" for name in numbers if len(name) > 20 or int(name) > MAX_LABEL]
    return _name_problems(names)


def _name_problems(names: Sequence[str]) -> list[str]:
    """Return what is wrong with names of classes, each of which is that of a folder, too."""
    wrong = find_equal({name: name for name in names}) | {
        name: why for name in names if (why := _folder_problem(name)) is not None
    }
    return [f"the class name {name!r} {why}" for name, why in wrong.items()]


def _folder_problem(name: str) -> str | None:
    """Return why a class's name cannot be its folder's, or None."""
    if not name or "/" in name or name.startswith(".") or len(name.encode("utf-8", "replace")) > 200:
        return "cannot be a folder's name; use letters, digits, spaces, - and _"
    return name_problem(name)


def whole_labels(given: Any, count: int, where: str) -> NDArray[np.int64]:
    """Return labels, an array or a dataset that is not read yet, or refuse them."""
    if given.dtype.kind not in "iu" or given.ndim != 1:
        raise SourceError(
            f"{where} holds {given.dtype} of shape {given.shape}; expected whole numbers of shape ({count},), one an "
            "image."
        )
    if len(given) != count:
        raise SourceError(
            f"{where} has {len(given)} labels for {count} images; expected one an image. Do the two files belong "
            "together?"
        )
    values: NDArray[np.int64] = np.asarray(given[()]).astype(np.int64)
    check_labels(values, MAX_LABEL, where)
    return values


def check_labels(labels: NDArray[np.int64], high: int, where: str) -> None:
    """Refuse labels outside 0 .. ``high``."""
    wrong = np.flatnonzero((labels < 0) | (labels > high))
    if len(wrong):
        rows = ", ".join(f"row {i}: {labels[i]}" for i in wrong[:5])
        raise SourceError(
            f"{where} has {len(wrong)} label{'s' * (len(wrong) > 1)} out of range ({rows}); expected 0 to {high}. "
            "Download it again, or make it again."
        )


def folder_classes(names: Sequence[str]) -> tuple[ClassRecord, ...]:
    """Return the classes that folders of these names are, in their order."""
    return tuple(ClassRecord(index=i, name=name, folder=name) for i, name in enumerate(names))


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
    """Return the classes of a list of names; a folder is the name, with its index in front where names do not sort as
    they are numbered.

    Raises
    ------
    SourceError
        A name is given twice, or cannot be a folder's.

    Examples
    --------
    >>> [c.folder for c in named_classes(["cat", "dog"], "x")], [c.folder for c in named_classes(["dog", "cat"], "x")]
    (['cat', 'dog'], ['0_dog', '1_cat'])
    """
    twice = ["a class name is given twice"] * (len(set(names)) < len(names))
    problems = twice + _name_problems(names) if names else ["it has none"]
    if problems:
        raise SourceError(f"{where} does not hold class names: {first_few(problems)}. Download it again.")
    if list(names) == sorted(names):
        return folder_classes(names)
    width = len(str(len(names) - 1))
    return tuple(ClassRecord(index=i, name=name, folder=f"{i:0{width}d}_{name}") for i, name in enumerate(names))
