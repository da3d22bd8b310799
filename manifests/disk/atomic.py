"""Files written whole or not at all, and paths that stay inside a data set."""

from __future__ import annotations

import hashlib
import os
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


def inside(root: Path, path: str, known: set[str] | None = None) -> Path:
    """Return where a file of a data set lies.

    Its relative path was held to `safe_path`.

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
                    f"{root / step} is a symbolic link that leads out of the data set; it is not followed. Put the "
                    "file there."
                )
    if known is not None:
        known.add(folder)
    return root / path


def make_folder(root: Path, path: str) -> Path:
    """Make a folder below a folder that a user named, and return it.

    Raises
    ------
    BuildError
        A symbolic link on the way leads out of `root`: whoever made it would choose where files are written.
    """
    try:
        folder = inside(root, path) if path not in ("", ".") else root
    except VerificationError:
        raise BuildError(
            f"{root / path} is, or is below, a symbolic link that leads out of {root}. Nothing is written through it. "
            "Remove the link, or choose another folder."
        ) from None
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def open_unlinked(path: Path | str, flags: int) -> int:
    """Open a file to write it, and return its descriptor; a symbolic link in its place is removed, not followed."""
    flags |= getattr(os, "O_BINARY", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    try:
        return os.open(path, flags, 0o666)
    except OSError:
        if not os.path.islink(path):
            raise
    os.unlink(path)
    return os.open(path, flags, 0o666)


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a temporary name (``.<random>.part``), whose file takes the place of `path` in one step.

    If anything is raised, the temporary file is removed, and `path` is as it was. The caller waits until the file is on
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
    """Let a system error name `target`, where it names the temporary `part` or nothing."""
    if isinstance(error, OSError) and (
        error.filename is None or os.fsdecode(error.filename).startswith(os.fspath(part))
    ):
        error.filename = os.fspath(target)


def link_or_copy(file: Path, target: Path) -> bool:
    """Make a hard link to a file, else a copy; return whether it links."""
    try:
        os.link(file, target, follow_symlinks=False)
    except FileExistsError:
        raise
    except OSError:  # another file system, one without links, too many links
        shutil.copyfile(file, target)
        return False
    return True


class LargeFile:
    """A new file, hashed while it is written from its beginning to its end.

    The end of its `with` waits until it is on disk.
    """

    def __init__(self, path: Path | str) -> None:
        self.sha256 = hashlib.sha256()
        """Of what was written."""
        self.written = 0
        """Bytes."""
        # the permissions follow the umask; mkstemp would make a file that nobody else on a shared file system may read
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
            with suppress(OSError):  # of bytes that do not fit any more
                self._file.close()


def write_large(path: Path, pieces: Iterable[Any]) -> tuple[int, str]:
    """Write a file from buffers, whole or not at all, also after a power cut.

    Return its bytes and ``sha256:<hex>``.

    The bytes go to a temporary name in the same folder, are fsynced, and take the place of `path` in one step.
    """
    with replacing(path) as part, LargeFile(part) as file:
        for piece in pieces:
            file.write(piece)
    return file.written, digest_of(file.sha256)


def write_atomic(path: Path, *pieces: bytes | memoryview) -> None:
    """Write a small file as `write_large` does."""
    write_large(path, pieces)


def fsync_folder(folder: Path) -> None:
    """Make the names in a folder durable (where the system lets a folder be opened)."""
    if os.name == "nt":
        return
    fd = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
