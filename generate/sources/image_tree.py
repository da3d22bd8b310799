"""The source ``tree:PATH``: any tree of images, without labels; every image keeps its path, its name and its format."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from pathlib import Path

from ...errors import SourceError
from .image_files import FolderSource, ImageList, Note, describe, list_samples
from .listing import KEPT_SUFFIXES, kept_suffix, list_folder

OTHER_FORMAT = (
    f"has none of the suffixes {', '.join(KEPT_SUFFIXES)}, and images keep their names: what is stored is JPEG or PNG. Convert it, or "
    "leave it out"
)


def folder_of(rest: str, scheme: str, expected: str, labels: Path | None) -> Path:
    """Return the folder that a source of images without labels names, or raise `SourceError`."""
    if labels is not None:
        raise SourceError(f"The source {scheme} has no labels, and takes none. Leave --labels out, or use folder:PATH.")
    if not rest:
        raise SourceError(f"The source {scheme} needs a path: {scheme}:PATH.")
    root = Path(rest).expanduser()
    if not root.is_dir():
        what = "is a file, not a folder" if root.exists() else "is not there"
        raise SourceError(f"The source {scheme}:{rest}: {root} {what}. Expected {expected}.")
    return root.resolve()


def list_unlabelled(paths: Iterable[str], notes: Iterable[Note]) -> ImageList:
    """Return the samples of images that keep their names: an image's id is its path, with its suffix, in Unicode's normal form C."""
    notes, images = list(notes), []
    for path in paths:
        if kept_suffix(path):
            images.append((path, None))
        else:
            notes.append((path, OTHER_FORMAT))
    return list_samples(images, lambda path: unicodedata.normalize("NFC", path), (), notes)


def open(rest: str, *, labels: Path | None = None) -> FolderSource:
    """List a tree of images; none is read.

    Raises
    ------
    SourceError
        The folder is not there, or holds no image.
    """
    root = folder_of(rest, "tree", "a folder with images in it, at any depth", labels)
    listing = list_folder(root)
    if not listing.images:
        raise SourceError(f"The source tree:{rest} holds no image.{describe(listing.notes)}")
    return FolderSource("tree", list_unlabelled(listing.images, listing.notes), root)
