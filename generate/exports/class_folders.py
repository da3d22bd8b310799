"""Class folders: their numbers for loaders, and lists of images that fill them.

torchvision sorts folders by code points, timm naturally. RobustBench evaluates on 5,000 of ImageNet's 50,000 images, by
a list of its own that leaves three classes empty: torchvision's ImageFolder refuses an empty class folder, and without
one every later class would be numbered one too low.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from ...errors import BuildError, first_few, listed
from ...files import read_text, reason
from .contents import ViewContents, refuse

_PADDED = "For labels that are the same everywhere, build from class folders with zero-padded numbers (02_dog)."
_SUFFIX = re.compile(r"\.(jpe?g|png)$", re.IGNORECASE)


def class_notes(
    view: str, contents: ViewContents, paths: Iterable[tuple[str, int]], *, allow_missing: bool
) -> list[str]:
    """Return which loaders find other labels by listing folders.

    `paths` are (path below a set's folder, label) of the images of a set.

    Raises
    ------
    BuildError
        Classes have no image, and that is not allowed.
    """
    rows = list(paths)
    missing = [c.folder for c in contents.classes if c.index not in {label for _, label in rows}]
    if missing and not allow_missing:
        raise BuildError(
            f"The view {view} needs an image of every class, because its loaders number classes by listing the "
            f"folders. {len(missing)} of {len(contents.classes)} classes have none:\n{listed(missing, 10)}\n"
            "Build from samples of every class (--samples spreads evenly), or export with --allow-missing-classes: "
            "the labels that loaders find by listing will then differ from the manifest's."
        )
    return [*_padding_notes(contents), *numbering_notes(rows)]


def _padding_notes(contents: ViewContents) -> list[str]:
    """Return a note where class folders have zero-padded names that differ from the folders of the source."""
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
    """Return which loaders take other labels than a data set's.

    `paths` are (path below a set's folder, label) of its images.

    torchvision's ImageFolder sorts the first folders of the paths by code points. timm sorts the last folders, those
    right above the images, naturally: ``2_dog`` before ``10_cat``.
    """
    rows = {(path.partition("/")[0], path.rpartition("/")[0].rpartition("/")[2], label) for path, label in paths}
    labels = {label for *_, label in rows}
    if len(labels) <= max(labels, default=-1):
        return ["Classes have no image, hence no folder: labels found by listing folders differ from the manifest's."]
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
    """Return whether folders, sorted by a key, stand in the order of their labels."""
    folders = sorted((key(folder), label) for folder, label in pairs)
    # folders with one key come in any order; equal labels are two folders of one class
    return all(a[0] != b[0] and a[1] < b[1] for a, b in pairwise(folders))


def _natural(text: str) -> list[int | str]:
    """Return timm's sorting key."""
    return [int(part) if part.isdecimal() else part for part in re.split(r"(\d+)", text.lower())]


def read_list(path: str | Path) -> tuple[str, ...]:
    """Return the names on a list: the first word of each line.

    Raises
    ------
    BuildError
        It cannot be read, or is empty.
    """
    try:
        lines = read_text(Path(path)).splitlines()
    except OSError as e:
        raise BuildError(f"--list {path} cannot be read: {reason(e)}.") from e
    names = tuple(dict.fromkeys(line.split()[0] for line in lines if line.strip()))
    if not names:
        raise BuildError(f"--list {path} names no image. Expected an image's name on every line.")
    return names


def with_every_class(view: str, contents: ViewContents, names: Sequence[str]) -> tuple[Sequence[int], list[str]]:
    """Return the samples on a list and one of each other class, and notes.

    Raises
    ------
    BuildError
        There is no list, or a name on it is that of no sample, or of several.
    """
    if not names:
        raise BuildError(
            f"The view {view} needs the list of its images: --list FILE, with an image's name on every line."
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
    refuse(view, problems, "Build from the whole source (without --samples), or mend the list.")
    lacking = sorted(fillers.keys() - {contents.samples[i].class_index for i in on_list})
    folders = first_few([contents.classes[label].folder for label in lacking], 8)
    note = f"{len(on_list)} images are on the list; {len(lacking)} more keep class folders from being empty: {folders}."
    return sorted(on_list | {fillers[label] for label in lacking}), [note] * bool(lacking)
