"""Extend a finished dataset: link its files into the folder of a new dataset, so that only new sets must be built."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from ...errors import BuildError
from ...manifests.disk.atomic import fsync_folder, link_or_copy, make_folder, path_inside
from ...manifests.disk.hashed import write_hashed
from ...manifests.disk.jsonl import read_jsonl
from ...manifests.manifest_file import load_manifest
from ...manifests.paths import BASE, MANIFEST, PARTIAL, set_of_shard, set_path
from ...manifests.records.models import ImageRecord, Manifest


def load_base(extend: Path) -> Manifest:
    """Return the manifest of a dataset to extend, or raise `BuildError` if the dataset cannot be extended."""
    manifest = load_manifest(extend)
    if (extend / PARTIAL).exists():
        raise BuildError(f"{extend} is only a part of a dataset. Unpack its other archives there, then extend it.")
    return manifest


def link_sets(extend: Path, folder: Path) -> None:
    """Link all set files of the dataset `extend` into the folder of a new dataset, or copy those that cannot be linked.

    The manifest of `extend` is stored in the folder first. As long as build.json is missing, some files may not have
    been linked yet.
    """
    write_hashed(folder / BASE, (extend / MANIFEST).read_bytes())
    known, folders = set[str](), set[str]()
    for path in _set_files(extend, load_manifest(extend)):
        parent = path.rpartition("/")[0]
        if parent not in folders:
            make_folder(folder, parent)
            folders.add(parent)
        _link(path_inside(extend, path, known), folder / path)
    for parent in folders:
        fsync_folder(folder / parent)


def _set_files(root: Path, manifest: Manifest) -> Iterator[str]:
    """Yield the paths of all set files of a dataset: the records of images (.jsonl), image files and shards."""
    for record in manifest.sets:
        rows = set_path(record.id)
        yield rows
        for row in read_jsonl(root / rows, ImageRecord):
            yield from (file.path for file in row.files if file.row is None)
    yield from (file.path for file in manifest.files if set_of_shard(file.path) is not None)


def _link(file: Path, target: Path) -> None:
    """Link a file, or copy it if it cannot be linked. A target left by an interrupted command is replaced."""
    if os.path.lexists(target):
        if target.samefile(file):
            return
        target.unlink()
    if not link_or_copy(file, target):
        with target.open("rb") as copy:
            os.fsync(copy.fileno())
