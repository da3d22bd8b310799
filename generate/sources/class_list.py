"""The class list of a source that has one folder for each class.

Labels depend only on the names of the folders. A folder whose images cannot be used keeps its label, so the labels of
all other classes are the same with and without this folder.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from urllib.parse import quote

from ...manifests.records.models import ClassRecord
from .labels import find_collisions, find_invalid_names, name_problem, nfc

NUMBER = re.compile(r"[0-9]+")
SAME_NUMBER = "is the same number as {}: rename one of them"
MAX_ESCAPED = 200
"""Limit on the length of an escaped class name, in characters. Escaping makes a name up to three times as long."""


@dataclass(frozen=True)
class ClassList:
    """Class folders in the order of their labels."""

    classes: tuple[ClassRecord, ...]
    label_of: Mapping[str, int]
    """The labels of all folders, by folder name on disk."""
    invalid: Mapping[str, str]
    """The reasons why the images of some folders cannot be stored under the folder's name, by folder name on disk."""
    remarks: tuple[str, ...]
    """Notes for users about the order of the labels."""


def number_folders(folders: Sequence[str]) -> ClassList:
    """Return one class for each class folder, including folders whose names are invalid.

    Folders are sorted by the code points of their NFC names, as in torchvision's ImageFolder. If all names are whole
    numbers, folders are sorted as numbers. Their images are then stored in folders with zero-padded names, which have
    the same order when they are sorted as text.

    Parameters
    ----------
    folders : sequence of str
        Names of all first-level folders on disk.

    Examples
    --------
    >>> [(c.name, c.folder) for c in number_folders(["10", "9", "8"]).classes]
    [('8', '08'), ('9', '09'), ('10', '10')]
    >>> [(c.name, c.folder) for c in number_folders(["cat", "a\\tb"]).classes]
    [('a%09b', '.class-0'), ('cat', 'cat')]
    """
    invalid = find_invalid_names(folders)
    by_text = sorted(folders, key=lambda folder: (nfc(folder), folder))
    numeric = bool(folders) and all(map(NUMBER.fullmatch, folders))
    ordered = by_text
    if numeric:
        ordered = sorted(folders, key=lambda folder: (int(folder), folder))
        invalid = find_collisions({folder: str(int(folder)) for folder in folders}, SAME_NUMBER) | invalid
    width = max((len(folder) for folder in folders if folder not in invalid), default=0) if numeric else 0
    names = _names(ordered)
    classes = tuple(
        # Class folders never begin with a dot, so this name cannot collide with the name of another class folder.
        ClassRecord(index=i, name=name, folder=f".class-{i}" if folder in invalid else name.rjust(width, "0"))
        for i, (folder, name) in enumerate(zip(ordered, names, strict=True))
    )
    label_of = {folder: i for i, folder in enumerate(ordered)}
    remarks = _numeric_folder_notes(ordered, by_text, classes) if numeric else _mixed_folder_notes(by_text)
    return ClassList(classes, label_of, invalid, tuple(remarks))


def _names(folders: Sequence[str]) -> list[str]:
    """Return one class name per folder. Names that cannot be stored or printed are escaped."""
    counts = Counter(map(nfc, folders))
    names = []
    for folder in folders:
        name = nfc(folder)
        if name_problem(folder) is not None or (counts[name] > 1 and folder != name):
            name = quote(os.fsencode(folder), safe=" ")
            if len(name) > MAX_ESCAPED:
                name = f"{name[:MAX_ESCAPED]}~{hashlib.sha256(os.fsencode(folder)).hexdigest()[:16]}"
        names.append(name)
    return names


def _numeric_folder_notes(ordered: Sequence[str], by_text: Sequence[str], classes: Sequence[ClassRecord]) -> list[str]:
    """Return a note about folders that are sorted as numbers, or an empty list if all orders agree."""
    moved = [folder for folder, other in zip(ordered, by_text, strict=True) if folder != other]
    shifted = [folder for i, folder in enumerate(ordered) if int(folder) != i]
    if not moved and not shifted:
        return []
    label_of = {folder: i for i, folder in enumerate(ordered)}
    example = (shifted or moved)[-1]
    label = label_of[example]
    sentences = [f"The class folders are numbers, so they are sorted as numbers: folder {example} has label {label}."]
    if shifted:
        sentences.append("The numbers are not 0, 1, 2, ... without gaps, so labels are positions in that order.")
    if moved:
        padded = next((c.folder for c in classes if c.folder != c.name and NUMBER.fullmatch(c.folder)), "01")
        sentences.append(
            f"torchvision's ImageFolder sorts the names of the source as text and gives {example} the label "
            f"{by_text.index(example)}. Images are stored in folders with zero-padded names ({padded}), for which the "
            "two orders are the same."
        )
    return [" ".join(sentences)]


def _mixed_folder_notes(by_text: Sequence[str]) -> list[str]:
    """Return a note if some folders are numbers whose order changes because all folders are sorted as text."""
    numbers = [folder for folder in by_text if NUMBER.fullmatch(folder)]
    if numbers == sorted(numbers, key=int):
        return []
    early = next(folder for folder, after in pairwise(numbers) if int(folder) > int(after))
    late = numbers[numbers.index(early) + 1]
    other = next(folder for folder in by_text if not NUMBER.fullmatch(folder))
    return [
        f"Not all class folders are numbers ({nfc(other)!r} is not), so all are sorted as text, as torchvision's "
        f"ImageFolder does: folder {early} has label {by_text.index(early)}, and folder {late} has label "
        f"{by_text.index(late)}."
    ]
