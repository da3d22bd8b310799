"""Sidecars: a file for every committed part, from which the records of its images are written.

A sidecar that is damaged, or that belongs to another build, is ignored.
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
    """The BLAKE3 hashes of the pixels of all images, with 64 hexadecimal digits each, without separators."""
    lines: bytes
    """The rows of ``sets/<set id>.jsonl``."""
    files: int
    """The number of files and rows that store the images."""
    bytes: int
    """The total size of the stored images."""
    shard: FileRecord | None
    """The HDF5 shard."""
    metrics: list[list[Any]]
    """[sample, PSNR, SSIM, fraction changed, MS-SSIM] for some of the images."""

    @property
    def count(self) -> int:
        """The number of images."""
        return len(self.pixels) // 64


class Sidecar(Record):
    """The record of a committed part."""

    build: str
    """`Origin.build`."""
    resources: dict[str, str]
    """`Origin.resources` that the pixels of the part depend on."""
    run: int
    first: int
    """The first sample."""
    stop: int
    clean: list[str]
    """The pixel digests of the clean images."""
    sets: dict[str, PartSet]
    environment: dict[str, str]
    """The library versions that made the part."""

    def of(self, origin: Origin) -> bool:
        """Return whether the part belongs to a build."""
        return self.build == origin.build and self.resources.items() <= origin.resources.items()


def sidecar_path(directory: Path, name: str) -> Path:
    """Return the path of the sidecar of a part."""
    return directory / PARTS_FOLDER / f"{name}.json"


def write_sidecar(directory: Path, name: str, sidecar: Sidecar) -> None:
    """Write the sidecar of a part, which commits it."""
    write_hashed(sidecar_path(directory, name), sidecar.model_dump_json().encode())


def read_sidecar(path: Path) -> Sidecar:
    """Return a sidecar, or raise `MachineError` if it was damaged after it was written."""
    sidecar = _whole(path)
    if sidecar is None:
        raise MachineError(
            f"{path} was damaged after it was written. Run the same command again to replace it. If that happens "
            "twice, check the disk."
        )
    return sidecar


def sidecars(directory: Path, runs: Container[int] | None = None) -> Iterator[tuple[Path, Sidecar | None]]:
    """Yield the paths and records of all sidecars, or of those of some runs. The record of a damaged one is None."""
    for path in sorted((directory / PARTS_FOLDER).glob("*.json")):
        if runs is None or int(path.name.partition("-")[0]) in runs:
            yield path, _whole(path)


def is_committed(directory: Path, name: str, origin: Origin) -> bool:
    """Return whether a part of a build is committed."""
    sidecar = _whole(sidecar_path(directory, name))
    return sidecar is not None and sidecar.of(origin)


def _whole(path: Path) -> Sidecar | None:
    data = read_hashed(path)
    try:
        return None if data is None else Sidecar.model_validate_json(data)
    except ValueError:  # of another version of corruptset
        return None
