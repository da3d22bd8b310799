"""Listing an image folder: which files are images, which are ignored, which cannot be used."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

IMAGE_SUFFIXES = ("jpg", "jpeg", "jpe", "jfif", "png", "apng", "bmp", "dib", "gif", "tif", "tiff", "webp", "ppm", "pgm", "pbm", "pnm")
"""Files that are samples by their names; what they hold is decided by their bytes."""
KEPT_SUFFIXES = ("jpg", "jpeg", "jpe", "jfif", "png")
"""Those that images can keep in a data set, which stores JPEG and PNG."""
DOCUMENT_SUFFIXES = (
    *("txt", "md", "rst", "pdf", "bib", "cff", "csv", "tsv", "json", "jsonl"),
    *("xml", "html", "htm", "yaml", "yml", "toml", "md5", "sha256"),
)
DOCUMENT_NAMES = ("readme", "license", "licence", "copying", "notice", "citation", "authors", "changelog", "md5sums", "sha256sums")
"""Notes that lie beside images; ignored."""
SYSTEM_NAMES = ("thumbs.db", "ehthumbs.db", "desktop.ini", "__macosx", "$recycle.bin", "@eadir", "lost+found")
"""What operating systems leave in folders; ignored, as are names that begin with a dot."""
LINK = "is a link to {}: put the {} itself there (a link that leads out of the source would make it depend on something else)"


@dataclass
class Listing:
    """What lies in a folder, as paths relative to it; POSIX, as they are on disk."""

    folders: list[str] = field(default_factory=list)
    """The first-level folders."""
    images: list[str] = field(default_factory=list)
    notes: list[tuple[str, str]] = field(default_factory=list)
    """(path, reason) of what cannot be used."""
    files: list[str] = field(default_factory=list)
    """All of them: images, documents, and what is noted for its name."""

    def add(self, path: str, called: str, remedy: str) -> None:
        """Add a file by its name: to the images, to the notes (as it is `called`, with what to do), or nowhere if it is a document."""
        self.files.append(path)
        name = path.rpartition("/")[2].lower()
        stem, _, suffix = name.rpartition(".")
        kind = suffix if stem else ""
        if kind in IMAGE_SUFFIXES:
            self.images.append(path)
        elif kind not in DOCUMENT_SUFFIXES and name.split(".")[0] not in DOCUMENT_NAMES:
            self.notes.append((called, f"has no suffix of an image ({', '.join(IMAGE_SUFFIXES)}): {remedy}"))

    def empty_folders(self, remedy: str) -> list[tuple[str, str]]:
        """Return notes for the class folders without an image, with what to do; not for those with a note of their own."""
        filled = {path.partition("/")[0] for path in (*self.images, *(noted for noted, _ in self.notes)) if "/" in path}
        return [(f"{folder}/", f"is a class folder without an image: {remedy}") for folder in self.folders if folder not in filled]


def ignored(name: str) -> bool:
    """Whether a file or folder of this name does not belong to the data set: hidden, or left by an operating system.

    Examples
    --------
    >>> [ignored(name) for name in (".DS_Store", "._cat.jpg", "Thumbs.db", "cat.jpg")]
    [True, True, True, False]
    """
    return name.startswith(".") or name.lower() in SYSTEM_NAMES


def kept_suffix(path: str) -> bool:
    """Whether an image of this name can keep it in a data set."""
    return path.lower().rpartition(".")[2] in KEPT_SUFFIXES


def list_folder(root: Path, skip: Callable[[str], bool] = lambda path: False) -> Listing:
    """List a folder and what is below it, in the order of names; nothing is read.

    Parameters
    ----------
    root : Path
        Resolved: it has no link in it.
    skip : callable, optional
        Whether a path that may lie inside is no part of it (labels, a devkit).
    """
    listing = Listing()
    waiting = [""]
    while waiting:
        folder = waiting.pop()
        try:
            with os.scandir(root / folder) as entries:
                ordered = sorted(entries, key=lambda e: os.fsencode(e.name))
        except OSError as e:
            listing.notes.append((folder or "./", f"cannot be listed ({e.strerror}): mend its permissions"))
            continue
        for entry in ordered:
            path = folder + entry.name
            if ignored(entry.name) or skip(path):
                continue
            if (problem := _problem(root, entry)) is not None:
                listing.notes.append((path, problem))
            elif entry.is_file():
                listing.add(path, path, "name it as what it is, or move it away")
            else:
                waiting.append(f"{path}/")
                listing.folders += [] if folder else [path]
    listing.folders.sort()
    listing.images.sort()
    return listing


def _problem(root: Path, entry: os.DirEntry[str]) -> str | None:
    """Return why a file or folder cannot be used; a link to a file inside the source can."""
    try:
        target = Path(entry.path).resolve(strict=True) if entry.is_symlink() else None
        mode = entry.stat().st_mode
    except (OSError, RuntimeError) as e:
        if entry.is_symlink():
            return "is a link that leads nowhere: put the file itself there, or remove it"
        return f"cannot be looked at ({e}): mend its permissions, or remove it"
    if target is not None and target.is_dir():
        return LINK.format("a folder", "folder")
    if target is not None and not target.is_relative_to(root):
        return LINK.format("a file outside the source", "file")
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        return "is a device, a pipe or a socket, not a file: remove it"
    return None
