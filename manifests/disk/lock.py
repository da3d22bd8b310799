"""Locks on files, which the operating system releases when a process ends."""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ...errors import BuildError

POLL_S = 0.05
"""Time between two attempts to take a lock that another process holds."""

NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP)
"""The errors that flock raises on a file system without locks, such as Lustre without the mount option flock."""


class Busy(BuildError):
    """Another process holds a lock."""


@contextmanager
def hold_lock(
    path: Path,
    busy: str,
    *,
    wait_s: float = 0.0,
    shared: bool = False,
    busy_shared: str | None = None,
    remove: bool = False,
    on_wait: Callable[[], object] = lambda: None,
) -> Iterator[None]:
    """Hold the lock of a file until the end of the ``with`` statement, exclusively or shared with other processes.

    The operating system releases the lock if the process dies. The file and its folder are created if they are missing.

    Parameters
    ----------
    path : Path
        The file. Its folder must not be deleted while the lock is held. Otherwise, the next process would create the
        file again and hold a different lock.
    busy : str
        The error message if another process holds the lock exclusively.
    wait_s : float
        How long to wait for the lock, in seconds.
    shared : bool
        Whether to take a shared lock, which several processes can hold at the same time.
    busy_shared : str, optional
        The error message if other processes share the lock.
    remove : bool
        Whether to delete the file at the end, unless other processes share the lock. A process that waits for the lock
        notices that the file is gone, and takes the lock of a new file.
    on_wait : callable
        Called repeatedly while waiting for the lock.

    Raises
    ------
    Busy
        Another process holds the lock.
    BuildError
        The system or the file system has no locks, or the file cannot be written.
    """
    refuse_without_locks()
    deadline = time.monotonic() + wait_s
    while (fd := _take(path, shared=shared)) is None:
        if time.monotonic() >= deadline:
            if busy_shared is not None and (other := _take(path, shared=True)) is not None:
                os.close(other)
                busy = busy_shared
            raise Busy(busy)
        on_wait()
        time.sleep(POLL_S)
    try:
        yield
    finally:
        if remove and (not shared or _flock(fd, path, shared=False)):  # no other process shares the lock
            path.unlink(missing_ok=True)
        os.close(fd)


@contextmanager
def shared_lock(path: Path) -> Iterator[None]:
    """Share the lock of a file until the end of the ``with`` statement.

    First, wait until no process holds the lock exclusively. On a system without locks, do nothing. On such a system,
    only `plan` calls this function, for a temporary folder.
    """
    if not has_locks():
        yield
        return
    fd = _open(path)
    try:
        _flock(fd, path, shared=True, wait=True)
        yield
    finally:
        os.close(fd)


def _take(path: Path, *, shared: bool) -> int | None:
    """Return the descriptor of a lock, or None if another process holds it."""
    while True:
        new_folders, is_new = [folder for folder in path.parents if not folder.exists()], not path.exists()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            fd = _open(path)
        except OSError as e:
            if e.errno not in (errno.EACCES, errno.EPERM, errno.EROFS):
                raise
            raise BuildError(
                f"{e.filename} cannot be written ({e.strerror}). Choose another place with --out, or make this one "
                "writable."
            ) from None
        try:
            free = _flock(fd, path, shared=shared)
        except BaseException:
            os.close(fd)
            if is_new:
                path.unlink(missing_ok=True)
            for folder in new_folders:
                with suppress(OSError):
                    folder.rmdir()
            raise
        if not free:
            os.close(fd)
            return None
        # The process that held the lock may have deleted the file. In that case, this lock is on a file that no other
        # process opens.
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(fd), path.stat()):
                return fd
        os.close(fd)


def _open(path: Path) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o666)


def has_locks() -> bool:
    """Return whether the system has file locks that it releases when a process ends."""
    try:
        import fcntl  # noqa: F401
    except ImportError:
        return False
    return True


def refuse_without_locks() -> None:
    """Raise `BuildError` if the system has no file locks (see `has_locks`)."""
    if not has_locks():
        raise BuildError(
            "Building, repairing, packing and unpacking datasets need the file locks of Linux or macOS, which this "
            "system does not have. Run the command on one of these systems, or in WSL on Windows. Opening, verifying "
            "and scoring datasets, and `corrupt`, work on this system."
        )


def _flock(fd: int, path: Path, *, shared: bool, wait: bool = False) -> bool:
    """Lock an open file and return True, or False if another process holds the lock.

    Raise `BuildError` if the file system has no locks.
    """
    import fcntl

    try:
        fcntl.flock(fd, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | (0 if wait else fcntl.LOCK_NB))
    except BlockingIOError:
        return False
    except OSError as e:
        if e.errno not in NO_LOCKS:
            raise
        raise BuildError(
            f"The file system of {path.parent} does not support file locks (flock: {e.strerror}), which prevent two "
            "commands from writing to the same place. Nothing was written. Use an --out on another file system, such "
            "as a local disk, and copy the result. Alternatively, have the file system mounted with locks (Lustre: "
            "mount option flock; NFS: a running lock service)."
        ) from e
    return True
