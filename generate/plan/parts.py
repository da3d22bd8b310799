"""Divide a build into parts, and assign the parts to the jobs of an array.

A part is a group of sets for one chunk of consecutive samples. A worker makes one part at a time, and a resumed build
makes the missing parts. Chunks depend only on the image size and the number of samples. Shards are therefore the same
for any choice of sets and on any machine.
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
"""Limit on the size of a chunk's clean pixels, in bytes. A worker keeps these pixels in memory, and a raw shard is as
large.
"""
MAX_CHUNK_SAMPLES = 2048
MIN_CHUNK_SAMPLES = 8
TARGET_CHUNKS = 8
"""Number of chunks of a small build."""
TARGET_PARTS = 32
"""Number of parts of a small build that has enough sets. With several parts, several workers can be used."""
PART_BYTES = 72 << 20
"""Limit on the total size, in bytes, of the encoded images that a part collects before it writes its shards."""
BATCH_BYTES = 2 << 20
"""Size of the clean pixels of one batch, in bytes: thirteen images at 224x224, hundreds at 32x32. Larger batches do not
fit into processor caches.
"""
MAX_JOBS = 1_000_000
"""Limit on the number of jobs in an array."""
WHOLE_CHUNK_THRESHOLD = 8
"""If there are at least this many chunks per job, no chunk is divided between jobs."""


@dataclass(frozen=True)
class Part:
    """A group of sets for one chunk of samples."""

    chunk: Chunk
    sets: tuple[str, ...]
    """Ids of the sets, in the order in which they are made."""

    @property
    def name(self) -> str:
        """The name of the part's sidecar, ``<number of the chunk>-<hash of the set ids>``."""
        return f"{self.chunk.number:05d}-{hashlib.sha256(' '.join(self.sets).encode()).hexdigest()[:16]}"

    @property
    def description(self) -> str:
        """A description of the part for messages."""
        return f"{self.name}: samples {self.chunk.first} to {self.chunk.stop - 1} of {', '.join(self.sets[:6])}"

    @property
    def images(self) -> int:
        """The number of images in the part."""
        return self.chunk.count * len(self.sets)


def chunks(count: int, image_bytes: int) -> list[Chunk]:
    """Return the chunks of a build.

    Parameters
    ----------
    count : int
        Number of samples.
    image_bytes : int
        Size of one clean image, H * W * C, or of the largest image if sizes differ.

    Examples
    --------
    >>> [len(chunks(n, 224 * 224 * 3)) for n in (8, 64, 1000, 50000)], len(chunks(10000, 32 * 32 * 3))
    ([1, 8, 8, 113], 8)
    """
    length = min(
        CHUNK_BYTES // max(1, image_bytes), MAX_CHUNK_SAMPLES, max(MIN_CHUNK_SAMPLES, -(-count // TARGET_CHUNKS))
    )
    return chunks_of(count, max(1, length))


def chunks_of(count: int, length: int) -> list[Chunk]:
    """Divide `count` samples into chunks of at most `length` samples."""
    return [Chunk(i, first, min(first + length, count)) for i, first in enumerate(range(0, count, length))]


def groups(
    sets: Sequence[str], *, chunk_count: int, chunk_length: int, stored_bytes: int, branches: Collection[int] = ()
) -> list[tuple[str, ...]]:
    """Divide sets into groups, so that the images of one part (a group for one chunk) fit into memory.

    Parameters
    ----------
    sets : sequence of str
        Ids of the sets in the order in which they are made. Neighbouring sets share their first stages.
    chunk_count, chunk_length : int
        The number of chunks, and the number of samples in the longest chunk.
    stored_bytes : int
        Estimated size of one stored image in bytes.
    branches : collection of int
        Positions in `sets` of sets that share no stage with the sets before them. A group begins at the position that
        is nearest to an equal division, so that shared stages are computed once. Groups that are too large for memory
        are divided further.
    """
    by_memory = max(1, PART_BYTES // max(1, chunk_length * stored_bytes))
    # Branches are divided to limit memory, but not to distribute work among workers.
    for_workers = min(-(-TARGET_PARTS // max(1, chunk_count)), len(branches) or len(sets))
    count = min(len(sets), max(-(-len(sets) // by_memory), for_workers))
    # The groups have equal sizes, except that the first groups may have one more set.
    size, longer = divmod(len(sets), max(1, count))
    cuts = [0]
    for i in range(1, count):
        equal = i * size + min(i, longer)
        near = [b for b in branches if cuts[-1] < b]
        cuts.append(min(near, key=lambda b: (abs(b - equal), b), default=max(equal, cuts[-1])))
    cuts.append(len(sets))
    # Groups that became too large for memory are divided.
    return [
        tuple(sets[start : min(start + by_memory, stop)])
        for first, stop in pairwise(cuts)
        for start in range(first, stop, by_memory)
    ]


def parts(
    all_chunks: Sequence[Chunk], set_groups: Sequence[tuple[str, ...]], committed: Collection[tuple[str, int]] = ()
) -> list[Part]:
    """Return the uncommitted parts of a build, ordered by chunk.

    Parameters
    ----------
    all_chunks : sequence of Chunk
        The chunks of the build, as `chunks` returns them.
    set_groups : sequence of tuple of str
        The groups of set ids, as `groups` returns them.
    committed : collection of (set id, chunk number)
        The set ids and chunk numbers of the images that are finished.
    """
    return uncommitted_parts([Part(chunk, group) for chunk in all_chunks for group in set_groups], committed)


def uncommitted_parts(candidates: Iterable[Part], committed: Collection[tuple[str, int]]) -> list[Part]:
    """Remove the committed sets from parts, and return the parts that still have sets."""
    remaining = (Part(p.chunk, tuple(s for s in p.sets if (s, p.chunk.number) not in committed)) for p in candidates)
    return [part for part in remaining if part.sets]


def parse_job(part: Any) -> tuple[int, int]:
    """Check the argument `part` of `build`, and return it as (job, jobs), where jobs are counted from 0.

    Raise `BuildError` if it is not valid.
    """
    match part:
        case [int(job), int(jobs)] if 0 <= job < jobs <= MAX_JOBS and bool not in (type(job), type(jobs)):
            return job, jobs
    raise BuildError(
        f"part is {part!r}; expected job i of n, as two whole numbers: n from 1 to {MAX_JOBS:,}, i from 0 to n-1, "
        "such as 0/16."
    )


def job_shares(all_parts: Sequence[Part], jobs: int) -> list[list[Part]]:
    """Return the parts that are assigned to each of `jobs` jobs.

    A job's share consists of consecutive parts. If there are at least `WHOLE_CHUNK_THRESHOLD` chunks per job, all parts
    of a chunk are assigned to one job. Each chunk is then decoded only once. With fewer chunks, such shares would be
    too unequal.

    Parameters
    ----------
    all_parts : sequence of Part
        All parts of a build, ordered by chunk, including committed parts.
    jobs : int
        The number of jobs.

    Examples
    --------
    >>> [len(share) for share in job_shares(parts(chunks(64, 150528), [("a",), ("b",)]), 3)]
    [6, 5, 5]
    """
    assigned: list[list[Part]] = [[] for _ in range(jobs)]
    count = len({part.chunk.number for part in all_parts})
    whole_chunks = count >= WHOLE_CHUNK_THRESHOLD * jobs
    for number, part in enumerate(all_parts):
        job = part.chunk.number * jobs // count if whole_chunks else number * jobs // len(all_parts)
        assigned[job].append(part)
    return assigned


def batches(images: Sequence[NDArray[np.uint8]]) -> Iterator[list[int]]:
    """Yield batches of images. Each batch is a list of the positions of images that have the same shape."""
    by_shape: dict[tuple[int, ...], list[int]] = {}
    for position, image in enumerate(images):
        by_shape.setdefault(image.shape, []).append(position)
    for shape, positions in by_shape.items():
        length = max(1, BATCH_BYTES // prod(shape))
        for start in range(0, len(positions), length):
            yield positions[start : start + length]
