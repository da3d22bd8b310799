"""How loaders number the class folders that they find: torchvision by code points, timm naturally."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import Any

from ...errors import BuildError, listed
from .contents import Contents

_PADDED = "For labels that are the same everywhere, build from class folders with zero-padded numbers (02_dog)."


def class_notes(view: str, contents: Contents, paths: Iterable[tuple[str, int]], *, allow_missing: bool) -> list[str]:
    """Return which loaders find other labels by listing folders.

    `paths` are (path below a set's folder, label) of the images of a set.

    Raises
    ------
    BuildError
        Classes have no image, and that is not allowed.
    """
    rows = list(paths)
    missing = [c.folder for c in contents.classes if c.index not in {label for _, label in rows}]
    count = f"{len(missing)} of {len(contents.classes)} classes have"
    if missing and not allow_missing:
        raise BuildError(
            f"The view {view} needs an image of every class, because its loaders number classes by listing the "
            f"folders. {count} none:\n{listed(missing, 10)}\n"
            "Build from samples of every class (--samples spreads evenly), or export with --allow-missing-classes: "
            "the labels that loaders find by listing will then differ from the manifest's."
        )
    lacking = f"{count} no folder: labels found by listing folders differ from the manifest's."
    return [lacking] * bool(missing) + numbering_notes(rows)


def numbering_notes(paths: Iterable[tuple[str, int]]) -> list[str]:
    """Return which loaders take other labels than a data set's.

    `paths` are (path below a set's folder, label) of its images.

    torchvision's ImageFolder sorts the first folders of the paths by code points. timm sorts the last folders, those
    right above the images, naturally: ``2_dog`` before ``10_cat``.
    """
    rows = {(path.partition("/")[0], path.rpartition("/")[0].rpartition("/")[2], label) for path, label in paths}
    torchvision = _agrees({(first, label) for first, _, label in rows}, str)
    timm = _agrees({(last, label) for _, last, label in rows}, _natural)
    if torchvision and timm:
        return []
    if not torchvision and not timm:
        return [
            "The class folders do not sort in the order of the classes: labels found by listing folders differ from "
            "the manifest's."
        ]
    other, same, how = (
        ("timm", "torchvision", "sorts the folders right above the images, naturally: 2_dog before 10_cat")
        if torchvision
        else ("torchvision", "timm", "sorts the class folders by code points: 10_cat before 2_dog")
    )
    return [
        f"{other} numbers these classes otherwise: it {how}. Its labels differ from the manifest's and from those of "
        f"{same}. {_PADDED}"
    ]


def _agrees(pairs: Iterable[tuple[str, int]], key: Callable[[str], Any]) -> bool:
    """Return whether folders, sorted by a key, stand in the order of their labels.

    There is one folder a label.
    """
    folders = sorted((key(folder), label) for folder, label in pairs)
    # folders with one key come in any order; equal labels are two folders of one class
    return all(a[0] != b[0] and a[1] < b[1] for a, b in pairwise(folders))


def _natural(text: str) -> list[int | str]:
    """Return timm's sorting key."""
    return [int(part) if part.isdecimal() else part for part in re.split(r"(\d+)", text.lower())]
