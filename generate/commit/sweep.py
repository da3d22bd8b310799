"""Remove images and rows that no record of a build names: of another build, or of one whose build.json is missing."""

from __future__ import annotations

import json
import os
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from ...manifests.disk.jsonl import read_jsonl
from ...manifests.layout import IMAGES, SETS, SHARDS, set_path
from ...manifests.records.models import ImageRecord, Manifest
from ..work.sidecars import read_sidecar


def sweep(directory: Path, base: Manifest | None, committed: Mapping[tuple[str, int], Path], places: Mapping[str, Sequence[str]]) -> None:
    """Remove every image, shard and row that neither a manifest nor a sidecar names.

    Parameters
    ----------
    directory : Path
    base : Manifest, optional
        Of the finished build.
    committed : mapping
        (set id, run) -> sidecar.
    places : mapping
        Set id -> the folder or the arrays of its images.
    """
    named: set[str] = set()
    if base is not None:
        rows = (row for one in base.sets for row in read_jsonl(directory / set_path(one.id), ImageRecord))
        named = {f.path for f in base.files} | {stored.path for row in rows for stored in row.files}
    for path in set(committed.values()):
        sidecar = read_sidecar(path)
        for set_id, entry in sidecar.sets.items():
            if (set_id, sidecar.run) in committed:
                named |= {f["path"] for line in entry.lines.splitlines() for f in json.loads(line)["files"]}
    tops = {path.split("/")[0] for paths in places.values() for path in paths}
    remove_files(directory, {IMAGES, SHARDS, SETS} | tops, keep=named)


def remove_files(directory: Path, below: Iterable[str], keep: Container[str]) -> None:
    """Remove the files at and below some relative paths but those to `keep`, and then the folders that are empty; no link is followed."""
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
