"""Builds that are killed or interrupted at random moments, resumed, and compared byte for byte with one that was not.

The full count: ``python tests/faults/killing.py --moments 270``, or ``python -m pytest -m long -s tests/faults/test_kills.py``.
"""

from __future__ import annotations

import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import killing
import pytest


def check(moments: int, seed: int, sinks: str = ",".join(killing.SINKS)) -> str:
    """Run the harness in a process of its own: it forks, and pytest has threads."""
    command = [sys.executable, str(Path(killing.__file__)), "--moments", str(moments), "--seed", str(seed), "--sinks", sinks]
    done = subprocess.run(command, capture_output=True, text=True)
    print(done.stdout)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"\n{moments} moments, " in done.stdout
    assert "0 moments wrong" in done.stdout
    return done.stdout


def test_a_few_moments() -> None:
    said = check(4, seed=1, sinks="hdf5")
    assert "committed parts found again untouched" in said


@pytest.mark.ci
def test_moments_of_every_sink_and_way() -> None:
    check(27, seed=2)


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
