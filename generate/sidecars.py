"""Sidecars: a file for every part that is committed, with what the finished build's records will say of it.

The first line says which samples and sets it speaks for, so that a resume need not read the rest; the second what was made of each set;
then follow the rows of the sets' records, as they will stand in ``sets/*.jsonl``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..manifests.files import WORK_FOLDER, write_atomic

PARTS_FOLDER = f"{WORK_FOLDER}/parts"


@dataclass(frozen=True)
class Entry:
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
    """[sample, PSNR, SSIM, fraction changed] of some images."""

    @property
    def count(self) -> int:
        """How many images."""
        return len(self.pixels) // 64


@dataclass(frozen=True)
class Sidecar:
    """What a part has made."""

    run: int
    first: int
    """The first sample."""
    stop: int
    clean: Sequence[str]
    """Pixel digests of the clean images."""
    sets: Mapping[str, Entry]


def write_sidecar(directory: Path, name: str, sidecar: Sidecar) -> None:
    """Commit a part: from here on it exists."""
    header = {"run": sidecar.run, "first": sidecar.first, "stop": sidecar.stop, "names": list(sidecar.sets)}
    sets = {
        set_id: {
            "pixels": e.pixels,
            "lines": len(e.lines),
            "files": e.files,
            "bytes": e.bytes,
            "shard": e.shard,
            "metrics": e.metrics,
        }
        for set_id, e in sidecar.sets.items()
    }
    made = json.dumps({"clean": list(sidecar.clean), "sets": sets}, ensure_ascii=False)
    text = f"{json.dumps(header, ensure_ascii=False)}\n{made}\n".encode()
    write_atomic(directory / PARTS_FOLDER / f"{name}.json", text, *(e.lines for e in sidecar.sets.values()))


def read_sidecar(path: Path) -> Sidecar:
    """Return a sidecar."""
    with path.open("rb") as f:
        header = json.loads(f.readline())
        made = json.loads(f.readline())
        sets = {set_id: Entry(**{**e, "lines": f.read(e["lines"])}) for set_id, e in made["sets"].items()}
    return Sidecar(header["run"], header["first"], header["stop"], made["clean"], sets)


def sidecars_of(directory: Path) -> dict[tuple[str, int], Path]:
    """Return what is committed: (set id, run) -> sidecar."""
    found: dict[tuple[str, int], Path] = {}
    for path in sorted((directory / PARTS_FOLDER).glob("*.json")):
        with path.open("rb") as f:
            header = json.loads(f.readline())
        for name in header["names"]:
            found[name, header["run"]] = path
    return found
