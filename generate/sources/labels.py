"""Ids, classes, labels and groups of samples, from paths, CSV files and arrays."""

from __future__ import annotations

import csv
import os
import re
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...errors import SourceError, first_few, format_list, suggest
from ...files import read_text, reason
from ...manifests.records.fields import DRIVE_PATTERN
from ...manifests.records.models import ClassRecord

CONTROLS = ("Cc", "Zl", "Zp")
"""Unicode categories of control characters, line separators and paragraph separators."""
MAX_NAME_BYTES = 240
"""Limit on the UTF-8 bytes of one path component. File systems allow 255 bytes, and a suffix is added while a file is
written.
"""
MAX_ID_BYTES = 1024
NAME_COLLISION = "has the same name as {} on disks that ignore case or Unicode forms: rename one"


def nfc(text: str) -> str:
    """Return a string in Unicode normal form C."""
    return unicodedata.normalize("NFC", text)


def sample_id(path: str) -> str:
    """Return the id of an image: its POSIX path without suffix, in Unicode normal form C.

    Examples
    --------
    >>> sample_id("n01440764/ILSVRC2012_val_00000293.JPEG"), sample_id("a/x.tar.png")
    ('n01440764/ILSVRC2012_val_00000293', 'a/x.tar')
    >>> sample_id("cafe\\u0301/1.png") == "caf\\xe9/1"
    True
    """
    return nfc(path.rpartition(".")[0])


def printable_path(path: str) -> str:
    """Return a path as printable text. Bytes that are not UTF-8 and control characters are escaped.

    Examples
    --------
    >>> printable_path("a/tab\\there.png")
    'a/tab\\\\there.png'
    """
    text = os.fsencode(path).decode("utf-8", "backslashreplace")
    return "".join(c.encode("unicode_escape").decode() if unicodedata.category(c) in CONTROLS else c for c in text)


def name_problem(path: str) -> str | None:
    """Return the reason why a path cannot be turned into an id, or None.

    Examples
    --------
    >>> name_problem("a/b c.png") is None, name_problem("a/b\\tc.png") is None
    (True, False)
    >>> name_problem("c:/b.png"), name_problem("12:30/b.png")
    ('begins with c:, which is a drive on Windows: rename it', None)
    """
    try:
        parts = [part.encode() for part in nfc(path).split("/")]
    except UnicodeEncodeError:
        return "has a name that is not UTF-8: rename it"
    if controls := sorted({c for c in path if unicodedata.category(c) in CONTROLS}):
        return f"has control characters in its name ({', '.join(f'U+{ord(c):04X}' for c in controls)}): rename it"
    if "\\" in path:
        return "has a backslash in its name, which separates folders on Windows: rename it"
    if DRIVE_PATTERN.match(path):
        return f"begins with {path[:2]}, which is a drive on Windows: rename it"
    if max(map(len, parts)) > MAX_NAME_BYTES or len(b"/".join(parts)) > MAX_ID_BYTES:
        return f"has a name longer than {MAX_NAME_BYTES} bytes (a path longer than {MAX_ID_BYTES}): shorten it"
    return None


def find_collisions(named: Mapping[str, str], reason: str = NAME_COLLISION) -> dict[str, str]:
    """Find paths whose names are equal under case folding, and return the reason to reject each of these paths."""
    groups: dict[str, list[str]] = defaultdict(list)
    for path, name in named.items():
        groups[nfc(nfc(name).casefold())].append(path)
    shared = [group for group in groups.values() if len(group) > 1]
    return {path: reason.format(", ".join(p for p in group if p != path)) for group in shared for path in group}


def find_invalid_names(names: Iterable[str]) -> dict[str, str]:
    """Find names that cannot be stored, or cannot be stored together, and return the reason for each of them."""
    problems = {name: name_problem(name) for name in names}
    return find_collisions({name: name for name in problems}) | {name: why for name, why in problems.items() if why}


def class_problems(names: Sequence[str]) -> list[str]:
    """Return the reasons why class names cannot be used. Class names are also names of folders."""
    wrong = find_invalid_names(names)
    for name in names:
        if not name or "/" in name or name.startswith(".") or len(name.encode("utf-8", "replace")) > 200:
            wrong[name] = "cannot be a folder's name; use letters, digits, spaces, - and _"
    return [f"the class name {name!r} {why}" for name, why in wrong.items()]


def folder_classes(names: Sequence[str]) -> tuple[ClassRecord, ...]:
    """Return one class for each folder name, in the given order."""
    return tuple(ClassRecord(index=i, name=name, folder=name) for i, name in enumerate(names))


def numbered_classes(last: int) -> tuple[ClassRecord, ...]:
    """Return classes whose names are consecutive numbers, from 0 to the last label.

    Examples
    --------
    >>> [c.folder for c in numbered_classes(10)][:3]
    ['00', '01', '02']
    """
    width = len(str(last))
    return tuple(ClassRecord(index=i, name=str(i), folder=f"{i:0{width}d}") for i in range(last + 1))


def named_classes(names: Sequence[str], where: str) -> tuple[ClassRecord, ...]:
    """Return classes with the given names. The names of their folders sort in the order of the labels.

    Raises
    ------
    SourceError
        A name is given twice, or cannot be the name of a folder.

    Examples
    --------
    >>> [c.folder for c in named_classes(["cat", "dog"], "x")], [c.folder for c in named_classes(["dog", "cat"], "x")]
    (['cat', 'dog'], ['0_dog', '1_cat'])
    """
    twice = ["a class name is given twice"] * (len(set(names)) < len(names))
    if problems := twice + class_problems(names) if names else ["it has none"]:
        raise SourceError(f"{where} does not hold class names: {first_few(problems)}. Download it again.")
    if list(names) == sorted(names):
        return folder_classes(names)
    width = len(str(len(names) - 1))
    return tuple(ClassRecord(index=i, name=name, folder=f"{i:0{width}d}_{name}") for i, name in enumerate(names))


MAX_LABEL = 99_999
MAX_CSV_BYTES = 512 * 2**20


def read_rows(path: Path, what: str, expected: str) -> list[tuple[int, list[str]]]:
    """Return the rows of a CSV, without empty rows, each with its line number.

    Raises
    ------
    SourceError
        The file cannot be read, or is not a CSV in UTF-8.
    """
    try:
        reader = csv.reader(read_text(path, MAX_CSV_BYTES).splitlines(keepends=True), strict=True)
        return [(reader.line_num, [cell.strip() for cell in row]) for row in reader if row]
    except (OSError, csv.Error) as e:
        problem = reason(e) if isinstance(e, OSError) else f"line {reader.line_num}: {e}"
        raise SourceError(f"The {what} file {path} cannot be read: {problem}. Expected {expected}.") from None


def _read_column(
    path: Path,
    column: str,
    images: Sequence[str],
    validate: Callable[[Mapping[str, int]], Sequence[str]],
    expected: str,
) -> dict[str, str]:
    """Read a CSV with the columns ``file,<column>``, and return a mapping from the path of each image to its value.

    Paths are compared in Unicode normal form C, and values are returned in the same form. `validate` takes the sorted
    values, each with the number of the first line that contains it. It returns a list of problems.
    """
    (_, header), *rows = read_rows(path, column, f"a CSV with the columns file,{column}") or [(1, ["nothing"])]
    if header != ["file", column]:
        raise SourceError(
            f"The {column} file {path} begins with {','.join(header)!r}; expected the header line 'file,{column}'."
        )
    if not rows:
        raise SourceError(f"The {column} file {path} has a header, but no rows.")
    on_disk = {nfc(image): image for image in images}
    value_of: dict[str, str] = {}
    problems: list[str] = []
    seen: dict[str, int] = {}
    first_line: dict[str, int] = {}
    for line, row in rows:
        if len(row) != 2:
            problems.append(f"line {line}: has {len(row)} columns; expected file,{column}")
            continue
        name, value = nfc(row[0].replace("\\", "/").removeprefix("./")), nfc(row[1])
        if name not in on_disk:
            near = suggest(name, on_disk) if len(on_disk) < 5000 else ""
            problems.append(f"line {line}: there is no image {row[0]!r} in the folder.{near}")
        elif seen.setdefault(name, line) != line:
            problems.append(f"line {line}: {row[0]!r} is also on line {seen[name]}")
        elif not value:
            problems.append(f"line {line}: {row[0]!r} has no {column}")
        else:
            value_of[on_disk[name]] = value
            first_line.setdefault(value, line)
    problems += validate(dict(sorted(first_line.items())))
    if problems:
        raise SourceError(
            f"The {column} file {path} contains {len(problems)} error{'s' * (len(problems) > 1)}:\n"
            f"{format_list(problems)}\n"
            f"Expected one line 'file,{column}' per image: the file as a path below the folder, {expected}."
        )
    return value_of


def read_labels(path: Path, images: Sequence[str]) -> tuple[dict[str, str | int], list[str]]:
    """Read labels from a CSV. The labels are either all whole numbers or all class names.

    Whole numbers may be written with a decimal point (``3.0``), as pandas writes a column that once had an empty cell.

    Returns
    -------
    label_of : dict
        A mapping from the path of each image on disk to its label.
    remarks : list of str
        A note for users if numbers have a decimal point.

    Raises
    ------
    SourceError
        The CSV contains errors. The message lists all errors with their line numbers.
    """
    expected = f"the label a whole number from 0 to {MAX_LABEL} (3.0 is read as 3) or a class name"
    label_of = _read_column(path, "label", images, _label_problems, expected)
    pointed = next((label for label in label_of.values() if INTEGER.fullmatch(label) and not label.isdigit()), None)
    remarks = [f"Labels in {path} have a decimal point ({pointed}) and are read as whole numbers."] * bool(pointed)
    return {file: _integer(label) if INTEGER.fullmatch(label) else label for file, label in label_of.items()}, remarks


INTEGER = re.compile(r"[0-9]+(\.0*)?")
"""Labels that are read as numbers."""
_ANY_NUMBER = re.compile(
    r"[-+\u2212]?(\d+([.,]\d*)?|[.,]\d+)(e[-+\u2212]?\d+)?|0x[0-9a-f]+|[-+]?(nan|inf|infinity)", re.IGNORECASE
)
"""Strings that are meant as numbers. If they were sorted as text, their labels would be in an unintended order."""


def _integer(label: str) -> int:
    return int(label.partition(".")[0])


def _label_problems(lines: Mapping[str, int]) -> list[str]:
    integers = [label for label in lines if INTEGER.fullmatch(label)]
    invalid = [label for label in lines if _ANY_NUMBER.fullmatch(label) and not INTEGER.fullmatch(label)]
    names = [label for label in lines if not _ANY_NUMBER.fullmatch(label)]
    problems = [
        f"line {lines[label]}: the label {label[:40]!r} is {_invalid_number_reason(label)}" for label in invalid
    ]
    problems += [
        f"line {lines[label]}: the label {label[:40]} is above {MAX_LABEL}"
        for label in integers
        if len(label) > 40 or _integer(label) > MAX_LABEL
    ]
    if names and (numbers := [*integers, *invalid]):
        first, other = min(numbers, key=lines.__getitem__), min(names, key=lines.__getitem__)
        mixed = f"(line {lines[first]}: {first[:40]!r}) and class names (line {lines[other]}: {other[:40]!r})"
        return [*problems, f"the labels mix numbers {mixed}; use one kind"]
    return problems + class_problems(names)


def _invalid_number_reason(label: str) -> str:
    """Return the reason why a number cannot be a label."""
    if not label.isascii():
        return "written with digits or signs other than 0 to 9"
    if "n" in label.lower():
        return "not a label: a number was missing or could not be computed"
    if label.startswith("-"):
        return "negative"
    if label.startswith("+") or not set(label) <= set("0123456789.,"):
        return "a number in a notation other than 0, 1, 2, ..."
    return "a fraction, or has a comma"


def group_problem(name: str) -> str | None:
    """Return the reason why a string cannot be the name of a group, or None."""
    return (name_problem(name) or "").partition(":")[0] or None


class Groups(NamedTuple):
    """The groups of the images of a source."""

    kind: str
    """The kind of groups, as in manifests: ``csv``, or a word such as ``style``."""
    group_of: Mapping[str, str]
    """A mapping from the path of each image on disk to its group."""
    missing_message: str
    """The message for an image without a group."""


def read_groups(path: Path, images: Sequence[str]) -> Groups:
    """Read groups from a CSV, or raise `SourceError` with all mistakes in the CSV."""

    def validate(groups: Iterable[str]) -> list[str]:
        return [f"the group {group!r} {problem}" for group in groups if (problem := group_problem(group)) is not None]

    group_of = _read_column(path.expanduser(), "group", images, validate, "the group a name")
    return Groups("csv", group_of, missing_row_message(path))


def missing_row_message(path: Path) -> str:
    """Return the message for an image that a CSV does not name."""
    return f"has no row in {path.name}: add one, or leave the image out"


def integer_labels(given: NDArray[Any], count: int, where: str, high: int = MAX_LABEL) -> NDArray[np.int64]:
    """Return labels as integers, or raise `SourceError` unless they are `count` whole numbers from 0 to `high`.

    Floats are accepted if they are whole numbers, as in a CSV. `where` names the labels in error messages.
    """
    if given.dtype.kind not in "iuf" or given.ndim != 1:
        raise SourceError(
            f"{where} holds {given.dtype} of shape {given.shape}; expected whole numbers of shape ({count},), one per "
            "image."
        )
    if len(given) != count:
        raise SourceError(
            f"{where} has {len(given)} labels for {count} images; expected one per image. Do the two belong together? "
            "Download them again."
        )
    wrong = np.flatnonzero(~((given >= 0) & (given <= high) & (given == np.floor(given))))  # NaN fails all conditions
    if len(wrong):
        rows = ", ".join(f"row {i}: {given[i]}" for i in wrong[:5])
        what = "out of range" if given.dtype.kind != "f" else "out of range or not whole numbers"
        raise SourceError(
            f"{where} has {len(wrong)} label{'s' * (len(wrong) > 1)} {what} ({rows}); expected 0 to {high}. "
            "Download or create it again."
        )
    labels: NDArray[np.int64] = given.astype(np.int64)
    return labels
