"""The base class of fuzz targets: valid files, mutations, and the check of accepted files."""

from __future__ import annotations

import os
import random
import resource
from collections.abc import Sequence
from pathlib import Path

import source_archives
from mutating import mutate

RGB = source_archives.random_crops(2, seed=3)[0]
"""(2, 32, 32, 3)"""


class Target:
    """A reader that is tested."""

    text = False

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.files: Sequence[bytes] = self.make()
        self.floor = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024

    def make(self) -> Sequence[bytes]:
        """Return valid files."""
        raise NotImplementedError

    def mutated(self, rng: random.Random) -> bytes:
        return mutate(rng.choice(self.files), rng, others=self.files, text=self.text)

    def numbered(self, target: str, seed: int, number: int) -> bytes:
        """Return one mutation, which is reproducible."""
        return self.mutated(random.Random(f"{target}/{seed}/{number}"))

    def try_one(self, data: bytes) -> None:
        """Read a file, and compare the result."""
        raise NotImplementedError

    def put(self, name: str, data: bytes) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, data)
        return path


def replace_file(path: Path, data: bytes) -> None:
    """Replace a file by a new one, because HDF5 can loop forever on a file that is truncated while it is open."""
    part = path.with_name(path.name + ".new")
    part.write_bytes(data)
    os.replace(part, path)
