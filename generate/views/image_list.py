"""A list of images that a layout is of, and how no class is left without one.

RobustBench evaluates on 5,000 of the 50,000 images and reads them by its own list. torchvision's ImageFolder refuses an
empty class folder, and without one every later class would be numbered one too low; the list leaves three of the 1000
classes empty.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from ...errors import BuildError, first_few
from ...files import read_text, reason
from .contents import Contents, refuse

_SUFFIX = re.compile(r"\.(jpe?g|png)$", re.IGNORECASE)


def read_list(path: str | Path) -> tuple[str, ...]:
    """Return the images on a list: a name a line, with or without folders and suffix; what follows a blank is a label
    and is ignored.

    Raises
    ------
    BuildError
        It cannot be read, or is empty.
    """
    try:
        text = read_text(Path(path))
    except OSError as e:
        raise BuildError(
            f"--list {path} cannot be read: {reason(e)}. Expected a text file with an image's name on every line."
        ) from e
    names = tuple(dict.fromkeys(line.split()[0] for line in text.splitlines() if line.strip()))
    if not names:
        raise BuildError(f"--list {path} names no image. Expected an image's name on every line.")
    return names


def with_every_class(view: str, contents: Contents, names: Sequence[str]) -> tuple[Sequence[int], list[str]]:
    """Return the samples that a list names, and the first one, in sample order, of each class that it leaves out; and a
    note of these.

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
