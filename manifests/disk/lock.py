"""A lock on a directory that goes with the process which holds it, however that ends."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ...errors import BuildError


@contextmanager
def held(folder: Path, what: str) -> Iterator[None]:
    """Hold the lock of a work folder, which is made where it is missing; the folder may be removed before the lock is let go.

    Raises
    ------
    BuildError
        Another process holds it.
    """
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{what}.lock"
    fd = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o666)
    try:
        if os.name != "nt":
            import fcntl

            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise BuildError(
                    f"Another process is at work in {folder.parent} (`corruptset {what}`). Wait for it to end, or choose another --out."
                ) from None
            # who has just finished removed the folder: then this lock is on a file that nobody will find
            if not path.exists():
                raise BuildError(f"Another process has just finished its work in {folder.parent}. Look at what it left, and run again.")
        yield
    finally:
        os.close(fd)
