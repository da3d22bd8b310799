"""Builds that are killed or interrupted at random moments, resumed, and compared byte for byte with one that was not.

The full count: ``python tests/faults/killing.py --moments 270``, or ``python -m pytest -m long -s
tests/faults/test_kills.py``.
"""

from __future__ import annotations

import os
import signal
from itertools import pairwise
from pathlib import Path

import killing
import killing_arrays
import pytest
from children import run_script

from corruptset.generate.sources.check import check as check_samples
from corruptset.generate.sources.source import Probe, Sample
from corruptset.workers import Workers


def check(moments: int, seed: int, sinks: str = ",".join(killing.SINKS)) -> str:
    return harness(moments, "--moments", str(moments), "--seed", str(seed), "--sinks", sinks)


def harness(moments: int, *arguments: str) -> str:
    printed = run_script(killing, *arguments)
    assert f"\n{moments} moments, " in printed
    assert "0 moments wrong" in printed
    return printed


def test_a_few_moments() -> None:
    said = check(4, seed=1, sinks="hdf5")
    assert "committed parts found again untouched" in said


@pytest.mark.ci
def test_moments_of_every_sink() -> None:
    check(12, seed=2)


@pytest.mark.parametrize("moments", [pytest.param(2, marks=pytest.mark.ci), pytest.param(20, marks=pytest.mark.long)])
def test_ctrl_c_while_workers_start_says_how_to_resume_and_nothing_else(moments: int) -> None:
    said = harness(moments, "--early", str(moments))
    assert "building" in said


class Listening:
    """A source whose samples say where they were looked at, and which signals are blocked there."""

    samples = notes = ()

    def ahead(self, samples: object) -> None:
        """Nothing is fetched."""

    def probe(self, sample: Sample) -> Probe:
        status = dict(
            line.split(":\t", 1) for line in Path("/proc/self/status").read_text().splitlines() if ":\t" in line
        )
        return Probe(f"{os.getpid()} {int(status['SigBlk'], 16) >> (signal.SIGINT - 1) & 1}", 8, 8, 3)


def test_workers_of_a_check_never_get_ctrl_c() -> None:
    samples = [Sample(i, str(i), 0) for i in range(1000)]
    with Workers(2) as workers:
        checked = check_samples(Listening(), samples, workers=workers, worth_workers_s=0.0)  # type: ignore[arg-type]
    # the first batches are looked at in this process, to learn how long one takes
    in_workers = {entry[1] for entry in checked.good if not entry[1].startswith(f"{os.getpid()} ")}
    assert in_workers
    assert all(line.endswith(" 1") for line in in_workers)
    assert Listening().probe(Sample(0, "", 0))[0] == f"{os.getpid()} 0"  # here it must come through again


@pytest.mark.parametrize("moments", [pytest.param(1, marks=pytest.mark.ci), pytest.param(30, marks=pytest.mark.long)])
def test_jobs_of_arrays(moments: int) -> None:
    printed = run_script(killing_arrays, "--moments", str(moments))
    assert f"{moments} arrays, " in printed
    assert ", 0 moments wrong" in printed


@pytest.mark.long
def test_two_hundred_moments() -> None:
    check(270, seed=0)


def test_moments_are_spread_over_the_build_and_over_everything() -> None:
    stops = killing.planned(270, 0)
    assert {(s.sink, s.way) for s in stops} == {(sink, way) for sink in killing.SINKS for way in killing.WAYS}
    assert all(s.jobs == 2 for s in stops if s.way == "worker")
    assert {s.jobs for s in stops if s.way != "worker"} == {1, 2}
    for way in ("main", "all", "term", "int"):
        shares = sorted(s.share for s in stops if s.way == way)
        assert shares[0] < 0.1
        assert shares[-1] > 0.85
        assert max(b - a for a, b in pairwise(shares)) < 0.2
    assert killing.planned(270, 0) == stops


def test_the_harness_notices_other_bytes_and_parts_that_were_made_again(tmp_path: Path) -> None:
    harness = killing.Harness(tmp_path)
    harness.prepare("folder", [1])
    stop = killing.Stop("folder", "all", 1, 0.5, by_time=False, later=0.0)
    whole = harness.whole["folder"]
    some = next(iter(whole))
    harness.whole["folder"] = {**whole, some: b"other"}
    counts = killing.Counts()
    harness.stop(stop, counts)
    assert len(counts.wrong) == 1
    assert some in counts.wrong[0]
