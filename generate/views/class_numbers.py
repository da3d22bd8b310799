"""How loaders number the class folders that they find: torchvision by code points, timm naturally."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import Any

from ...errors import BuildError, listed
from .subject import Subject


def class_notes(view: str, subject: Subject, paths: Iterable[tuple[str, int]], *, allow_missing: bool) -> list[str]:
    """Return which loaders find other labels by listing folders, from (path below a set's folder, index) of the images of a set.

    Raises
    ------
    BuildError
        Classes have no image, and that is not allowed.
    """
    rows = [(path, subject.samples[index].class_index) for path, index in paths]
    labels = {label for _, label in rows}
    missing = [c.folder for c in subject.classes if c.index not in labels]
    if missing and not allow_missing:
        raise BuildError(
            f"The view {view} needs an image of every class, because its loaders number classes by listing the folders. "
            f"{len(missing)} of {len(subject.classes)} classes have none:\n{listed(missing, 10)}\n"
            "Build from samples of every class (--samples spreads evenly), or export with --allow-missing-classes: "
            "the labels that loaders find by listing will then differ from the manifest's."
        )
    lacking = (
        f"{len(missing)} of {len(subject.classes)} classes have no folder: labels found by listing folders differ from the manifest's."
    )
    return [lacking] * bool(missing) + numbering_notes(rows)


def numbering_notes(paths: Iterable[tuple[str, int]]) -> list[str]:
    """Return which loaders take other labels than a data set's, from (path below a set's folder, label) of its images.

    torchvision's ImageFolder sorts the first folders of the paths by code points. timm sorts the last folders, those right above the
    images, naturally: ``2_dog`` before ``10_cat``.
    """
    rows = list(paths)
    torchvision = _agrees(((path.partition("/")[0], label) for path, label in rows), str)
    timm = _agrees(((path.rpartition("/")[0].rpartition("/")[2], label) for path, label in rows), _natural)
    if torchvision and timm:
        return []
    if not torchvision and not timm:
        return ["The class folders do not sort in the order of the classes: labels found by listing folders differ from the manifest's."]
    other, same, how = (
        ("timm", "torchvision", "sorts the folders right above the images, naturally: 2_dog before 10_cat")
        if torchvision
        else ("torchvision", "timm", "sorts the class folders by code points: 10_cat before 2_dog")
    )
    return [
        f"{other} numbers these classes otherwise: it {how}. Its labels differ from the manifest's and from those of {same}. "
        "For labels that are the same everywhere, build from class folders with zero-padded numbers (02_dog)."
    ]


def _agrees(rows: Iterable[tuple[str, int]], key: Callable[[str], Any]) -> bool:
    """Return whether the folders, sorted by a key, stand in the order of their labels, one folder a label."""
    pairs = set(rows)
    folders = sorted((key(folder), label) for folder, label in pairs)
    # folders with one key come in any order
    distinct = all(a != b for (a, _), (b, _) in pairwise(folders))
    return distinct and [label for _, label in folders] == sorted({label for _, label in folders})


def _natural(text: str) -> list[int | str]:
    """Return timm's sorting key."""
    return [int(part) if part.isdecimal() else part for part in re.split(r"(\d+)", text.lower())]
