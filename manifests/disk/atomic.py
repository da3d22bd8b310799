"""Files that are there whole or not at all, and paths that stay inside a data set."""

from __future__ import annotations

import errno
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import accumulate
from pathlib import Path

from ...errors import VerificationError


def inside(root: Path, path: str, known: set[str] | None = None) -> Path:
    """Return where a file of a data set lies; its relative path was held to `safe_path`.

    `known` receives folders that do not lead out of it, and those in it are not looked at again.
    VerificationError: a symbolic link on the way leads out of the data set; whoever made it would choose what is read.
    """
    folder = path.rpartition("/")[0]
    steps = [path] if known is not None and folder in known else accumulate(path.split("/"), "{}/{}".format)
    for step in steps:
        if os.path.islink(os.path.join(root, step)):
            top = os.path.realpath(root)
            if os.path.commonpath([os.path.realpath(root / path), top]) != top:
                raise VerificationError(
                    f"{root / step} is a symbolic link that leads out of the data set; it is not followed. Put the file there."
                )
    if known is not None:
        known.add(folder)
    return root / path


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a temporary name (``.<random>.part``) in the same folder; its file takes the place of `path` in one step.

    If anything is raised, the temporary file is removed, and `path` is as it was. The caller waits until the file is on disk.
    """
    part = path.with_name(f".{secrets.token_hex(8)}.part")
    try:
        yield part
        os.replace(part, path)
    except BaseException as e:
        part.unlink(missing_ok=True)
        name_target(e, part, path)
        raise
    fsync_folder(path.parent)


def name_target(error: BaseException, part: Path, target: Path) -> None:
    """Let a system error name `target`, where it names the temporary `part`, or no file, as errors of writes do."""
    if isinstance(error, OSError) and (error.filename is None or os.fsdecode(error.filename).startswith(os.fspath(part))):
        error.filename = os.fspath(target)


_NO_LINK = {errno.EXDEV, errno.EPERM, errno.EMLINK, errno.ENOTSUP, errno.EACCES, errno.ENOSYS}
"""A hard link is impossible, and a copy is not: another file system, one without links, too many links."""


def link_or_copy(file: Path, target: Path) -> bool:
    """Make a hard link to a file, where that is possible, else a copy; return whether it is a link."""
    try:
        os.link(file, target, follow_symlinks=False)
        return True
    except OSError as e:
        if e.errno not in _NO_LINK:
            raise
    shutil.copyfile(file, target)
    return False


def write_atomic(path: Path, *pieces: bytes | memoryview) -> None:
    """Write a file, given in one piece or several, so that it is there whole or not at all, also after a power cut.

    The bytes go to a temporary name in the same folder, are fsynced, and take the place of `path` in one step.
    """
    with replacing(path) as part:
        # the permissions follow the umask; mkstemp would make a file that nobody else on a shared file system may read
        fd = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
        with os.fdopen(fd, "wb") as f:
            f.writelines(pieces)
            f.flush()
            os.fsync(f.fileno())


def fsync_folder(folder: Path) -> None:
    """Make the names in a folder durable (where the system lets a folder be opened)."""
    if os.name == "nt":
        return
    fd = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
