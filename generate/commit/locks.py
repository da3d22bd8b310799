"""Who may write to a build: one command at a time, and its workers."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator
from pathlib import Path

from ...manifests.disk import lock
from ...manifests.layout import LEASES, LOCK, MANIFEST, WORK_FOLDER, WORKERS_LOCK
from ...manifests.manifest_file import parse_manifest
from ...manifests.records.digests import sha256_file
from ...manifests.records.models import Manifest
from ...manifests.unfinished import Unfinished, read_unfinished
from .place import refuse_place

WORKERS_WAIT_S = 120.0
"""A worker notices within one batch that its build was killed."""


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
def locked(directory: Path, *, array: bool = False) -> Iterator[None]:
    """Hold the build's lock; it is released when the process ends, however that happens.

    The jobs of an array (`array`) hold it together. Otherwise a finished build is left without `.corruptset/`, unless it is being extended.

    Raises
    ------
    BuildError
        Another build works in this directory, or it cannot be written to.
    """
    refuse_place(directory)
    why = " A job of an array makes parts beside other jobs, but not beside a command that makes all of them, or ends the build." * array
    wait = "stop {0}, or choose another --out. (The lock goes when {1}.)"
    busy = f"Another build is working in {directory}.{why} Wait for it, {wait.format('it', 'that process ends')}"
    jobs = (
        f"Jobs of an array (--part) are working in {directory}; no other command may write there meanwhile, and --finish comes after them."
    )
    busy_shared = f"{jobs} Wait for them, {wait.format('them', 'those processes end')}"
    with lock.locked(directory / LOCK, busy, shared=array, busy_shared=None if array else busy_shared):
        try:
            yield
        finally:
            if not array and (directory / MANIFEST).exists() and extended(directory) is None:
                clean_up(directory)


def clean_up(directory: Path) -> None:
    """Remove `.corruptset/` of a finished build."""
    shutil.rmtree(directory / WORK_FOLDER, ignore_errors=True)


def wait_for_workers(directory: Path, *, wait_s: float | None = None) -> None:
    """Wait until no worker of a killed build is left; they notice before they write more. The build's lock must be held."""
    wait_s = WORKERS_WAIT_S if wait_s is None else wait_s
    busy = (
        f"Workers of an earlier build are still writing to {directory} after {wait_s:.0f} s. End those processes and run the command again."
    )
    for lease in (directory / WORK_FOLDER).glob(LEASES):
        lease.unlink(missing_ok=True)
    with lock.locked(directory / WORKERS_LOCK, busy, wait_s=wait_s):
        pass
