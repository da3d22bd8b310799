"""Write files atomically, and keep paths inside a dataset."""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import accumulate
from pathlib import Path
from typing import Any

from ...digests import digest_of
from ...errors import BuildError, VerificationError

_BUFFER = 1 << 19
_TEMPORARY = re.compile(r"\.[0-9a-f]{16}\.part")


def path_inside(root: Path, path: str, known: set[str] | None = None) -> Path:
    """Return the location of a file in a dataset.

    Parameters
    ----------
    root : Path
        The directory of the dataset.
    path : str
        A relative path that `safe_path` has accepted.
    known : set of str, optional
        Folders that are known to be inside the dataset. The folder of `path` is added to this set.

    Raises
    ------
    VerificationError
        A symbolic link leads out of the dataset. An untrusted dataset could otherwise choose which file is read.
    """
    folder = path.rpartition("/")[0]
    steps = [path] if known is not None and folder in known else accumulate(path.split("/"), "{}/{}".format)
    for step in steps:
        if os.path.islink(os.path.join(root, step)):
            top = os.path.realpath(root)
            if os.path.commonpath([os.path.realpath(root / path), top]) != top:
                raise VerificationError(
                    f"{root / step} is a symbolic link that leads out of the dataset, so it is not followed. Replace "
                    "the link with the file."
                )
    if known is not None:
        known.add(folder)
    return root / path


def make_folder(root: Path, path: str) -> Path:
    """Create the folder `path` below `root`, which the user specified, and return the new folder.

    Raises
    ------
    BuildError
        A symbolic link leads out of `root`. An untrusted folder could otherwise choose where files are written.
    """
    try:
        folder = path_inside(root, path) if path not in ("", ".") else root
    except VerificationError:
        raise BuildError(
            f"{root / path} is, or is below, a symbolic link that leads out of {root}, so nothing was written. Remove "
            "the link, or choose another folder."
        ) from None
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def open_unlinked(path: Path | str, flags: int) -> int:
    """Open a file for writing and return its descriptor. An existing symbolic link is removed, not followed."""
    flags |= getattr(os, "O_BINARY", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    try:
        return os.open(path, flags, 0o666)
    except OSError:
        if not os.path.islink(path):
            raise
    os.unlink(path)
    return os.open(path, flags, 0o666)


def is_temporary(path: Path) -> bool:
    """Return whether a path has a name that this module gives to temporary files."""
    return _TEMPORARY.fullmatch(path.name) is not None


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a temporary path, ``.<random>.part``, and rename the file at this path to `path` at the end.

    If an exception is raised, the temporary file is removed and `path` is unchanged. The caller must sync the file to
    disk.
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
    """Make a system error refer to `target` if the error refers to the temporary file or to no file."""
    if isinstance(error, OSError) and (
        error.filename is None or os.fsdecode(error.filename).startswith(os.fspath(part))
    ):
        error.filename = os.fspath(target)


def link_or_copy(file: Path, target: Path) -> bool:
    """Hard-link a file, or copy it if that is not possible. Return whether it was linked."""
    try:
        os.link(file, target, follow_symlinks=False)
    except FileExistsError:
        raise
    except OSError:  # a different file system, one without hard links, or too many links
        shutil.copyfile(file, target)
        return False
    return True


class LargeFile:
    """A new file that is hashed while it is written sequentially.

    The file is synced to disk at the end of the ``with`` statement.
    """

    def __init__(self, path: Path | str) -> None:
        self.sha256 = hashlib.sha256()
        """Hash of the bytes written so far."""
        self.written = 0
        """Number of bytes written so far."""
        # unlike mkstemp, open() follows the umask, so that other users of a shared file system can read the file
        self._file = open(path, "xb", buffering=_BUFFER)  # noqa: SIM115  closed by `__exit__`

    def write(self, data: Any) -> None:
        """Add bytes or any other C-contiguous buffer."""
        view = memoryview(data)
        self.sha256.update(view)
        self._file.write(view)
        self.written += view.nbytes

    def __enter__(self) -> LargeFile:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            if kind is None:
                self._file.flush()
                os.fsync(self._file.fileno())
        finally:
            with suppress(OSError):  # closing the file writes the buffer, but the disk may be full
                self._file.close()


def write_large(path: Path, pieces: Iterable[Any]) -> tuple[int, str]:
    """Write a file from buffers atomically, and return its size in bytes and its ``sha256:<hex>``.

    The bytes are written to a temporary file in the same folder, which is synced and then renamed. Even a power cut
    therefore leaves either the old file or the complete new file.
    """
    with replacing(path) as part, LargeFile(part) as file:
        for piece in pieces:
            file.write(piece)
    return file.written, digest_of(file.sha256)


def write_atomic(path: Path, *pieces: bytes | memoryview) -> None:
    """Write a small file atomically, as `write_large` does."""
    write_large(path, pieces)


def fsync_folder(folder: Path) -> None:
    """Sync the entries of a folder to disk, if the system supports this."""
    if os.name == "nt":
        return
    fd = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
