"""Shares of a build's parts: what each job of an array makes."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from itertools import accumulate, pairwise
from typing import Any

from ...errors import BuildError
from .parts import Part

MOST_JOBS = 1_000_000
WHOLE_RUNS = 16
"""A share ends with a run where that moves its end by no more than this fraction of a share."""


def check_share(part: Any) -> tuple[int, int]:
    """Return (job, jobs), or raise `BuildError` where that cannot be a share: jobs count from 0."""
    whole = isinstance(part, tuple | list) and len(part) == 2 and all(isinstance(k, int) and not isinstance(k, bool) for k in part)
    if not whole:
        raise BuildError(f"part is {part!r}; expected (i, n): job i of n, as whole numbers, such as (0, 16).")
    job, jobs = part
    if not 1 <= jobs <= MOST_JOBS:
        raise BuildError(
            f"part {job}/{jobs}: {jobs} jobs cannot share a build. Expected i/n with n from 1 to {MOST_JOBS:,} and i from 0 to n-1."
        )
    if not 0 <= job < jobs:
        last = f"the {jobs} jobs are 0/{jobs} to {jobs - 1}/{jobs}" if jobs > 1 else "the only job is 0/1"
        raise BuildError(f"part {job}/{jobs}: jobs count from 0, so {last}.")
    return job, jobs


def shares(parts: Sequence[Part], jobs: int) -> list[Sequence[Part]]:
    """Return the share of each of `jobs` jobs: neighbours in the order of `parts`, about equally many images in each.

    A share ends where a run does, so that the run is decoded by one job only, unless that makes shares unequal. It follows from `parts`
    and `jobs` alone.

    Parameters
    ----------
    parts : sequence of Part
        All parts of a build, run by run, whether they are committed or not.
    jobs : int

    Examples
    --------
    >>> from .parts import parts, runs
    >>> [len(share) for share in shares(parts(runs(64, 150528), [("a",), ("b",)]), 3)]
    [5, 6, 5]
    """
    return [parts[start:stop] for start, stop in pairwise(_cuts(parts, jobs, range(jobs + 1)))]


def share_of(parts: Sequence[Part], job: int, jobs: int) -> Sequence[Part]:
    """Return one of `shares`."""
    start, stop = _cuts(parts, jobs, (job, job + 1))
    return parts[start:stop]


def _cuts(parts: Sequence[Part], jobs: int, wanted: Iterable[int]) -> list[int]:
    """Return where the shares of some jobs begin in `parts`."""
    ends = [0, *accumulate(p.images * jobs for p in parts)]  # in images x jobs, so that all numbers are whole
    of_runs = [end for k, end in enumerate(ends) if k in (0, len(parts)) or parts[k - 1].run != parts[k].run]
    share = ends[-1] // jobs
    cuts = []
    for job in wanted:
        cut = _nearest(of_runs, job * share)
        if abs(cut - job * share) * WHOLE_RUNS > share:
            cut = _nearest(ends, job * share)
        cuts.append(bisect_left(ends, cut))
    return cuts


def _nearest(ends: Sequence[int], wanted: int) -> int:
    """Return the one of rising numbers that is nearest, the lower one of two."""
    k = bisect_left(ends, wanted)
    return min(ends[max(0, k - 1) : k + 1], key=lambda end: abs(end - wanted))
