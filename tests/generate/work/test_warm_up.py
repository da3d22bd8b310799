"""Compiling before the workers start: shared out, remembered, and done again where the cache was deleted."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

# What is compiled is counted by numba's own events; saturate and contrast compile within a second or two.
SCRIPT = """
import json, sys, time
from types import SimpleNamespace
from numba.core import event

compiled = event.RecordingListener()
event.register("numba:compile", compiled)
import numpy as np
import corruptset
from corruptset.corruptions.cache import kernel_folder
from corruptset.corruptions.calibrations import get_calibration
from corruptset.corruptions.stages import parse_chain
from corruptset.generate.plan.tree import SetMaker
from corruptset.generate.work.warm_up import warm_up
from corruptset.workers import Workers

if __name__ == "__main__":
    names = sys.argv[2].split(",")
    table = get_calibration("cifar")
    sets = {name: SimpleNamespace(stages=parse_chain(name, table)) for name in names}
    told = []
    start = time.process_time()
    with Workers(int(sys.argv[1])) as workers:
        warm_up(sets.values(), SetMaker(32), workers, tell=lambda done, total: told.append([done, total]))
    seconds = time.process_time() - start
    warming = len(compiled.buffer)
    image = np.arange(40 * 30 * 3, dtype=np.uint8).reshape(40, 30, 3)
    for name in names:
        corruptset.corrupt(image, name, calibration="cifar")
    print(json.dumps({
        "told": told, "seconds": seconds, "warming": warming, "after": len(compiled.buffer) - warming,
        "kernels": sorted({p.name.split(".py")[0] for p in kernel_folder().rglob("*.kernel")}),
        "marks": len(list(kernel_folder().glob("prepared-*"))),
    }))
"""
SETS = "saturate/3,contrast/3,contrast/5"


def warmed(cache: Path, jobs: int, sets: str = SETS) -> dict[str, object]:
    script = cache.parent / "warm.py"
    script.write_text(SCRIPT)
    environment = {**os.environ, "CORRUPTSET_CACHE": str(cache)}
    run = subprocess.run(
        [sys.executable, str(script), str(jobs), sets], env=environment, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    found: dict[str, object] = json.loads(run.stdout)
    return found


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, object]]:
    """A cache that one process filled, and what it said."""
    cache = tmp_path_factory.mktemp("alone") / "cache"
    return cache, warmed(cache, 1)


@pytest.mark.ci
def test_processes_fill_the_same_cache_as_one(alone: tuple[Path, dict[str, object]], tmp_path: Path) -> None:
    shared = warmed(tmp_path / "cache", 2)
    assert alone[1]["kernels"] == shared["kernels"] != []
    assert alone[1]["told"][-1] == shared["told"][-1] == [2, 2]  # type: ignore[index]
    assert alone[1]["warming"] > 0  # type: ignore[operator]
    # With workers this process compiles nothing, then or afterwards.
    assert (shared["warming"], shared["after"], alone[1]["after"]) == (0, 0, 0)


@pytest.mark.ci
def test_what_is_prepared_is_not_prepared_again(alone: tuple[Path, dict[str, object]]) -> None:
    cache, first = alone
    again = warmed(cache, 2)
    assert first["marks"] == 1 + SETS.count(",") + 1
    assert (again["told"], again["warming"], again["after"]) == ([], 0, 0)
    # another stage is another mark; the kernels that it shares with the first are loaded
    more = warmed(cache, 1, f"{SETS},saturate/4")
    assert (more["told"], more["marks"], more["warming"]) == ([[1, 1]], 5, 0)
