"""Who may write to a build: one command at a time, and its workers."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

from ...errors import BuildError
from ...manifests.layout import MANIFEST, WORK_FOLDER
from ...manifests.manifest_file import parse_manifest
from ...manifests.records.digests import sha256_file
from ...manifests.records.models import Manifest
from ...manifests.unfinished import Unfinished, read_unfinished
from ..work.worker import WORKERS_LOCK
from .place import refuse_place

LOCK = f"{WORK_FOLDER}/lock"
_WORKERS_WAIT = 120.0


def finished(directory: Path) -> Manifest | None:
    """Return the manifest of a finished build, or None."""
    try:
        data = (directory / MANIFEST).read_bytes()
    except FileNotFoundError:
        return None
    return parse_manifest(data)


def extended(directory: Path) -> Unfinished | None:
    """Return what an unfinished extension of the finished build says of itself, or None."""
    state = read_unfinished(directory) if (directory / MANIFEST).exists() else None
    return state if state is not None and state.base == sha256_file(directory / MANIFEST) else None


@contextlib.contextmanager
def locked(directory: Path) -> Iterator[None]:
    """Hold the build's lock; it goes with the process, however that ends.

    A finished build is left without `.corruptset/`, unless it is being extended.

    Raises
    ------
    BuildError
        Another build works in this directory, or it cannot be written to.
    """
    refuse_place(directory)
    path = directory / LOCK
    while True:
        path.parent.mkdir(parents=True, exist_ok=True)
        fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(fd)
            raise BuildError(
                f"Another build is working in {directory}. Wait for it, stop it, or choose another --out. "
                "(The lock goes when that process ends.)"
            ) from None
        # A build that has just finished removed the folder: then this lock is on a file that nobody will find.
        if path.exists() and os.path.samestat(os.fstat(fd), path.stat()):
            break
        os.close(fd)
    try:
        yield
    finally:
        try:
            if (directory / MANIFEST).exists() and extended(directory) is None:
                clean_up(directory)
        finally:
            os.close(fd)


def clean_up(directory: Path) -> None:
    """Remove `.corruptset/` of a finished build."""
    shutil.rmtree(directory / WORK_FOLDER, ignore_errors=True)


def wait_for_workers(directory: Path) -> None:
    """Wait until no worker of a killed build is left; they notice by themselves, at the latest after one batch."""
    fd = os.open(directory / WORKERS_LOCK, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        deadline = time.monotonic() + _WORKERS_WAIT
        while True:
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise BuildError(
                        f"Workers of an earlier build are still writing to {directory} after {_WORKERS_WAIT:.0f} s. "
                        "End those processes and run the command again."
                    ) from None
                time.sleep(0.05)
    finally:
        os.close(fd)
