"""The place and the lock of a dataset, and the renaming of its folder when it is finished."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from ...errors import BuildError
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
"""How long a finished build waits for workers that were taken for dead and may still write."""
WORKERS_WAIT_S = 120.0
"""How long a command waits for workers of a killed build. A worker notices within one batch that its build has ended.
"""


def finished(directory: Path) -> Manifest | None:
    """Return the manifest of a finished dataset, or None."""
    try:
        data = (directory / MANIFEST).read_bytes()
    except FileNotFoundError:
        return None
    return parse_manifest(data)


@contextlib.contextmanager
def locked(directory: Path, *, array: bool = False, wait_s: float = 0.0) -> Iterator[None]:
    """Hold the lock of a dataset for the duration of the block, or raise `BuildError`.

    Jobs of an array (`array`) share the lock with each other.
    """
    shared = f"Jobs of an array (--part) are building {directory}, and only other jobs of the array may join them."
    alone = f"Another build or repair is writing {directory}{', and it is not a job of an array' * array}."
    next_step = "Wait until it has ended, or stop it."
    with lock.locked(
        lock_file(directory),
        f"{alone} {next_step}",
        wait_s=wait_s,
        shared=array,
        busy_shared=f"{shared} {next_step}",
        remove=True,
    ):
        yield


def put_in_place(directory: Path) -> None:
    """Rename the folder of an unfinished dataset whose manifest is written, if there is one. The lock must be held.

    Its bookkeeping is removed before, so that a finished dataset contains nothing else.
    """
    folder = unfinished_folder(directory)
    if (folder / MANIFEST).exists() and not (directory / MANIFEST).exists():
        if (folder / WORK_FOLDER).exists():
            shutil.rmtree(folder / WORK_FOLDER)
            fsync_folder(folder)
        folder.rename(directory)
        fsync_folder(directory.parent)


def wait_for_workers(folder: Path, *, wait_s: float | None = None) -> None:
    """Wait until no worker writes to an unfinished dataset. The lock must be held.

    Workers of a killed build stop when they find that their job file is gone.
    """
    wait_s = WORKERS_WAIT_S if wait_s is None else wait_s
    busy = f"Workers of an earlier build are still writing to {folder}. End those processes and run the command again."
    for lease in make_folder(folder, WORK_FOLDER).glob(LEASES):
        lease.unlink(missing_ok=True)
    with lock.locked(folder / WORKERS_LOCK, busy, wait_s=wait_s):
        pass


def refuse_place(source: Source, directory: Path) -> None:
    """Raise `BuildError` if a source cannot be built into a directory.

    That is the case if the folder cannot be created, if it contains other files, and if it is inside the folder of the
    source or contains it. Sources that are files, or that read files of known names, may be anywhere.
    """
    if source.root is not None and _is_inside(directory, source.root):
        raise BuildError(
            f"{directory} would be inside the folder of the source, {source.root}: its images would count as images of "
            "the source, and the build could not be resumed. Choose an --out that is not in that folder. Nothing was "
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
        what = "cannot be written to" if nearest.is_dir() else "is not a folder"
        raise BuildError(f"{nearest} {what}, so {directory} cannot be created. Choose another --out.")
    for folder in (directory, unfinished_folder(directory)):
        names: list[str] = []
        with contextlib.suppress(FileNotFoundError):
            names = sorted(os.listdir(folder))
        # The names are listed first, because another command may begin or finish the build at this moment.
        begun = folder != directory and (names == [WORK_FOLDER] or (folder / MANIFEST).exists() or is_begun(folder))
        if names and not begun and not (directory / MANIFEST).exists():
            raise BuildError(
                f"{folder} is not empty and holds no build ({', '.join(names[:5])}{' ...' if len(names) > 5 else ''}). "
                "Choose another --out, or empty it."
            )


def _is_inside(inner: Path, outer: Path) -> bool:
    """Return whether a folder, which need not exist, is another one or is inside it, also through links and mounts."""
    path = inner.resolve()
    return any(above.exists() and outer.exists() and above.samefile(outer) for above in (path, *path.parents))
