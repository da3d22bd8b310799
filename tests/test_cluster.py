"""The simulation behind docs/scale.md, where its outcome can be worked out by hand."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.cluster import Cluster, Store, Work, simulate

FAST = Store("fast", 1e15, 1e12)


def cluster(cores: int, **fields: float) -> Cluster:
    return Cluster(cores, **{"spread": 0.0, "node_hours": 1e12, "link": 1e15, **fields})  # type: ignore[arg-type]


def test_without_limits_cores_share_the_units() -> None:
    found = simulate(Work(units=64, parts=64, seconds=10, bytes=1, files=1, start=3), cluster(16), FAST)
    assert found.seconds == pytest.approx(3 + 4 * 10)
    assert found.computing == pytest.approx(40 / 43)
    assert simulate(Work(65, 65, 10, 1, 1, 3), cluster(16), FAST).seconds == pytest.approx(53)
    assert simulate(Work(4, 4, 10, 1, 1, 0), cluster(16), FAST).seconds == pytest.approx(10)


def test_a_slow_store_or_link_sets_the_time() -> None:
    work = Work(units=640, parts=640, seconds=1, bytes=1e6, files=100, start=0)
    files = simulate(work, cluster(64), Store("files", 1e15, 1000))
    assert files.seconds == pytest.approx(64, rel=0.01)
    assert (files.files_busy, files.store_busy) == (True, pytest.approx(1, abs=0.01))
    assert simulate(work, cluster(64), Store("bytes", 5e6, 1e12)).seconds == pytest.approx(128, rel=0.01)
    assert simulate(work, cluster(64, link=1e6), FAST).seconds == pytest.approx(160, rel=0.02)  # four nodes


def test_failures_come_as_often_as_they_are_said_to_and_cost_what_they_interrupt() -> None:
    work = Work(units=16 * 6_000, parts=16 * 6_000, seconds=100, bytes=1, files=1, start=0)
    found = simulate(work, cluster(16, node_hours=10, pause=600), FAST, seed=1)
    assert found.failures == pytest.approx(found.seconds / 36_000, rel=0.5)
    assert found.seconds == pytest.approx(6e5 + found.failures * 650, rel=0.01)
    assert 0 < found.lost < 16 * found.failures * 100
