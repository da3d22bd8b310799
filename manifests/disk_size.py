"""Compute the size of a dataset on disk, which all commands state in the same way."""

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
    """The size of a dataset: the sum of the sizes of all its files, as `du --apparent-size` counts them."""

    bytes: int
    alone: Mapping[str, int] = field(default_factory=dict)
    """Container -> approximate size of the dataset if images were stored only in this container. Empty unless every
    image is stored in two containers.
    """


def disk_size(root: Path, manifest: Manifest) -> DiskSize:
    """Compute the size of a complete dataset from its records."""
    container, files = manifest.storage.container, manifest.files
    listed = sum(f.bytes for f in files) + len(manifest_bytes(manifest))
    listed += sum(len(f"{path}\n".encode()) + 66 for path in [MANIFEST, *(f.path for f in files)])  # SHA256SUMS
    shards = sum(f.bytes for f in files if f.path.startswith(SHARDS))
    images = sum(s.bytes for s in manifest.sets)
    if container == "hdf5":
        return DiskSize(listed)
    if container == "folder":
        return DiskSize(listed + images)
    total = listed + images - sum(_shard_bytes(root, record) for record in manifest.sets)
    return DiskSize(total, {"folder": total - shards, "hdf5": listed})


def _shard_bytes(root: Path, record: SetRecord) -> int:
    """Return how many of the stored bytes of a set are in shards, if each image is also stored as a file.

    With JPEG, the file and the row of an image are identical, so half of the bytes are in shards. Otherwise, all rows
    of a shard have the size of the first row.
    """
    first = next(read_jsonl(root / set_path(record.id), ImageRecord), None)
    files = [] if first is None else first.files
    same = len({f.sha256 for f in files}) == 1
    return record.bytes // 2 if same else record.count * sum(f.bytes for f in files if f.row is not None)
