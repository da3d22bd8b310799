"""How parts are shared out among workers."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from corruptset.generate.plan.parts import Part, parts
from corruptset.generate.sinks.sink import Run
from corruptset.generate.work import pool
from corruptset.generate.work.pool import whole_runs
from corruptset.generate.work.worker import PartDone
from corruptset.workers import Workers


def shared_out(runs: int, groups: int, jobs: int) -> list[list[Part]]:
    made = parts([Run(i, 8 * i, 8 * i + 8) for i in range(runs)], [(f"set/{g}",) for g in range(groups)])
    tasks = whole_runs(made, jobs)
    assert sorted((p for task in tasks for p in task), key=made.index) == made
    return tasks


@pytest.mark.parametrize(("runs", "jobs", "whole"), [(10, 2, 8), (3, 2, 1), (2, 2, 0), (1, 4, 0), (30, 3, 27)])
def test_whole_runs_come_first_and_as_many_runs_as_workers_come_part_by_part(runs: int, jobs: int, whole: int) -> None:
    tasks = shared_out(runs, 4, jobs)
    assert [len(task) for task in tasks] == [4] * whole + [1] * (4 * (runs - whole))
    assert all(len({p.run.number for p in task}) == 1 for task in tasks)


def test_images_of_parts_that_workers_have_not_finished_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = threading.Event()

    def process(job: Any, part: Part, made: Callable[[int], object]) -> PartDone:
        made(5)
        assert seen.wait(30)
        made(3)
        return PartDone(part.name, 8)

    def told(images: int) -> None:
        counts.append(images)
        if images == 10:
            seen.set()

    monkeypatch.setattr(pool, "process", process)
    (tmp_path / ".corruptset").mkdir()
    counts: list[int] = []

    class Threads(Workers):
        def start(self, wanted: int, *_: Any) -> int:
            self.count = 2
            return 2

        def submit(self, *task: Any) -> Any:  # type: ignore[override]
            return threads.submit(*task)

    with ThreadPoolExecutor(2) as threads:
        both = parts([Run(i, 8 * i, 8 * i + 8) for i in range(2)], [("set",)])
        pool.run(Small(tmp_path), both, Threads(2), done=lambda record: None, made=told)  # type: ignore[arg-type]
    assert counts == sorted(counts)
    assert set(counts) >= {10, 16}
    assert list((tmp_path / ".corruptset").iterdir()) == []


@dataclass(frozen=True)
class Small:
    """What `run` looks at of a job."""

    directory: Path
    token: str = "x"
    file: Path | None = None
