"""Divide a build into parts, which are the units of work and of resuming, and into shares for the jobs of an array.

A part is a group of sets for one chunk of consecutive samples. Chunks depend only on the image size and the number
of samples, so shards are the same for any choice of sets and on any machine.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import BuildError
from ..sinks.sink import Chunk

CHUNK_BYTES = 64 << 20
"""Limit on the bytes of the clean pixels of a chunk, which a worker keeps in memory. A raw shard has the same size."""
MOST_SAMPLES = 2048
LEAST_SAMPLES = 8
CHUNKS_WANTED = 8
PARTS_WANTED = 32
"""Number of parts of a small build, if it has enough sets, so that several workers are used."""
ROWS_BYTES = 72 << 20
"""Limit on the bytes of encoded images that a part collects before it writes its shards."""
BATCH_BYTES = 2 << 20
"""Bytes of the clean pixels of one batch: thirteen images at 224x224, hundreds at 32x32. Larger batches do not fit into
the caches of the processor.
"""
MOST_JOBS = 1_000_000
"""Limit on the number of jobs of an array."""
WHOLE_CHUNKS = 8
"""Number of chunks per share from which chunks are not divided between shares."""


@dataclass(frozen=True)
class Part:
    """A group of sets for one chunk of samples."""

    chunk: Chunk
    sets: tuple[str, ...]
    """Ids of the sets, in the order in which they are made."""

    @property
    def name(self) -> str:
        """The name of the part's sidecar, ``<chunk>-<hash of the set ids>``."""
        return f"{self.chunk.number:05d}-{hashlib.sha256(' '.join(self.sets).encode()).hexdigest()[:16]}"

    @property
    def described(self) -> str:
        """A description of the part for messages."""
        return f"{self.name}: samples {self.chunk.first} to {self.chunk.stop - 1} of {', '.join(self.sets[:6])}"

    @property
    def images(self) -> int:
        """The number of images of the part."""
        return self.chunk.count * len(self.sets)


def chunks(count: int, image_bytes: int) -> list[Chunk]:
    """Return the chunks of a build.

    Parameters
    ----------
    count : int
        Number of samples.
    image_bytes : int
        Size of one clean image, H * W * C, or of the largest one if they differ.

    Examples
    --------
    >>> [len(chunks(n, 224 * 224 * 3)) for n in (8, 64, 1000, 50000)], len(chunks(10000, 32 * 32 * 3))
    ([1, 8, 8, 113], 8)
    """
    length = min(CHUNK_BYTES // max(1, image_bytes), MOST_SAMPLES, max(LEAST_SAMPLES, -(-count // CHUNKS_WANTED)))
    return chunks_of(count, max(1, length))


def chunks_of(count: int, length: int) -> list[Chunk]:
    """Return chunks of a length that cover `count` samples."""
    return [Chunk(i, first, min(first + length, count)) for i, first in enumerate(range(0, count, length))]


def groups(
    sets: Sequence[str], *, chunk_count: int, chunk_length: int, stored_bytes: int, branches: Collection[int] = ()
) -> list[tuple[str, ...]]:
    """Divide sets into groups whose images of one chunk fit into memory.

    Parameters
    ----------
    sets : sequence of str
        Ids of the sets in the order in which they are made. Neighbours share their first stages.
    chunk_count, chunk_length : int
        The number of chunks, and the number of samples of the longest chunk.
    stored_bytes : int
        Estimated size of one stored image in bytes.
    branches : collection of int
        Positions in `sets` at which sets begin that share no stage with those before. Groups begin at the nearest of
        them, so that shared stages are computed once.
    """
    by_memory = max(1, ROWS_BYTES // max(1, chunk_length * stored_bytes))
    # Branches are divided to limit memory, but not to distribute work among workers.
    for_workers = min(-(-PARTS_WANTED // max(1, chunk_count)), len(branches) or len(sets))
    count = min(len(sets), max(-(-len(sets) // by_memory), for_workers))
    # groups of equal size, the longer ones first
    size, longer = divmod(len(sets), max(1, count))
    cuts = [0]
    for i in range(1, count):
        equal = i * size + min(i, longer)
        near = [b for b in branches if cuts[-1] < b]
        cuts.append(min(near, key=lambda b: (abs(b - equal), b), default=max(equal, cuts[-1])))
    cuts.append(len(sets))
    # divide groups that became too large for the memory
    return [
        tuple(sets[start : min(start + by_memory, stop)])
        for first, stop in pairwise(cuts)
        for start in range(first, stop, by_memory)
    ]


def parts(
    all_chunks: Sequence[Chunk], set_groups: Sequence[tuple[str, ...]], committed: Collection[tuple[str, int]] = ()
) -> list[Part]:
    """Return the missing parts of a build, ordered by chunk.

    Parameters
    ----------
    committed : collection of (set id, chunk number)
        Sets and chunks that are finished.
    """
    return missing([Part(chunk, group) for chunk in all_chunks for group in set_groups], committed)


def missing(some: Iterable[Part], committed: Collection[tuple[str, int]]) -> list[Part]:
    """Return the unfinished sets of some parts."""
    left = (Part(p.chunk, tuple(s for s in p.sets if (s, p.chunk.number) not in committed)) for p in some)
    return [part for part in left if part.sets]


def check_share(part: Any) -> tuple[int, int]:
    """Return (job, jobs), which count from 0, or raise `BuildError`."""
    match part:
        case [int(job), int(jobs)] if 0 <= job < jobs <= MOST_JOBS and bool not in (type(job), type(jobs)):
            return job, jobs
    raise BuildError(
        f"part is {part!r}; expected job i of n, as two whole numbers: n from 1 to {MOST_JOBS:,}, i from 0 to n-1, "
        "such as 0/16."
    )


def shares(all_parts: Sequence[Part], jobs: int) -> list[list[Part]]:
    """Return the share of each of `jobs` jobs: neighbours in the order of `all_parts`.

    They are whole chunks, which are decoded by one job each, where a share has `WHOLE_CHUNKS` or more; fewer would make
    shares unequal.

    Parameters
    ----------
    all_parts : sequence of Part
        All parts of a build, chunk by chunk, whether they are committed or not.
    jobs : int

    Examples
    --------
    >>> [len(share) for share in shares(parts(chunks(64, 150528), [("a",), ("b",)]), 3)]
    [6, 5, 5]
    """
    dealt: list[list[Part]] = [[] for _ in range(jobs)]
    count = len({part.chunk.number for part in all_parts})
    for number, part in enumerate(all_parts):
        dealt[
            part.chunk.number * jobs // count if count >= WHOLE_CHUNKS * jobs else number * jobs // len(all_parts)
        ].append(part)
    return dealt


def batches(images: Sequence[NDArray[np.uint8]]) -> Iterator[list[int]]:
    """Yield the positions of images of one shape, as many as a batch takes."""
    by_shape: dict[tuple[int, ...], list[int]] = {}
    for position, image in enumerate(images):
        by_shape.setdefault(image.shape, []).append(position)
    for shape, positions in by_shape.items():
        length = max(1, BATCH_BYTES // prod(shape))
        for start in range(0, len(positions), length):
            yield positions[start : start + length]
