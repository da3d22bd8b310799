"""Where a build may be written, and who may write: one command and its workers."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from ...errors import BuildError
from ...manifests.disk import lock
from ...manifests.manifest_file import parse_manifest
from ...manifests.paths import LEASES, LOCK, MANIFEST, WORK_FOLDER, WORKERS_LOCK, is_begun
from ...manifests.records.digests import sha256_file
from ...manifests.records.models import Manifest
from ...manifests.unfinished import Unfinished, read_unfinished
from ..sources.source import Source

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
    """Hold the build's lock until the process ends, however that happens, or raise `BuildError`.

    The jobs of an array (`array`) hold it together. Otherwise a finished build is left without `.corruptset/`, unless
    it is being extended.
    """
    shared = f"Jobs of an array (--part) are working in {directory}, and only others of them may write there meanwhile."
    alone = f"Another build or repair is working in {directory}{', and it is no job of an array' * array}."
    next_step = "Wait until it has ended, or stop it."
    with lock.locked(directory / LOCK, f"{alone} {next_step}", shared=array, busy_shared=f"{shared} {next_step}"):
        try:
            yield
        finally:
            if not array and (directory / MANIFEST).exists() and extended(directory) is None:
                clean_up(directory)


def clean_up(directory: Path) -> None:
    """Remove `.corruptset/` of a finished build."""
    shutil.rmtree(directory / WORK_FOLDER, ignore_errors=True)


def wait_for_workers(directory: Path, *, wait_s: float | None = None) -> None:
    """Wait until no worker of a killed build is left, under the build's lock.

    They notice before they write more.
    """
    wait_s = WORKERS_WAIT_S if wait_s is None else wait_s
    busy = (
        f"Workers of an earlier build are still writing to {directory}. End those processes and run the command again."
    )
    for lease in (directory / WORK_FOLDER).glob(LEASES):
        lease.unlink(missing_ok=True)
    with lock.locked(directory / WORKERS_LOCK, busy, wait_s=wait_s):
        pass


def refuse_place(source: Source, directory: Path) -> None:
    """Raise `BuildError` where a build of a source cannot lie.

    That is where a folder cannot be made or holds other things, and in the folder of the source, or around it. Sources
    that are files, or read files of known names, may lie anywhere.
    """
    if source.root is not None and _lies_in(directory, source.root):
        raise BuildError(
            f"{directory} would lie in the folder of the source, {source.root}: what is built would count as images "
            "of the source, and the build could not be resumed. Choose an --out that is not in that folder. Nothing "
            "was written."
        )
    if source.root is not None and _lies_in(source.root, directory):
        raise BuildError(
            f"The folder of the source, {source.root}, lies in {directory}, which the build is to write. Choose "
            "another --out. Nothing was written."
        )
    if (directory / MANIFEST).exists():
        return
    nearest = directory.absolute()
    while not os.path.lexists(nearest):
        nearest = nearest.parent
    if not nearest.is_dir() or not os.access(nearest, os.W_OK | os.X_OK):
        what = "cannot be written to" if nearest.is_dir() else "is not a folder"
        raise BuildError(f"{nearest} {what}, so {directory} cannot lie in it. Choose another --out.")
    names = sorted(p.name for p in directory.iterdir()) if directory.exists() else []
    # in this order: a job of the same array may begin it now
    if names and names != [WORK_FOLDER] and not is_begun(directory):
        raise BuildError(
            f"{directory} is not empty and holds no build ({', '.join(names[:5])}{' ...' if len(names) > 5 else ''}). "
            "Choose another --out, or empty it."
        )


def _lies_in(inner: Path, outer: Path) -> bool:
    """Say whether a folder, there or not, is another or lies below it.

    Whatever links or mounts they are named by.
    """
    path = inner.resolve()
    return any(above.exists() and outer.exists() and above.samefile(outer) for above in (path, *path.parents))
