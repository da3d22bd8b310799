"""Parts: chunks, groups of sets that fit into memory, and the shares of the jobs of an array."""

from __future__ import annotations

import random
from collections.abc import Sequence
from fractions import Fraction
from itertools import product

import pytest

from corruptset.errors import BuildError
from corruptset.generate.plan.parts import (
    CHUNK_BYTES,
    PART_BYTES,
    WHOLE_CHUNK_THRESHOLD,
    Part,
    chunks,
    groups,
    job_shares,
    parse_job,
    parts,
)
from corruptset.generate.sinks.sink import Chunk

PHOTO, SMALL = 224 * 224 * 3, 32 * 32 * 3


def test_chunks_cover_all_samples_once_and_fit_into_memory() -> None:
    for count, image_bytes in product((1, 7, 8, 9, 100, 50000), (784, SMALL, PHOTO, 3 * 6000 * 4000)):
        actual = chunks(count, image_bytes)
        assert [i for r in actual for i in range(r.first, r.stop)] == list(range(count))
        assert [r.number for r in actual] == list(range(len(actual)))
        assert max(r.count for r in actual) * image_bytes <= max(CHUNK_BYTES, image_bytes)
    # These values are pinned, because shards have the size of chunks: other chunks would change the files of a build.
    assert [len(chunks(n, PHOTO)) for n in (1, 8, 9, 64, 65, 1000, 1001, 50_000)] == [1, 1, 2, 8, 8, 8, 8, 113]
    assert [(r.first, r.stop) for r in chunks(65, SMALL)] == [(i, min(i + 9, 65)) for i in range(0, 65, 9)]
    assert [r.count for r in chunks(20_000, 784)] == [2048] * 9 + [1568]


def test_groups_keep_order_fit_into_memory_and_start_at_branches() -> None:
    names = [f"s{i:03d}" for i in range(100)]

    def cut(chunk_numbers: int, length: int, stored: int, branches: Sequence[int] = ()) -> list[int]:
        result = groups(names, chunk_count=chunk_numbers, chunk_length=length, stored_bytes=stored, branches=branches)
        assert [name for group in result for name in group] == names
        assert all(len(group) * length * stored <= PART_BYTES or len(group) == 1 for group in result)
        return [*map(len, result)]

    for sizes in (cut(1, 8, 15000), cut(113, 445, 30000), cut(113, 445, PHOTO), cut(8, 1250, SMALL)):
        assert max(sizes) - min(sizes) <= 1
    assert cut(8, 10, 1000, [0, 30, 60, 90]) == [30, 30, 30, 10]
    assert max(cut(8, 10, PART_BYTES // 10 // 25, [0, 30, 60, 90])) <= 25
    # branches are not divided only to use more workers
    assert cut(1, 10, 1000, [0, 2]) == [2, 98]


def test_committed_sets_are_excluded_and_part_names_are_unique() -> None:
    todo = parts([Chunk(0, 0, 8), Chunk(1, 8, 16)], [("a", "b"), ("c",)], committed={("a", 0), ("c", 1)})
    assert [(p.chunk.number, p.sets, p.images) for p in todo] == [(0, ("b",), 8), (0, ("c",), 8), (1, ("a", "b"), 16)]
    assert len({p.name for p in todo}) == 3


def reference_assignment(all_parts: list[Part], jobs: int) -> list[list[Part]]:
    """Assign consecutive chunks to jobs, or consecutive parts if there are few chunks per job, as documented."""
    units = [[p] for p in all_parts]
    chunk_numbers = sorted({p.chunk.number for p in all_parts})
    if len(chunk_numbers) >= WHOLE_CHUNK_THRESHOLD * jobs:
        units = [[p for p in all_parts if p.chunk.number == chunk] for chunk in chunk_numbers]
    owners = [int(Fraction(k * jobs, len(units))) for k in range(len(units))]
    return [[p for owner, unit in zip(owners, units, strict=True) if owner == job for p in unit] for job in range(jobs)]


def test_every_part_is_in_one_share_and_shares_are_balanced() -> None:
    rng = random.Random(0)
    for _ in range(40):
        sets = [("a", "b", "c"), ("d",), ("e", "f")][: rng.randrange(1, 4)]
        all_parts = parts(chunks(rng.choice([rng.randrange(1, 900), 50_000]), rng.choice([SMALL, PHOTO])), sets)
        jobs = rng.choice([1, 2, 3, 7, 16, 100])
        assigned = job_shares(all_parts, jobs)
        assert [part for share in assigned for part in share] == all_parts
        assert assigned == reference_assignment(all_parts, jobs)
        sizes = [sum(p.images for p in share) for share in assigned]
        assert max(sizes) - min(sizes) <= max(2 * max(p.images for p in all_parts), sum(sizes) / jobs / 4)
    assert job_shares([], 3) == [[], [], []]
    assert parse_job([0, 1]) == (0, 1)
    for value in ((7, 7), (-1, 3), (0, 0), (0, 10**7), "2/7", (True, 2), (1,), 3):
        with pytest.raises(BuildError, match="expected job i of n"):
            parse_job(value)
