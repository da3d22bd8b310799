"""Parts: the unit of work, commit and resume; and their shares for arrays.

A part is a group of sets x a run of consecutive samples. Where a run begins follows from the image size and the number
of samples alone, so shards are the same whichever sets are built, on whatever machine.
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
from ..sinks.sink import Run

RUN_BYTES = 64 << 20
"""Most clean pixels of a run: a worker keeps them while it works on the groups of one run, and a raw shard is as large.
"""
MOST_SAMPLES = 2048
LEAST_SAMPLES = 8
RUNS_WANTED = 8
PARTS_WANTED = 32
"""A small build still has this many parts (if it has as many sets), for workers to share."""
ROWS_BYTES = 72 << 20
"""Most bytes of images that a part collects before it writes its shards."""
BATCH_BYTES = 2 << 20
"""Clean pixels of one batch: at 224x224 thirteen images, at 32x32 hundreds, so that its buffers stay near the caches.
"""
MOST_JOBS = 1_000_000
"""Of an array."""
WHOLE_RUNS = 8
"""Runs of a share, from where no run is cut."""


@dataclass(frozen=True)
class Part:
    """A group of sets x a run of samples."""

    run: Run
    sets: tuple[str, ...]
    """Set ids, in the order of the walk."""

    @property
    def name(self) -> str:
        """``<run>-<hash of the set ids>``: what the part's sidecar is called."""
        return f"{self.run.number:05d}-{hashlib.sha256(' '.join(self.sets).encode()).hexdigest()[:16]}"

    @property
    def described(self) -> str:
        """What a message calls the part."""
        return f"{self.name}: samples {self.run.first} to {self.run.stop - 1} of {', '.join(self.sets[:6])}"

    @property
    def images(self) -> int:
        """How many images the part makes."""
        return self.run.count * len(self.sets)


def runs(count: int, image_bytes: int) -> list[Run]:
    """Return the runs of a build.

    Parameters
    ----------
    count : int
        Samples.
    image_bytes : int
        Pixels of one clean image, H * W * C (the largest, where they differ).

    Examples
    --------
    >>> [len(runs(n, 224 * 224 * 3)) for n in (8, 64, 1000, 50000)], len(runs(10000, 32 * 32 * 3))
    ([1, 8, 8, 113], 8)
    """
    length = min(RUN_BYTES // max(1, image_bytes), MOST_SAMPLES, max(LEAST_SAMPLES, -(-count // RUNS_WANTED)))
    return runs_of(count, max(1, length))


def runs_of(count: int, length: int) -> list[Run]:
    """Return runs of a length that cover so many samples."""
    return [Run(i, first, min(first + length, count)) for i, first in enumerate(range(0, count, length))]


def groups(
    sets: Sequence[str], *, run_count: int, run_length: int, stored_bytes: int, branches: Collection[int] = ()
) -> list[tuple[str, ...]]:
    """Return sets cut into groups whose images of one run fit into memory.

    Parameters
    ----------
    sets : sequence of str
        Set ids in the order of the walk; neighbours share beginnings.
    run_count, run_length : int
        How many runs there are, and the samples of the longest.
    stored_bytes : int
        Estimated bytes of one stored image.
    branches : collection of int
        Positions in `sets` where sets begin that share nothing with those before: cuts move to the nearest, so that
        what sets share is made once.
    """
    by_memory = max(1, ROWS_BYTES // max(1, run_length * stored_bytes))
    # To share work out among workers a branch is not cut, for memory it is.
    for_workers = min(-(-PARTS_WANTED // max(1, run_count)), len(branches) or len(sets))
    count = min(len(sets), max(-(-len(sets) // by_memory), for_workers))
    # Equal shares, the longer ones first.
    size, longer = divmod(len(sets), max(1, count))
    cuts = [0]
    for i in range(1, count):
        equal = i * size + min(i, longer)
        near = [b for b in branches if cuts[-1] < b]
        cuts.append(min(near, key=lambda b: (abs(b - equal), b), default=max(equal, cuts[-1])))
    cuts.append(len(sets))
    # A share that grew beyond the memory is cut once more.
    return [
        tuple(sets[start : min(start + by_memory, stop)])
        for first, stop in pairwise(cuts)
        for start in range(first, stop, by_memory)
    ]


def parts(
    all_runs: Sequence[Run], set_groups: Sequence[tuple[str, ...]], committed: Collection[tuple[str, int]] = ()
) -> list[Part]:
    """Return the parts that are still to be made, run by run.

    Parameters
    ----------
    committed : collection of (set id, run number)
        What stands already.
    """
    return missing([Part(run, group) for run in all_runs for group in set_groups], committed)


def missing(some: Iterable[Part], committed: Collection[tuple[str, int]]) -> list[Part]:
    """Return what is still to be made of some parts."""
    left = (Part(p.run, tuple(s for s in p.sets if (s, p.run.number) not in committed)) for p in some)
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

    They are whole runs, which are decoded by one job each, where a share has `WHOLE_RUNS` or more; fewer would make
    shares unequal.

    Parameters
    ----------
    all_parts : sequence of Part
        All parts of a build, run by run, whether they are committed or not.
    jobs : int

    Examples
    --------
    >>> [len(share) for share in shares(parts(runs(64, 150528), [("a",), ("b",)]), 3)]
    [6, 5, 5]
    """
    dealt: list[list[Part]] = [[] for _ in range(jobs)]
    count = len({part.run.number for part in all_parts})
    for number, part in enumerate(all_parts):
        dealt[
            part.run.number * jobs // count if count >= WHOLE_RUNS * jobs else number * jobs // len(all_parts)
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
