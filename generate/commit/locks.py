"""The lock of a dataset, checks of its output folder, and the renaming of that folder when the build is finished."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from ...errors import BuildError, first_few
from ...manifests.disk import lock
from ...manifests.disk.atomic import fsync_folder, make_folder
from ...manifests.manifest_file import parse_manifest
from ...manifests.paths import (
    LEASES,
    MANIFEST,
    WORK_FOLDER,
    WORKERS_LOCK,
    is_begun,
    lock_file,
    unfinished_folder,
)
from ...manifests.records.models import Manifest
from ..sources.source import Source

LAST_WAIT_S = 10.0
"""The time for which a finished build waits for workers that seemed to be dead but may still be writing."""
WORKERS_WAIT_S = 120.0
"""The time for which a command waits for workers of a killed build. A worker notices within one batch that its build
has ended.
"""


def finished_manifest(directory: Path) -> Manifest | None:
    """Return the manifest of the finished dataset in a directory, or None if there is none."""
    try:
        data = (directory / MANIFEST).read_bytes()
    except FileNotFoundError:
        return None
    return parse_manifest(data)


@contextlib.contextmanager
def lock_dataset(directory: Path, *, array: bool = False, wait_s: float = 0.0) -> Iterator[None]:
    """Hold the lock of a dataset for the duration of the ``with`` block, or raise `BuildError`.

    If the process dies, the operating system releases the lock.

    Parameters
    ----------
    directory : Path
        The folder of the finished dataset. It need not exist.
    array : bool
        Whether to share the lock with the other jobs of an array.
    wait_s : float
        The time to wait for the lock, in seconds.
    """
    shared = f"Jobs of an array (--part) are building {directory}, and only other jobs of the array may join them."
    alone = f"Another build or repair is writing {directory}{', and it is not a job of an array' * array}."
    with lock.hold_lock(
        lock_file(directory),
        f"{alone} Wait until it has ended, or stop it.",
        wait_s=wait_s,
        shared=array,
        busy_shared=f"{shared} Wait until they have ended, or stop them.",
        remove=True,
    ):
        yield


def put_in_place(directory: Path) -> None:
    """Rename the folder of an unfinished dataset to its final name if its manifest has been written.

    The caller must hold the lock. The bookkeeping of the build is deleted first, so that the finished dataset does not
    contain it.
    """
    folder = unfinished_folder(directory)
    if (folder / MANIFEST).exists() and not (directory / MANIFEST).exists():
        if (folder / WORK_FOLDER).exists():
            shutil.rmtree(folder / WORK_FOLDER)
            fsync_folder(folder)
        folder.rename(directory)
        fsync_folder(directory.parent)


def wait_for_workers(folder: Path, *, wait_s: float | None = None) -> None:
    """Delete the job files of killed builds, and wait until their workers have stopped.

    The caller must hold the lock of the dataset. A worker stops when it notices that its job file is gone.

    Raises
    ------
    Busy
        Workers are still writing after `wait_s` seconds, by default `WORKERS_WAIT_S`.
    """
    wait_s = WORKERS_WAIT_S if wait_s is None else wait_s
    busy = f"Workers of an earlier build are still writing to {folder}. End those processes and run the command again."
    for lease in make_folder(folder, WORK_FOLDER).glob(LEASES):
        lease.unlink(missing_ok=True)
    with lock.hold_lock(folder / WORKERS_LOCK, busy, wait_s=wait_s):
        pass


def refuse_place(source: Source, directory: Path) -> None:
    """Raise `BuildError` if a dataset cannot be built from `source` into `directory`.

    It must be possible to create the directory, or the directory must be empty or contain a build. It must neither be
    inside the folder of the source nor contain it. This last rule does not apply to sources that are files, or that
    read only files with known names.
    """
    if source.root is not None and _is_inside(directory, source.root):
        raise BuildError(
            f"{directory} would be inside the folder of the source, {source.root}. Its images would become images of "
            "the source, and the build could not be resumed. Choose an --out outside of that folder. Nothing was "
            "written."
        )
    if source.root is not None and _is_inside(source.root, directory):
        raise BuildError(
            f"The folder of the source, {source.root}, is inside {directory}, which the build would write. Choose "
            "another --out. Nothing was written."
        )
    if (directory / MANIFEST).exists():
        return
    nearest = directory.absolute()
    while not os.path.lexists(nearest):
        nearest = nearest.parent
    if not nearest.is_dir() or not os.access(nearest, os.W_OK | os.X_OK):
        problem = "cannot be written to" if nearest.is_dir() else "is not a folder"
        raise BuildError(f"{nearest} {problem}, so {directory} cannot be created. Choose another --out.")
    for folder in (directory, unfinished_folder(directory)):
        names: list[str] = []
        with contextlib.suppress(FileNotFoundError):
            names = sorted(os.listdir(folder))
        # The names are listed before the other checks, because another command may begin or finish the build meanwhile.
        begun = folder != directory and (names == [WORK_FOLDER] or (folder / MANIFEST).exists() or is_begun(folder))
        if names and not begun and not (directory / MANIFEST).exists():
            raise BuildError(
                f"{folder} is not empty and does not contain a build ({first_few(names)}). Choose another --out, or "
                "delete the contents of that folder."
            )


def _is_inside(inner: Path, outer: Path) -> bool:
    """Return whether `inner` is the folder `outer` or is inside it, after links and mounts are resolved.

    Neither folder needs to exist.
    """
    path = inner.resolve()
    return any(above.exists() and outer.exists() and above.samefile(outer) for above in (path, *path.parents))
