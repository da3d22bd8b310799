"""What lies in a directory, without following a link out of it."""

from __future__ import annotations

import os
import stat
from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from ..records.report import Problem, printable

__all__ = ["Listing", "empty_folders", "list_files", "plain_file", "printable"]


@dataclass
class Listing:
    """The regular files below a directory.

    Attributes
    ----------
    files : dict
        Relative POSIX path -> bytes.
    empty : list of str
        Folders with nothing in them.
    blocked : list of str
        What is not looked into (links, devices, unreadable folders); nothing below them is called missing.
    problems : list of Problem
        One for each blocked name.
    """

    files: dict[str, int] = field(default_factory=dict)
    empty: list[str] = field(default_factory=list)
    blocked: list[str] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)

    def block(self, path: str, kind: str, detail: str) -> None:
        """Note a name that is not looked into."""
        self.blocked.append(path)
        self.problems.append(Problem(printable(path) or ".", kind, detail))

    def hides(self, path: str) -> bool:
        """Return whether `path` is at or below something that was not looked into."""
        return any(path == b or not b or path.startswith(b + "/") for b in self.blocked)


def plain_file(root: Path, path: str) -> bool:
    """Return whether a relative path is a regular file with no link on the way."""
    parts = path.split("/")
    try:
        folders = [os.lstat(root / "/".join(parts[:depth])).st_mode for depth in range(1, len(parts))]
        return all(map(stat.S_ISDIR, folders)) and stat.S_ISREG(os.lstat(root / path).st_mode)
    except OSError:
        return False


def list_files(root: Path, below: str = "", prune: Container[str] = ()) -> Listing:
    """List the regular files below a folder of a data set.

    Parameters
    ----------
    root : Path
        The data set.
    below : str
        Relative POSIX path of the folder to list; missing is empty. If a link stands on the way to it, it is not entered and nothing is
        said, as the listing of the whole says it.
    prune : container of str
        Relative paths of folders that are listed apart.
    """
    listing = Listing()
    parts = below.split("/") if below else []
    for depth in range(1, len(parts) + 1):
        prefix = "/".join(parts[:depth])
        try:
            mode = os.lstat(root / prefix).st_mode
        except OSError:
            return listing
        if not stat.S_ISDIR(mode):
            listing.blocked.append(prefix)
            return listing
    stack = [below]
    while stack:
        folder = stack.pop()
        try:
            with os.scandir(root / folder if folder else root) as entries:
                found = list(entries)
        except OSError as e:
            listing.block(folder, "unreadable", f"the folder cannot be listed: {e.strerror}")
            continue
        if not found and folder:
            listing.empty.append(folder)
        for entry in found:
            path = f"{folder}/{entry.name}" if folder else entry.name
            if entry.is_symlink():
                listing.block(path, "symlink", "a symbolic link; it is not followed, and a build writes none")
            elif entry.is_dir(follow_symlinks=False):
                if path not in prune:
                    stack.append(path)
            else:
                _file(listing, entry, path)
    return listing


def empty_folders(listing: Listing, recorded: Iterable[str]) -> Iterator[Problem]:
    """Yield the empty folders, but for those whose recorded files are all missing: they are named themselves.

    An empty folder is a problem because loaders of image folders take it for a class.
    """
    if not listing.empty:
        return
    above = {path[:at] for path in recorded for at in range(len(path)) if path[at] == "/"}
    for path in listing.empty:
        if path not in above:
            yield Problem(printable(path), "unexpected", "an empty folder")


def _file(listing: Listing, entry: os.DirEntry[str], path: str) -> None:
    try:
        info = entry.stat(follow_symlinks=False)
    except OSError as e:
        listing.block(path, "unreadable", f"cannot be looked at: {e.strerror}")
        return
    if stat.S_ISREG(info.st_mode):
        listing.files[path] = info.st_size
    else:
        listing.block(path, "special", "a device, pipe or socket, not a file")
