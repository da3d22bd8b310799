"""The files of a data set as bytes: atomic writes, JSON lines, manifest.json and SHA256SUMS.

Everything that is read back is held to the models strictly (no `"5"` for 5) and to size caps, because a data set may come from anywhere.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ...errors import VerificationError


def inside(root: Path, path: str) -> Path:
    """Return where a file of a data set lies.

    Parameters
    ----------
    root : Path
        The data set.
    path : str
        Relative and POSIX, held to `safe_path`.

    Raises
    ------
    VerificationError
        A symbolic link on the way leads out of the data set: whoever made it would choose what is read.
    """
    here = os.fspath(root)
    for part in path.split("/"):
        here = os.path.join(here, part)
        if os.path.islink(here):
            top = os.path.realpath(root)
            if os.path.commonpath([os.path.realpath(root / path), top]) != top:
                raise VerificationError(
                    f"{here} is a symbolic link that leads out of the data set; it is not followed. Put the file there."
                )
    return root / path


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a temporary name (``.<random>.part``) in the same folder; what stands there takes the place of `path` in one step.

    If anything is raised, the temporary file is removed, and nothing stands at `path` that did not stand there before. Whoever writes the
    file waits until it is on disk.
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
    """Have an error of the system name `target`, where it names no file, as Python's writes do, or one of the temporary `part`."""
    if isinstance(error, OSError) and (error.filename is None or os.fsdecode(error.filename).startswith(os.fspath(part))):
        error.filename = os.fspath(target)


def write_atomic(path: Path, *pieces: bytes | memoryview) -> None:
    """Write a file, given in one piece or several, so that it is there whole or not at all, also after a power cut.

    The bytes go to a temporary name in the same folder, are fsynced, and take the place of `path` in one step; the permissions follow the
    umask, as those of any other file do. Files of some megabytes are rather for `large.write_large`.

    Raises
    ------
    OSError
        The disk is full or fails; nothing stands at `path` that did not stand there before, and the temporary file is removed.
    """
    with replacing(path) as part:
        # os.open applies the umask; mkstemp would make a file that nobody else on a shared file system may read
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
