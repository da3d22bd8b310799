"""Shares of parts: what each job of an array makes."""

from __future__ import annotations

import random
from fractions import Fraction
from itertools import pairwise

import pytest

from corruptset.errors import BuildError
from corruptset.generate.plan.parts import Part, parts, runs
from corruptset.generate.plan.shares import WHOLE_RUNS, check_share, share_of, shares

GROUPS = [("a", "b", "c"), ("d",), ("e", "f")]


def plain(all_parts: list[Part], jobs: int) -> list[list[Part]]:
    """Deal as the documentation has it, one end of a share after the other."""
    total = sum(p.images for p in all_parts)
    before = [sum(p.images for p in all_parts[:k]) for k in range(len(all_parts) + 1)]
    places = range(len(all_parts) + 1)
    cuts = [0]
    for job in range(1, jobs):
        wanted = Fraction(job * total, jobs)
        of_runs = [k for k in places if k in (0, len(all_parts)) or all_parts[k - 1].run != all_parts[k].run]
        cut = min(of_runs, key=lambda k: (abs(before[k] - wanted), k))
        if abs(before[cut] - wanted) * WHOLE_RUNS > Fraction(total, jobs):
            cut = min(places, key=lambda k: (abs(before[k] - wanted), k))
        cuts.append(cut)
    cuts.append(len(all_parts))
    return [all_parts[a:b] for a, b in pairwise(cuts)]


@pytest.mark.parametrize("seed", range(40))
def test_every_part_is_in_one_share_and_shares_are_equal(seed: int) -> None:
    rng = random.Random(seed)
    all_parts = parts(runs(rng.randrange(1, 900), rng.choice([3072, 150528])), GROUPS[: rng.randrange(1, 4)])
    jobs = rng.choice([1, 2, 3, 7, 16, 100])
    dealt = [list(share) for share in shares(all_parts, jobs)]
    assert len(dealt) == jobs
    assert [part for share in dealt for part in share] == all_parts
    assert dealt == plain(all_parts, jobs)
    assert [list(share_of(all_parts, job, jobs)) for job in range(jobs)] == dealt
    sizes = [sum(p.images for p in share) for share in dealt]
    step = max(p.images for p in all_parts)
    assert max(sizes) - min(sizes) <= max(2 * step, sum(sizes) / jobs / 4)


def test_a_run_is_one_jobs_where_there_are_enough() -> None:
    all_parts = parts(runs(50_000, 224 * 224 * 3), GROUPS)
    dealt = shares(all_parts, 7)
    owners = {run: {j for j, share in enumerate(dealt) if any(p.run.number == run for p in share)} for run in range(113)}
    assert all(len(jobs) == 1 for jobs in owners.values())
    assert sorted(len({p.run.number for p in share}) for share in dealt) == [16, 16, 16, 16, 16, 16, 17]


def test_more_jobs_than_parts() -> None:
    dealt = shares(parts(runs(8, 3072), GROUPS), 10)
    assert sorted(len(share) for share in dealt) == [0] * 7 + [1] * 3
    assert [len(share) for share in shares([], 3)] == [0, 0, 0]


@pytest.mark.parametrize(
    ("part", "text"),
    [
        ((7, 7), "0/7 to 6/7"),
        ((-1, 3), "jobs count from 0"),
        ((0, 0), "0 jobs cannot share"),
        ((0, 10**7), "from 1 to 1,000,000"),
        ((1, 1), "only job is 0/1"),
        ("2/7", r"expected \(i, n\)"),
        ((True, 2), r"expected \(i, n\)"),
        ((1,), r"expected \(i, n\)"),
        (3, r"expected \(i, n\)"),
    ],
)
def test_what_is_no_share_is_refused(part: object, text: str) -> None:
    with pytest.raises(BuildError, match=text):
        check_share(part)
