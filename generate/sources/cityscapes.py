"""The source ``cityscapes:PATH``: ``leftImg8bit/val/<city>/*_leftImg8bit.png`` and its annotations in ``gtFine/val``."""

from __future__ import annotations

from pathlib import Path

from ...errors import SourceError
from .image_files import FolderSource, describe
from .image_tree import folder_of, list_unlabelled
from .listing import list_folder

IMAGES, FINE, SPLIT = "leftImg8bit", "gtFine", "val"
NEEDED = f"{FINE}_labelIds.png"
"""The annotation that every image has; instances, polygons and colours come with it where they are there."""
EXPECTED = f"a folder with {IMAGES}/{SPLIT}/<city>/..._{IMAGES}.png and {FINE}/{SPLIT}/<city>/..._{NEEDED}"


def open(rest: str, *, labels: Path | None = None) -> FolderSource:
    """List the validation images; none is read.

    The annotation files are all of ``gtFine/val``, and those of COCO's format that mmdetection makes (``annotations/*_val.json``).

    Raises
    ------
    SourceError
        The folders are not there, or hold no image.
    """
    root = folder_of(rest, "cityscapes", EXPECTED, labels)
    images, fine = (root / IMAGES / SPLIT).resolve(), (root / FINE / SPLIT).resolve()
    if missing := [str(folder) for folder in (images, fine) if not folder.is_dir()]:
        raise SourceError(f"The source cityscapes:{rest}: {' and '.join(missing)} not there. Expected {EXPECTED}.")
    listing, annotations = list_folder(images), list_folder(fine)
    notes = [(f"{IMAGES}/{SPLIT}/{path}", reason) for path, reason in listing.notes]
    notes += [(f"{FINE}/{SPLIT}/{path}", reason) for path, reason in annotations.notes]
    there, found = set(annotations.images), []
    for path in listing.images:
        stem = path.removesuffix(f"_{IMAGES}.png")
        where = f"{IMAGES}/{SPLIT}/{path}"
        if stem == path:
            notes.append((where, f"is not called ..._{IMAGES}.png: rename it, or move it away"))
        elif f"{stem}_{NEEDED}" not in there:
            notes.append((where, f"has no annotation {FINE}/{SPLIT}/{stem}_{NEEDED}: fetch it"))
        else:
            found.append(where)
    if not found:
        raise SourceError(f"The source cityscapes:{rest} holds no image that can be used.{describe(notes)}")
    source = FolderSource("cityscapes", list_unlabelled(found, notes), root)
    files = {f"{FINE}/{SPLIT}/{p.relative_to(fine).as_posix()}": p for p in fine.rglob("*") if p.is_file() and not p.name.startswith(".")}
    files |= {f"annotations/{p.name}": p for p in root.glob(f"annotations/*_{SPLIT}.json")}
    source.annotations = files
    return source
