"""How parts are shared out among workers."""

from __future__ import annotations

import pytest

from corruptset.generate.plan.parts import Part, parts
from corruptset.generate.sinks.sink import Run
from corruptset.generate.work.pool import _tasks


def shared_out(runs: int, groups: int, jobs: int) -> list[list[Part]]:
    made = parts([Run(i, 8 * i, 8 * i + 8) for i in range(runs)], [(f"set/{g}",) for g in range(groups)])
    tasks = _tasks(made, jobs)
    assert sorted((p for task in tasks for p in task), key=made.index) == made
    return tasks


@pytest.mark.parametrize(("runs", "jobs", "whole"), [(10, 2, 8), (3, 2, 1), (2, 2, 0), (1, 4, 0), (30, 3, 27)])
def test_whole_runs_come_first_and_as_many_runs_as_workers_come_part_by_part(runs: int, jobs: int, whole: int) -> None:
    tasks = shared_out(runs, 4, jobs)
    assert [len(task) for task in tasks] == [4] * whole + [1] * (4 * (runs - whole))
    assert all(len({p.run.number for p in task}) == 1 for task in tasks)
