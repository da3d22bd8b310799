"""What a fuzzed reader is: valid files, how they are mutated, and a look at what is accepted."""

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
    """A reader under test."""

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
        """Return one mutation: the same each time."""
        return self.mutated(random.Random(f"{target}/{seed}/{number}"))

    def try_one(self, data: bytes) -> None:
        """Read and compare."""
        raise NotImplementedError

    def put(self, name: str, data: bytes) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, data)
        return path


def replace_file(path: Path, data: bytes) -> None:
    """Put a new file in a file's place: HDF5 can loop for ever on one that is cut while it has it open."""
    part = path.with_name(path.name + ".new")
    part.write_bytes(data)
    os.replace(part, path)
