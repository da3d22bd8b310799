"""Sidecars: a file for every committed part, with what records will say of it.

A sidecar that is damaged, or of another build, is as if it were not there.
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
    """One set of a part."""

    pixels: str
    """The BLAKE3 of each image's pixels, hexadecimal, one after the other: 64 digits each."""
    lines: bytes
    """Rows of ``sets/<set id>.jsonl``."""
    files: int
    """How many files and rows of arrays there are of its images."""
    bytes: int
    """Of those, together."""
    shard: FileRecord | None
    """Its HDF5 shard."""
    metrics: list[list[Any]]
    """[sample, PSNR, SSIM, fraction changed, MS-SSIM] of some images."""

    @property
    def count(self) -> int:
        """How many images."""
        return len(self.pixels) // 64


class Sidecar(Record):
    """What a part has made."""

    build: str
    """`Origin.build`."""
    resources: dict[str, str]
    """`Origin.resources` of those that go into pixels of the part."""
    run: int
    first: int
    """The first sample."""
    stop: int
    clean: list[str]
    """Pixel digests of the clean images."""
    sets: dict[str, PartSet]
    environment: dict[str, str]
    """The library versions that made the part."""

    def of(self, origin: Origin) -> bool:
        """Return whether the part belongs to a build."""
        return self.build == origin.build and self.resources.items() <= origin.resources.items()


def sidecar_path(directory: Path, name: str) -> Path:
    """Return where a part is committed."""
    return directory / PARTS_FOLDER / f"{name}.json"


def write_sidecar(directory: Path, name: str, sidecar: Sidecar) -> None:
    """Commit a part: from here on it exists."""
    write_hashed(sidecar_path(directory, name), sidecar.model_dump_json().encode())


def read_sidecar(path: Path) -> Sidecar:
    """Return a sidecar; `MachineError` where it was whole, and is not any more."""
    sidecar = _whole(path)
    if sidecar is None:
        raise MachineError(
            f"{path} was damaged after it was written. Run the same command again: its part is made again. "
            "If that happens twice, look at the disk."
        )
    return sidecar


def sidecars(directory: Path, runs: Container[int] | None = None) -> Iterator[tuple[Path, Sidecar | None]]:
    """Yield the sidecars of a directory, or of some runs; None for a damaged one."""
    for path in sorted((directory / PARTS_FOLDER).glob("*.json")):
        if runs is None or int(path.name.partition("-")[0]) in runs:
            yield path, _whole(path)


def is_committed(directory: Path, name: str, origin: Origin) -> bool:
    """Return whether a part of a build exists."""
    sidecar = _whole(sidecar_path(directory, name))
    return sidecar is not None and sidecar.of(origin)


def _whole(path: Path) -> Sidecar | None:
    data = read_hashed(path)
    try:
        return None if data is None else Sidecar.model_validate_json(data)
    except ValueError:  # of another version of corruptset
        return None
