"""Listing an image folder: which files are images, which are none of our business, which cannot be used."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass, field
from pathlib import Path

IMAGE_SUFFIXES = ("jpg", "jpeg", "jpe", "jfif", "png", "apng", "bmp", "dib", "gif", "tif", "tiff", "webp", "ppm", "pgm", "pbm", "pnm")
"""Files that are samples by their names; what they hold is decided by their bytes."""
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


def ignored(name: str) -> bool:
    """Whether a file or folder of this name is none of the data set's: hidden, or left by an operating system.

    Examples
    --------
    >>> [ignored(name) for name in (".DS_Store", "._cat.jpg", "Thumbs.db", "cat.jpg")]
    [True, True, True, False]
    """
    return name.startswith(".") or name.lower() in SYSTEM_NAMES


def list_folder(root: Path, *, ignore: Path | None = None) -> Listing:
    """List a folder and what is below it, in the order of names; nothing is read.

    Parameters
    ----------
    root : Path
        Resolved: it has no link in it.
    ignore : Path, optional
        A file that may lie inside and is no part of it (the labels).
    """
    found = Listing()
    skip = ignore.resolve() if ignore is not None else None
    waiting = [""]
    while waiting:
        folder = waiting.pop()
        try:
            with os.scandir(root / folder) as entries:
                ordered = sorted(entries, key=lambda e: os.fsencode(e.name))
        except OSError as e:
            found.notes.append((folder + "/" if folder else "./", f"cannot be listed ({e.strerror}): mend its permissions"))
            continue
        for entry in ordered:
            path = f"{folder}/{entry.name}" if folder else entry.name
            if ignored(entry.name) or (skip is not None and root / path == skip):
                continue
            _enter(root, entry, path, found, waiting)
    found.folders.sort()
    found.images.sort()
    return found


def _enter(root: Path, entry: os.DirEntry[str], path: str, found: Listing, waiting: list[str]) -> None:
    try:
        if entry.is_symlink():
            problem = _link_problem(root, entry)
            if problem is not None:
                found.notes.append((path, problem))
                return
        mode = entry.stat().st_mode
    except OSError as e:
        found.notes.append((path, f"cannot be looked at ({e.strerror}): mend its permissions, or remove it"))
        return
    if stat.S_ISDIR(mode):
        if "/" not in path:
            found.folders.append(path)
        waiting.append(path)
        return
    stem, _, suffix = entry.name.lower().rpartition(".")
    kind = suffix if stem else ""
    if not stat.S_ISREG(mode):
        found.notes.append((path, "is a device, a pipe or a socket, not a file: remove it"))
    elif kind in IMAGE_SUFFIXES:
        found.images.append(path)
    elif kind not in DOCUMENT_SUFFIXES and entry.name.lower().split(".")[0] not in DOCUMENT_NAMES:
        found.notes.append((path, f"has no suffix of an image ({', '.join(IMAGE_SUFFIXES)}): name it as what it is, or move it away"))


def _link_problem(root: Path, entry: os.DirEntry[str]) -> str | None:
    """Return why a link cannot be followed; one to a file inside the source can."""
    try:
        target = Path(entry.path).resolve(strict=True)
    except (OSError, RuntimeError):
        return "is a link that leads nowhere: put the file itself there, or remove it"
    if target.is_dir():
        return LINK.format("a folder", "folder")
    if not target.is_relative_to(root):
        return LINK.format("a file outside the source", "file")
    return None
