"""Class folders: the labels that loaders derive from class folders, and the image list of RobustBench.

torchvision sorts class folders by code points, and timm sorts them in natural order. RobustBench evaluates on 5,000 of
ImageNet's 50,000 validation images. Three classes have no image on its list. torchvision's ImageFolder rejects an empty
class folder, and without the folder the labels of all later classes would be too low by one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from ...errors import BuildError, first_few, format_list
from ...files import read_text, reason
from .contents import ExportContents, refuse

_PADDED = "For labels that are the same everywhere, build from class folders with zero-padded numbers (02_dog)."
_SUFFIX = re.compile(r"\.(jpe?g|png)$", re.IGNORECASE)


def class_notes(
    layout: str, contents: ExportContents, paths: Iterable[tuple[str, int]], *, allow_missing: bool
) -> list[str]:
    """Return notes on loaders that would derive wrong labels from the class folders.

    `paths` has one pair per image of a set: the path below the set's folder, and the label.

    Raises
    ------
    BuildError
        Some classes have no image, and `allow_missing` is False.
    """
    rows = list(paths)
    missing = [c.folder for c in contents.classes if c.index not in {label for _, label in rows}]
    if missing and not allow_missing:
        raise BuildError(
            f"The layout {layout} needs an image of every class, because its loaders number classes by listing the "
            f"folders. {len(missing)} of {len(contents.classes)} classes have none:\n{format_list(missing, 10)}\n"
            "Build from samples of every class (--samples spreads its choice evenly), or export with "
            "--allow-missing-classes. The labels that loaders find by listing folders then differ from those in the "
            "manifest."
        )
    return [*_padding_notes(contents), *numbering_notes(rows)]


def _padding_notes(contents: ExportContents) -> list[str]:
    """Return a note if the names of class folders are zero-padded, but those in the source are not."""
    for sample in contents.samples:
        one = contents.classes[sample.class_index]
        padded = one.folder != one.name and one.folder == one.name.rjust(len(one.folder), "0")
        if padded and sample.id.startswith(f"{one.name}/"):
            return [
                f"Class folders have zero-padded names: class {one.name} is in folder {one.folder}. Loaders that sort "
                "the names as text then find the labels of the manifest."
            ]
    return []


def numbering_notes(paths: Iterable[tuple[str, int]]) -> list[str]:
    """Return notes on loaders whose labels would differ from those of a dataset.

    `paths` has one pair per image of a set: the path below the set's folder, and the label.

    torchvision's ImageFolder sorts the top-level folders by code points. timm sorts the folders directly above the
    images in natural order, in which ``2_dog`` precedes ``10_cat``.
    """
    rows = {(path.partition("/")[0], path.rpartition("/")[0].rpartition("/")[2], label) for path, label in paths}
    labels = {label for *_, label in rows}
    if len(labels) <= max(labels, default=-1):
        return [
            "Classes have no image and therefore no folder, so labels found by listing folders differ from the "
            "manifest's."
        ]
    torchvision = _agrees({(first, label) for first, _, label in rows}, str)
    timm = _agrees({(last, label) for _, last, label in rows}, _natural)
    if torchvision and timm:
        return []
    if not torchvision and not timm:
        return [
            "The class folders do not sort in the order of the classes, so labels found by listing folders differ from "
            "the manifest's."
        ]
    other, same, how = (
        ("timm", "torchvision", "sorts the folders directly above the images in natural order, 2_dog before 10_cat")
        if torchvision
        else ("torchvision", "timm", "sorts the class folders by code points, 10_cat before 2_dog")
    )
    return [
        f"{other} numbers these classes differently: it {how}. Its labels differ from the manifest's and from those of "
        f"{same}. {_PADDED}"
    ]


def _agrees(pairs: Iterable[tuple[str, int]], key: Callable[[str], Any]) -> bool:
    """Return whether sorting the folders by `key` puts them in the order of their labels."""
    folders = sorted((key(folder), label) for folder, label in pairs)
    # Folders with equal keys have no fixed order. Two folders with the same label belong to one class.
    return all(a[0] != b[0] and a[1] < b[1] for a, b in pairwise(folders))


def _natural(text: str) -> list[int | str]:
    """Return the key by which timm sorts folder names."""
    return [int(part) if part.isdecimal() else part for part in re.split(r"(\d+)", text.lower())]


def read_list(path: str | Path) -> tuple[str, ...]:
    """Return the names on a list of images. The name is the first word of each line.

    Raises
    ------
    BuildError
        The list cannot be read or is empty.
    """
    try:
        lines = read_text(Path(path)).splitlines()
    except OSError as e:
        raise BuildError(f"--list {path} cannot be read: {reason(e)}.") from e
    names = tuple(dict.fromkeys(line.split()[0] for line in lines if line.strip()))
    if not names:
        raise BuildError(f"--list {path} is empty. Expected the name of an image on every line.")
    return names


def with_every_class(layout: str, contents: ExportContents, names: Sequence[str]) -> tuple[Sequence[int], list[str]]:
    """Return the indices of the samples to export, and notes.

    The exported samples are those on the list, and one sample from each class that has none on the list.

    Raises
    ------
    BuildError
        No list is given, or a name on it does not belong to exactly one sample.
    """
    if not names:
        raise BuildError(
            f"The layout {layout} needs the list of its images. Pass --list FILE, with the name of an image on every "
            "line."
        )
    by_name: dict[str, list[int]] = {}
    fillers: dict[int, int] = {}
    for index, sample in enumerate(contents.samples):
        fillers.setdefault(sample.class_index, index)
        for name in {sample.id, sample.id.rpartition("/")[2]}:
            by_name.setdefault(name, []).append(index)
    problems: list[str] = []
    on_list: set[int] = set()
    for name in names:
        stem = _SUFFIX.sub("", name)
        matches = by_name.get(stem) or by_name.get(stem.rpartition("/")[2]) or []
        if len(matches) != 1:
            problems.append(f"{name}: {f'names {len(matches)} samples' if matches else 'is not among the samples'}")
        on_list |= set(matches)
    refuse(layout, problems, "Build from the whole source (without --samples), or correct the list.")
    lacking = sorted(fillers.keys() - {contents.samples[i].class_index for i in on_list})
    folders = first_few([contents.classes[label].folder for label in lacking], 8)
    note = f"{len(on_list)} images are on the list. {len(lacking)} more are added for empty class folders: {folders}."
    return sorted(on_list | {fillers[label] for label in lacking}), [note] * bool(lacking)
