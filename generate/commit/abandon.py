"""`build --abandon`: take back what a build has not finished; what a manifest names stays."""

from __future__ import annotations

import os
import shutil
from collections.abc import Container, Iterable, Iterator
from pathlib import Path

from ...errors import BuildError
from ...manifests.disk.remote import local_folder
from ...manifests.layout import MANIFEST, PARTS_FOLDER, SHA256SUMS, SHARDS, WORK_FOLDER, is_begun, set_path, set_places
from ...manifests.records.models import Manifest
from ...manifests.unfinished import Unfinished, read_unfinished, set_files
from .interruption import resumable
from .last_files import settle
from .locks import extended, finished, locked, wait_for_workers
from .state import remove_strays


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
        _remove(root, state, new, base)
        shutil.rmtree(root / WORK_FOLDER, ignore_errors=True)
    if base is None and not any(root.iterdir()):
        root.rmdir()
    return new


def _remove(root: Path, state: Unfinished, sets: tuple[str, ...], base: Manifest | None) -> None:
    """Remove the files of sets; what a manifest names stays. No set lies within another's folder, as recipes refuse
    that.
    """
    files = set_files(state, sets)
    shards = [p.relative_to(root).as_posix() for p in (root / SHARDS).rglob("*.h5")]
    below = {*files.places, *(set_path(s) for s in sets), *(p for p in shards if p in files)}
    keep = {MANIFEST, SHA256SUMS}
    if base is not None:
        keep |= {f.path for f in base.files}
        below -= {path for paths in set_places(base).values() for path in paths}
    remove_files(root, below, keep)
    remove_strays(root)


def remove_files(directory: Path, below: Iterable[str], keep: Container[str]) -> None:
    """Remove the files at and below some relative paths but those to `keep`, and then the folders that are empty; no
    link is followed.
    """
    for start in below:
        path = directory / start
        if any(above.is_symlink() for above in _above(directory, path)):
            continue
        if (path.is_symlink() or path.is_file()) and start not in keep:
            path.unlink()
        for folder, _, files in os.walk(path, topdown=False):
            inside = os.path.relpath(folder, directory).replace(os.sep, "/")
            for name in files:
                if f"{inside}/{name}" not in keep:
                    os.unlink(os.path.join(folder, name))
            _remove_empty(Path(folder))
        for above in _above(directory, path):
            _remove_empty(above)


def _above(directory: Path, path: Path) -> Iterator[Path]:
    """Yield the folders above a path, inside a directory."""
    for parent in path.parents:
        if parent == directory:
            return
        yield parent


def _remove_empty(folder: Path) -> None:
    try:
        folder.rmdir()
    except OSError:  # something is in it, or it is not there
        return
