"""The source ``coco:PATH``: a detection set as COCO lays it out, ``annotations/instances_<name>.json`` and the images in ``<name>/``.

The images are those that the annotations name. Boxes and masks are in pixels of the width and height that the annotations state, so an
image of another size is bad input. Both are the size of the pixels as they are stored: an EXIF orientation is ignored, and not kept.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...errors import SourceError, listed, suggest
from ...files import UnfitFile, read_text, reason
from ...manifests.records.fields import safe_path
from .image_files import FolderSource, ImageList, Note, describe
from .image_tree import folder_of, list_unlabelled
from .source import BadSample, Probe, Sample

ANNOTATIONS = "annotations"
START, DEFAULT = "instances_", "val2017"
MAX_BYTES = 2 << 30
EXPECTED = f"a folder with {ANNOTATIONS}/{START}{DEFAULT}.json and {DEFAULT}/, or the path of another {ANNOTATIONS}/{START}NAME.json"
Sizes = dict[str, tuple[int, int]]
"""Path of an image -> its (width, height)."""


@dataclass(frozen=True)
class AnnotatedSample(Sample):
    """An image that an annotation file names."""

    size: tuple[int, int] = (0, 0)
    """The (width, height) that it states."""


class CocoSource(FolderSource):
    """The images of an annotation file, each of the size that it states."""

    def __init__(self, images: ImageList, root: Path, sizes: Sizes) -> None:
        super().__init__("coco", images, root)
        self.samples = tuple(AnnotatedSample(s.index, s.id, s.label, s.path, size=sizes[s.path or ""]) for s in images.samples)

    def probe(self, sample: Sample) -> Probe:
        """Decode a sample, and hold its size to the annotations'."""
        found = super().probe(sample)
        assert isinstance(sample, AnnotatedSample)
        stated = sample.size
        if (found.width, found.height) != stated:
            upright = ": they are of the upright picture, and its pixels lie on their side" if stated == (found.height, found.width) else ""
            raise BadSample(
                f"is {found.width}x{found.height} as it is stored (EXIF orientation is ignored), and the annotations say "
                f"{stated[0]}x{stated[1]}{upright}. Store it upright, take the file that the annotations were made for, or leave it out"
            )
        return found


def open(rest: str, *, labels: Path | None = None) -> CocoSource:
    """List the images of an annotation file; no image is read.

    Parameters
    ----------
    rest : str
        The folder of the set, or one of its files ``annotations/instances_<name>.json``.

    Raises
    ------
    SourceError
        Something is not there, or the annotations have mistakes: all of them listed.
    """
    file = Path(rest).expanduser()
    root = folder_of(str(file.parent.parent) if file.is_file() else rest, "coco", EXPECTED, labels)
    folder = root / ANNOTATIONS
    file = folder / (file.name if file.is_file() else f"{START}{DEFAULT}.json")
    if not file.is_file() or not file.name.startswith(START):
        found = sorted(p.name for p in folder.glob(f"{START}*.json"))
        there = f" There are: {', '.join(found)}; name one: coco:{folder / found[0]}." if found else ""
        raise SourceError(f"The source coco:{rest}: {file} is not an annotation file that is there. Expected {EXPECTED}.{there}")
    name = file.stem.removeprefix(START)
    sizes, notes = _sizes(file, name)
    present = {path: (root / path).is_file() for path in sizes}
    notes += [(path, f"is named by {file.name} and is not there: fetch it") for path, there in present.items() if not there]
    if not any(present.values()):
        raise SourceError(f"The source coco:{rest}: no image that {file.name} names is in {root / name}.{describe(notes)}")
    source = CocoSource(list_unlabelled([path for path, there in present.items() if there], notes), root, sizes)
    source.annotations = {f"{ANNOTATIONS}/{p.name}": p for p in sorted(folder.glob(f"*_{name}.json")) if p.is_file()}
    return source


def _sizes(file: Path, name: str) -> tuple[Sizes, list[Note]]:
    """Return the sizes of the images that a file names, and what is wrong with single entries."""
    try:
        record = json.loads(read_text(file, MAX_BYTES))
    except (OSError, UnfitFile) as e:
        raise SourceError(f"The annotations {file} cannot be read: {reason(e)}.") from None
    except (ValueError, RecursionError) as e:
        raise SourceError(f"The annotations {file} are not JSON: {e}. Fetch them again.") from None
    entries = record.get("images") if isinstance(record, dict) else None
    if not isinstance(entries, list) or not entries:
        hint = suggest("images", record) if isinstance(record, dict) else ""
        raise SourceError(f"The annotations {file} have no list of images.{hint} Expected COCO's format: images, annotations, categories.")
    problems = [f"images[{n}]: {problem}" for n, entry in enumerate(entries) if (problem := _problem(entry)) is not None]
    if problems:
        raise SourceError(f"The annotations {file} have {len(problems)} mistakes:\n{listed(problems)}")
    notes = [
        (f"{name}/{path}", f"is named {count} times by {file.name}: keep one of the entries")
        for path, count in Counter(entry["file_name"] for entry in entries).items()
        if count > 1
    ]
    return {f"{name}/{entry['file_name']}": (entry["width"], entry["height"]) for entry in entries}, notes


def _problem(entry: Any) -> str | None:
    """Return what is wrong with the entry of an image, or None."""
    if not isinstance(entry, dict) or not isinstance(entry.get("file_name"), str):
        return "has no file_name"
    try:
        safe_path(entry["file_name"])
    except ValueError as e:
        return f"{e}"
    sides = [entry.get("width"), entry.get("height")]
    return (
        None if all(type(side) is int and side > 0 for side in sides) else f"has the width and height {sides}; expected two whole numbers"
    )
