"""Builds and other commands that are killed at random moments and repeated give the bytes of an undisturbed run.

The full counts: ``python tests/faults/killing*.py``, or ``python -m pytest -m long -s tests/faults/test_kills.py``.
"""

from __future__ import annotations

from itertools import pairwise

import killing
import killing_arrays
import killing_clusters
import killing_commands
import killing_extensions
import meeting
import pytest
from children import run_script

CI, LONG = pytest.mark.ci, pytest.mark.long


@pytest.mark.parametrize(
    ("script", "options", "message"),
    [
        (killing, "--moments 2 --seed 1 --sinks hdf5", "\n2 moments, 0 wrong"),
        pytest.param(killing, "--moments 4 --seed 4 --sinks hdf5", "\n4 moments, 0 wrong", marks=CI),
        pytest.param(killing, "--moments 270", "\n270 moments, 0 wrong", marks=LONG),
        pytest.param(killing, "--early 1", "\n1 moments, 0 wrong", marks=CI),
        pytest.param(killing, "--early 20", "\n20 moments, 0 wrong", marks=LONG),
        pytest.param(killing_arrays, "--moments 1", "\n1 arrays, 0 wrong", marks=CI),
        pytest.param(killing_arrays, "--moments 30", "\n30 arrays, 0 wrong", marks=LONG),
        pytest.param(killing_extensions, "--moments 5 --seed 8", "\n5 extensions stopped, 0 wrong", marks=CI),
        pytest.param(killing_extensions, "--moments 60", "\n60 extensions stopped, 0 wrong", marks=LONG),
        pytest.param(meeting, "--moments 4", "\n4 meetings, 0 wrong", marks=CI),
        pytest.param(meeting, "--moments 200", "\n200 meetings, 0 wrong", marks=LONG),
        pytest.param(killing_clusters, "--moments 4", "\n4 moments, 0 wrong", marks=CI),
        pytest.param(killing_clusters, "--moments 30", "\n30 moments, 0 wrong", marks=LONG),
        pytest.param(killing_commands, "--moments 1 --seed 1", "\n4 moments, 0 wrong", marks=CI),
        pytest.param(killing_commands, "--moments 12 --seed 1", "\n48 moments, 0 wrong", marks=LONG),
    ],
)
def test_builds_can_be_killed_at_any_moment(script, options, message):
    assert message in run_script(script, *options.split())


def test_moments_are_spread_over_build_and_all_events():
    stops = killing.plan_stops(270, 0)
    assert killing.plan_stops(270, 0) == stops
    assert {(s.sink, s.way) for s in stops} == {(sink, way) for sink in killing.SINKS for way in killing.WAYS}
    assert {(s.way == "worker", s.jobs) for s in stops} == {(True, 2), (False, 1), (False, 2)}
    for way in ("main", "all", "term", "int"):
        shares = sorted(s.share for s in stops if s.way == way)
        assert all(b - a < 0.2 for a, b in pairwise([0.0, *shares, 1.0]))


@CI
def test_harness_detects_changed_bytes(tmp_path):
    harness = killing.Harness(tmp_path, each=1)
    harness.prepare("folder", [1])
    subset = next(iter(harness.whole["folder"]))
    harness.whole["folder"] = {**harness.whole["folder"], subset: b"other"}
    harness.stop(killing.Stop("folder", "all", 1, 0.5, by_time=False, later=0.0))
    assert len(harness.wrong) == 1
    assert subset in harness.wrong[0]
