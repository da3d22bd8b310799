"""A list of images that a layout is of, and how no class is left without one.

RobustBench evaluates on 5,000 of the 50,000 images and reads them by its own list. torchvision's ImageFolder refuses an empty class
folder, and without one every later class would be numbered one too low; the list leaves three of the 1000 classes empty.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from ...errors import BuildError
from ...files import read_text, reason
from .subject import Subject, refuse

_SUFFIXES = (".jpeg", ".jpg", ".png")


def with_every_class(view: str, subject: Subject, names: Sequence[str]) -> tuple[Sequence[int], list[str]]:
    """Return the samples that a list names, and the first one, in sample order, of each class that it leaves out; and a note of these."""
    on_list = _listed_samples(view, subject, names)
    filled = {subject.samples[i].class_index for i in on_list}
    fillers: dict[int, int] = {}
    for index, sample in enumerate(subject.samples):
        if sample.class_index not in filled:
            fillers.setdefault(sample.class_index, index)
    chosen = sorted(on_list | set(fillers.values()))
    if not fillers:
        return chosen, []
    folders = [subject.classes[label].folder for label in sorted(fillers)]
    return chosen, [
        f"{len(on_list)} images are on the list; {len(fillers)} more keep class folders from being empty: "
        f"{', '.join(folders[:8])}{' ...' * (len(folders) > 8)}."
    ]


def read_list(path: str | Path) -> tuple[str, ...]:
    """Return the images on a list: a name a line, with or without folders and suffix; what follows a blank is a label and is ignored.

    Raises
    ------
    BuildError
        It cannot be read, or is empty.
    """
    try:
        text = read_text(Path(path))
    except OSError as e:
        raise BuildError(f"--list {path} cannot be read: {reason(e)}. Expected a text file with an image's name on every line.") from e
    names = tuple(dict.fromkeys(line.split()[0] for line in text.splitlines() if line.strip()))
    if not names:
        raise BuildError(f"--list {path} names no image. Expected an image's name on every line.")
    return names


def _listed_samples(view: str, subject: Subject, names: Sequence[str]) -> set[int]:
    """Return the indices of the samples that a list names, by id or by its last part, or raise `BuildError`."""
    if not names:
        raise BuildError(f"The view {view} needs the list of its images: --list FILE, with an image's name on every line.")
    by_name: dict[str, list[int]] = {}
    for index, sample in enumerate(subject.samples):
        for name in {sample.id, sample.id.rpartition("/")[2]}:
            by_name.setdefault(name, []).append(index)
    problems: list[str] = []
    indices: set[int] = set()
    for name in names:
        stem = name[: -len(PurePosixPath(name).suffix)] if name.lower().endswith(_SUFFIXES) else name
        matches = by_name.get(stem) or by_name.get(stem.rpartition("/")[2]) or []
        if len(matches) != 1:
            problems.append(f"{name}: {'is not among the samples' if not matches else f'names {len(matches)} samples'}")
        indices |= set(matches)
    refuse(view, problems, "Build from the whole source (without --samples), or mend the list.")
    return indices
