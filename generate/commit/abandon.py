"""`build --abandon`: take back what a build has not finished; what a manifest names stays."""

from __future__ import annotations

import os
import shutil
from collections.abc import Container
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from ...errors import BuildError
from ...manifests.disk.remote import local_folder
from ...manifests.paths import MANIFEST, PARTS_FOLDER, SHA256SUMS, WORK_FOLDER, is_begun, set_places
from ...manifests.unfinished import SetFiles, read_unfinished, set_files
from .interruption import resumable
from .last_files import settle
from .locks import extended, finished, locked, wait_for_workers


def abandon(directory: str | Path) -> tuple[str, ...]:
    """Remove an unfinished extension of a finished build, or a build that was never finished.

    Parameters
    ----------
    directory : path
        Of the build, ``<out>/<name>-<version>``.

    Returns
    -------
    tuple of str
        The sets that were taken back; none where nothing is unfinished.

    Raises
    ------
    BuildError
        There is no build, a build is working there, or nothing says any more which files are its own.
    MachineError, Interrupted
        Call it again.
    """
    root = local_folder(directory, "builds are written to")
    if not (root / MANIFEST).exists() and not is_begun(root):
        raise BuildError(f"{root} holds no build. Give the --out and the recipe that it was started with.")
    with resumable(root), locked(root):
        wait_for_workers(root)
        settle(root)  # an end that began is completed
        base = finished(root)
        state = extended(root) if base is not None else read_unfinished(root)
        if base is None and state is None:
            raise BuildError(
                f"{root} has no manifest.json, and its build.json is damaged or missing: nothing is finished. Delete "
                "it."
            )
        if state is None:
            return ()
        named = {s.id for s in base.sets} if base is not None else set()
        new = tuple(s for s in state.sets if s not in named)
        # Sidecars first: a set whose files are half removed must not count as committed.
        shutil.rmtree(root / PARTS_FOLDER, ignore_errors=True)
        files, keep = set_files(state, new), {MANIFEST, SHA256SUMS}
        if base is not None:
            keep |= {file.path for file in base.files}
            files = replace(files, places=files.places.difference(*set_places(base).values()))
        _remove(root, files, keep)
        shutil.rmtree(root / WORK_FOLDER, ignore_errors=True)
    with suppress(OSError):  # something is left in it
        root.rmdir()
    return new


def _remove(root: Path, files: SetFiles, keep: Container[str]) -> None:
    """Remove files below a folder but those to `keep`, and folders that are then empty.

    No link is followed.
    """
    for folder, _, names in os.walk(root, topdown=False):
        inside = os.path.relpath(folder, root).replace(os.sep, "/")
        for name in names:
            path = f"{inside}/{name}".removeprefix("./")
            if path in files and path not in keep:
                os.unlink(os.path.join(folder, name))
        with suppress(OSError):  # something is in it
            os.rmdir(folder)
