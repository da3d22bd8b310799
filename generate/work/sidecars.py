"""Sidecars: small files that mark a part of a build as complete and record its images.

Sidecars that are damaged or belong to a different build are ignored.
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from pathlib import Path
from typing import Any

from ...errors import MachineError
from ...manifests.disk.hashed import read_hashed, write_hashed
from ...manifests.paths import PARTS_FOLDER
from ...manifests.records.models import FileRecord, Record
from ..plan.job import Origin


class PartSet(Record):
    """The images of one set in a part."""

    pixels: str
    """The concatenated BLAKE3 digests of the images' pixels, with 64 hexadecimal digits for each image."""
    lines: bytes
    """The lines of ``sets/<set id>.jsonl`` for these images."""
    files: int
    """The number of image files and shard rows."""
    bytes: int
    """The total size of these files and rows."""
    shard: FileRecord | None
    """The record of the HDF5 shard, or None if images are not stored in shards."""
    metrics: list[list[Any]]
    """One row per measured image: sample index, PSNR, SSIM, fraction of changed pixels, and MS-SSIM."""

    @property
    def count(self) -> int:
        """The number of images."""
        return len(self.pixels) // 64


class Sidecar(Record):
    """The record of a completed part."""

    build: str
    """The hash of the build (`Origin.build`)."""
    resources: dict[str, str]
    """The entries of `Origin.resources` that affect the pixels of the part."""
    run: int
    """The number of the chunk."""
    first: int
    """The index of the first sample."""
    stop: int
    """The index after the last sample."""
    clean: list[str]
    """The pixel digests of the clean images."""
    sets: dict[str, PartSet]
    environment: dict[str, str]
    """The versions of the libraries that made the part."""

    def belongs_to(self, origin: Origin) -> bool:
        """Return whether the part belongs to a build."""
        return self.build == origin.build and self.resources.items() <= origin.resources.items()


def sidecar_path(directory: Path, name: str) -> Path:
    """Return the path of the sidecar of the part `name`."""
    return directory / PARTS_FOLDER / f"{name}.json"


def write_sidecar(directory: Path, name: str, sidecar: Sidecar) -> None:
    """Write a sidecar, which marks the part as complete."""
    write_hashed(sidecar_path(directory, name), sidecar.model_dump_json().encode())


def read_sidecar(path: Path) -> Sidecar:
    """Read a sidecar. Raise `MachineError` if it is damaged."""
    sidecar = _read(path)
    if sidecar is None:
        raise MachineError(
            f"{path} was damaged after it was written. Run the same command again to repeat its part. "
            "If that happens twice, check the disk."
        )
    return sidecar


def sidecars(directory: Path, chunks: Container[int] | None = None) -> Iterator[tuple[Path, Sidecar | None]]:
    """Yield the path and the content of each sidecar. The content of a damaged sidecar is None.

    If `chunks` is given, only sidecars of these chunks are included.
    """
    for path in sorted((directory / PARTS_FOLDER).glob("*.json")):
        if chunks is None or int(path.name.partition("-")[0]) in chunks:
            yield path, _read(path)


def is_committed(directory: Path, name: str, origin: Origin) -> bool:
    """Return whether a part of a build is committed."""
    sidecar = _read(sidecar_path(directory, name))
    return sidecar is not None and sidecar.belongs_to(origin)


def _read(path: Path) -> Sidecar | None:
    """Return a sidecar, or None if it is missing, damaged, or from an incompatible version of corruptset."""
    data = read_hashed(path)
    try:
        return None if data is None else Sidecar.model_validate_json(data)
    except ValueError:
        return None
