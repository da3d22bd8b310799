"""Extend a finished dataset. Its files are linked into the folder of a new dataset, so only new sets are built."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from ...errors import BuildError
from ...manifests.disk.atomic import fsync_folder, inside, link_or_copy, make_folder
from ...manifests.disk.hashed import write_hashed
from ...manifests.disk.jsonl import read_jsonl
from ...manifests.manifest_file import load_manifest
from ...manifests.paths import BASE, MANIFEST, PARTIAL, set_of_shard, set_path
from ...manifests.records.models import ImageRecord, Manifest


def load_base(extend: Path) -> Manifest:
    """Return the manifest of a dataset that is to be extended, or raise `BuildError` if that is not possible."""
    manifest = load_manifest(extend)
    if (extend / PARTIAL).exists():
        raise BuildError(f"{extend} is a part of a dataset. Unpack its other archives there, then extend it.")
    return manifest


def link_sets(extend: Path, folder: Path) -> None:
    """Link the files of all sets of a dataset into the folder of a new one, or copy them if they cannot be linked.

    The manifest of the dataset is recorded first. Until build.json is written too, not all files may be linked.
    """
    write_hashed(folder / BASE, (extend / MANIFEST).read_bytes())
    known, folders = set[str](), set[str]()
    for path in _set_files(extend, load_manifest(extend)):
        parent = path.rpartition("/")[0]
        if parent not in folders:
            make_folder(folder, parent)
            folders.add(parent)
        _link(inside(extend, path, known), folder / path)
    for parent in folders:
        fsync_folder(folder / parent)


def _set_files(root: Path, manifest: Manifest) -> Iterator[str]:
    """Yield the paths of all rows, shards and single images of a dataset."""
    for record in manifest.sets:
        rows = set_path(record.id)
        yield rows
        for row in read_jsonl(root / rows, ImageRecord):
            yield from (file.path for file in row.files if file.row is None)
    yield from (file.path for file in manifest.files if set_of_shard(file.path) is not None)


def _link(file: Path, target: Path) -> None:
    """Link a file, or copy it if it cannot be linked. A target that an interrupted command left is replaced."""
    if os.path.lexists(target):
        if target.samefile(file):
            return
        target.unlink()
    if not link_or_copy(file, target):
        with target.open("rb") as copy:
            os.fsync(copy.fileno())
