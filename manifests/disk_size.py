"""The size of a dataset on disk, as all commands state it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from .disk.jsonl import read_jsonl
from .manifest_file import manifest_bytes
from .paths import MANIFEST, SHARDS, set_path
from .records.models import ImageRecord, Manifest, SetRecord


@dataclass(frozen=True)
class DiskSize:
    """The sum of a data set's file sizes, as `du --apparent-size` counts them."""

    bytes: int
    alone: Mapping[str, int] = field(default_factory=dict)
    """``folder`` and ``hdf5`` -> about what the data set would take in that form alone, where every image is stored in
    both.
    """


def disk_size(root: Path, manifest: Manifest) -> DiskSize:
    """Return how much a whole data set takes, from its records alone."""
    container, files = manifest.storage.container, manifest.files
    listed = sum(f.bytes for f in files) + len(manifest_bytes(manifest))
    listed += sum(len(f"{path}\n".encode()) + 66 for path in [MANIFEST, *(f.path for f in files)])  # SHA256SUMS
    shards = sum(f.bytes for f in files if f.path.startswith(SHARDS))
    images = sum(s.bytes for s in manifest.sets)
    if container == "hdf5":
        return DiskSize(listed)
    if container == "folder":
        return DiskSize(listed + images)
    total = listed + images - sum(_in_shards(root, one) for one in manifest.sets)
    return DiskSize(total, {"folder": total - shards, "hdf5": listed})


def _in_shards(root: Path, one: SetRecord) -> int:
    """Return how many of a set's bytes are in shards, beside those in files.

    It is half, or as many for each image where they are pixels.
    """
    first = next(read_jsonl(root / set_path(one.id), ImageRecord), None)
    files = [] if first is None else first.files
    same = len({f.sha256 for f in files}) == 1
    return one.bytes // 2 if same else one.count * sum(f.bytes for f in files if f.row is not None)
