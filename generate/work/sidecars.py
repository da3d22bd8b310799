"""Sidecars: a file for every part that is committed, with what the finished build's records will say of it.

The first line is a hash of the rest. The second says which build the part belongs to and which samples and sets it
speaks for, the third what was made of each set; then follow the rows of the sets' records, as they will stand in
``sets/*.jsonl``. A sidecar that is damaged, or of another build, is as if it were not there.
"""

from __future__ import annotations

import json
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...errors import MachineError
from ...manifests.disk.hashed import read_hashed, write_hashed
from ...manifests.layout import PARTS_FOLDER
from ..plan.job import Origin


@dataclass(frozen=True)
class PartSet:
    """One set of a part."""

    pixels: str
    """The BLAKE3 of each image's pixels, hexadecimal, one after the other: 64 digits each."""
    lines: bytes
    """Rows of ``sets/<set id>.jsonl``."""
    files: int
    """How many files and rows of arrays there are of its images."""
    bytes: int
    """Of those, together."""
    shard: Mapping[str, Any] | None
    """path, bytes and sha256 of its HDF5 shard."""
    metrics: Sequence[Sequence[Any]]
    """[sample, PSNR, SSIM, fraction changed, MS-SSIM] of some images."""

    @property
    def count(self) -> int:
        """How many images."""
        return len(self.pixels) // 64


@dataclass(frozen=True)
class Sidecar:
    """What a part has made."""

    build: str
    """`Origin.build`."""
    resources: Mapping[str, str]
    """`Origin.resources` of those that go into pixels of the part."""
    run: int
    first: int
    """The first sample."""
    stop: int
    clean: Sequence[str]
    """Pixel digests of the clean images."""
    sets: Mapping[str, PartSet]

    def of(self, origin: Origin) -> bool:
        """Return whether the part belongs to a build."""
        return self.build == origin.build and self.resources.items() <= origin.resources.items()


def sidecar_path(directory: Path, name: str) -> Path:
    """Return where a part is committed."""
    return directory / PARTS_FOLDER / f"{name}.json"


def write_sidecar(directory: Path, name: str, sidecar: Sidecar) -> None:
    """Commit a part: from here on it exists."""
    header = dict(vars(sidecar))
    sets = {set_id: {**vars(e), "lines": len(e.lines)} for set_id, e in header.pop("sets").items()}
    contents = {"clean": header.pop("clean"), "sets": sets}
    text = "".join(f"{json.dumps(line, ensure_ascii=False)}\n" for line in (header, contents)).encode()
    write_hashed(sidecar_path(directory, name), text, *(e.lines for e in sidecar.sets.values()))


def read_sidecar(path: Path) -> Sidecar:
    """Return a sidecar.

    Raises
    ------
    MachineError
        It was whole, and is not any more.
    """
    sidecar = _whole(path)
    if sidecar is None:
        raise MachineError(
            f"{path} was damaged after it was written. Run the same command again: its part is made again. "
            "If that happens twice, look at the disk."
        )
    return sidecar


def sidecars(directory: Path, runs: Container[int] | None = None) -> Iterator[tuple[Path, Sidecar | None]]:
    """Yield every sidecar of a directory, or those of some runs, in order; None for one that is damaged."""
    for path in sorted((directory / PARTS_FOLDER).glob("*.json")):
        if runs is None or int(path.name.partition("-")[0]) in runs:
            yield path, _whole(path)


def is_committed(directory: Path, name: str, origin: Origin) -> bool:
    """Return whether a part of a build exists."""
    sidecar = _whole(sidecar_path(directory, name))
    return sidecar is not None and sidecar.of(origin)


def _whole(path: Path) -> Sidecar | None:
    data = read_hashed(path)
    if data is None:
        return None
    header, contents, _ = data.split(b"\n", 2)
    offset = len(header) + len(contents) + 2
    try:
        described = json.loads(contents)
        sets = {}
        for set_id, entry in described["sets"].items():
            sets[set_id] = PartSet(**{**entry, "lines": data[offset : offset + entry["lines"]]})
            offset += entry["lines"]
        return Sidecar(**json.loads(header), clean=described["clean"], sets=sets)
    except (ValueError, KeyError, TypeError):  # of another version of corruptset
        return None
