"""Shares of parts: what each job of an array makes."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest

from corruptset.errors import BuildError
from corruptset.generate.plan.parts import WHOLE_RUNS, Part, check_share, parts, runs, shares

GROUPS = [("a", "b", "c"), ("d",), ("e", "f")]


def plain(all_parts: list[Part], jobs: int) -> list[list[Part]]:
    """Deal as the documentation has it: neighbouring runs, or neighbouring parts where a share has few runs."""
    units = [[p] for p in all_parts]
    runs_there = sorted({p.run.number for p in all_parts})
    if len(runs_there) >= WHOLE_RUNS * jobs:
        units = [[p for p in all_parts if p.run.number == run] for run in runs_there]
    return [
        [p for k, unit in enumerate(units) if int(Fraction(k * jobs, len(units))) == job for p in unit]
        for job in range(jobs)
    ]


def test_every_part_is_in_one_share_and_shares_are_equal() -> None:
    rng = random.Random(0)
    for _ in range(40):
        all_parts = parts(runs(rng.randrange(1, 900), rng.choice([3072, 150528])), GROUPS[: rng.randrange(1, 4)])
        jobs = rng.choice([1, 2, 3, 7, 16, 100])
        dealt = [list(share) for share in shares(all_parts, jobs)]
        assert [part for share in dealt for part in share] == all_parts
        assert dealt == plain(all_parts, jobs)
        sizes = [sum(p.images for p in share) for share in dealt]
        step = max(p.images for p in all_parts)
        assert max(sizes) - min(sizes) <= max(2 * step, sum(sizes) / jobs / 4)


def test_a_run_is_one_jobs_where_there_are_enough() -> None:
    all_parts = parts(runs(50_000, 224 * 224 * 3), GROUPS)
    dealt = shares(all_parts, 7)
    owners = {
        run: {j for j, share in enumerate(dealt) if any(p.run.number == run for p in share)} for run in range(113)
    }
    assert all(len(jobs) == 1 for jobs in owners.values())
    assert sorted(len({p.run.number for p in share}) for share in dealt) == [16, 16, 16, 16, 16, 16, 17]


def test_more_jobs_than_parts() -> None:
    dealt = shares(parts(runs(8, 3072), GROUPS), 10)
    assert sorted(len(share) for share in dealt) == [0] * 7 + [1] * 3
    assert [len(share) for share in shares([], 3)] == [0, 0, 0]


def test_what_is_no_share_is_refused() -> None:
    assert check_share([0, 1]) == (0, 1)
    for part in ((7, 7), (-1, 3), (0, 0), (0, 10**7), "2/7", (True, 2), (1,), 3):
        with pytest.raises(BuildError, match="expected job i of n"):
            check_share(part)
