"""List the files of a directory without following links."""

from __future__ import annotations

import os
import stat
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path

from ..records.foreign_names import is_system_file
from ..records.report import SYSTEM_FILE_KIND, Problem


@dataclass
class Listing:
    """The regular files below a directory."""

    files: dict[str, int] = field(default_factory=dict)
    """Relative POSIX path -> size in bytes."""
    empty: list[str] = field(default_factory=list)
    """Folders that are empty or contain only files that an operating system created."""
    blocked: list[str] = field(default_factory=list)
    """Links, devices and unreadable folders, which are not read. Files below them do not count as missing."""
    problems: list[Problem] = field(default_factory=list)
    """One problem for each blocked name."""

    def block(self, path: str, kind: str, detail: str) -> None:
        """Add a path that is not read, such as a link, and a problem that explains why."""
        self.blocked.append(path)
        self.problems.append(Problem(path or ".", kind, detail))

    def hides(self, path: str) -> bool:
        """Return whether a path is a blocked name or is below one."""
        return any(path == b or not b or path.startswith(b + "/") for b in self.blocked)


def _mode(path: Path) -> int:
    """Return the mode of a file, folder or link, or 0 if it does not exist."""
    try:
        return os.lstat(path).st_mode
    except OSError:
        return 0


def _steps(path: str) -> list[str]:
    """Return the parent folders of a relative path, outermost first, and then the path itself."""
    return list(accumulate(path.split("/"), "{}/{}".format))


def plain_file(root: Path, path: str) -> bool:
    """Return whether a relative path is a regular file and no folder above it is a link."""
    *folders, mode = (_mode(root / step) for step in _steps(path))
    return all(map(stat.S_ISDIR, folders)) and stat.S_ISREG(mode)


def read_small(root: Path, path: str, cap: int, *, follow_links: bool = False) -> bytes | Problem:
    """Return the content of a small regular file, or the problem that prevents reading it.

    The kind of the problem is ``missing`` if the file does not exist.
    """
    try:
        info = os.stat(root / path, follow_symlinks=follow_links)
        if not stat.S_ISREG(info.st_mode):
            return Problem(path, "symlink" if stat.S_ISLNK(info.st_mode) else "special", "is not a regular file")
        if info.st_size > cap:
            return Problem(path, "size", f"has {info.st_size} bytes; expected at most {cap}")
        return (root / path).read_bytes()
    except (FileNotFoundError, NotADirectoryError, ValueError):  # ValueError for a path with a NUL character
        return Problem(path, "missing", "is missing")
    except OSError as e:
        return Problem(path, "unreadable", f"cannot be read: {e.strerror}")


def list_files(root: Path, below: str = "", prune: Container[str] = ()) -> Listing:
    """List the regular files of a dataset below the folder `below`, without the folders in `prune`.

    The listing of a missing folder is empty. If the folder is below a link, the listing is empty and has no problem,
    because the listing of the whole dataset reports the link.
    """
    listing = Listing()
    for step in _steps(below) if below else ():
        if not stat.S_ISDIR(mode := _mode(root / step)):
            listing.blocked += [step] if mode else []
            return listing
    stack = [below]
    while stack:
        folder = stack.pop()
        try:
            with os.scandir(root / folder) as entries:
                found = [
                    (f"{folder}/{entry.name}" if folder else entry.name, entry.stat(follow_symlinks=False))
                    for entry in entries
                ]
        except OSError as e:
            listing.block(folder, "unreadable", f"the folder cannot be listed: {e.strerror}")
            continue
        if folder and all(stat.S_ISREG(info.st_mode) and is_system_file(path) for path, info in found):
            listing.empty.append(folder)
        for path, info in found:
            if stat.S_ISLNK(info.st_mode):
                listing.block(path, "symlink", "a symbolic link, which is not followed; replace it with the file")
            elif stat.S_ISREG(info.st_mode):
                listing.files[path] = info.st_size
            elif not stat.S_ISDIR(info.st_mode):
                listing.block(path, "special", "a device, pipe or socket, not a file")
            elif path not in prune:
                stack.append(path)
    return listing


def file_problems(
    listing: Listing,
    recorded: Mapping[str, int | None],
    *,
    sizes: bool,
    known: Container[str] = (),
    folders: bool = True,
) -> Iterator[Problem]:
    """Yield the differences between a listing and the records.

    Parameters
    ----------
    listing : Listing
    recorded : mapping of path to size
        The recorded files. A size of None stands for any size.
    sizes : bool
        Whether to compare sizes.
    known : container of str
        Files that may exist, but are not required.
    folders : bool
        Whether to report empty folders.
    """
    for path, size in sorted(recorded.items()):
        found = listing.files.get(path)
        if found is None and not listing.hides(path):
            yield Problem(path, "missing", "a record names this file")
        elif sizes and found is not None and size not in (None, found):
            yield Problem(path, "size", f"has {found} bytes, but {size} are recorded")
    for path in sorted(listing.files.keys() - recorded.keys()):
        if path not in known and is_system_file(path):
            yield Problem(path, SYSTEM_FILE_KIND, "left by an operating system")
        elif path not in known:
            tar = path.startswith("archives/")
            why = "left by unpacking with tar; remove the folder archives/" if tar else "no record names this file"
            yield Problem(path, "unexpected", why)
    if folders and listing.empty:
        # Empty folders are reported, because loaders treat them as classes. If a folder is empty because recorded files
        # are missing, only the files are reported.
        above = {step for path in recorded for step in _steps(path)[:-1]}
        yield from (Problem(path, "unexpected", "an empty folder") for path in listing.empty if path not in above)
