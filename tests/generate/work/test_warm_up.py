"""Compiling before the workers start: shared out, remembered, and done again where the cache was deleted."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

# What is compiled is counted by numba's own events; saturate, contrast and the two noises compile within a second or two.
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
from corruptset.generate.plan.set_maker import SetMaker
from corruptset.generate.work.warm_up import warm_up

if __name__ == "__main__":
    names = sys.argv[2].split(",")
    table = get_calibration("cifar")
    sets = {name: SimpleNamespace(stages=parse_chain(name, table)) for name in names}
    job = SimpleNamespace(sets=sets, maker=SetMaker(32))
    told = []
    start = time.process_time()
    warm_up(job, [(32, 32)], jobs=int(sys.argv[1]), tell=lambda done, total: told.append([done, total]))
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
SETS = "saturate/3,impulse_noise/1,gaussian_noise/2,gaussian_noise/3,contrast/5"


def warmed(cache: Path, jobs: int, sets: str = SETS) -> dict[str, object]:
    script = cache.parent / "warm.py"
    script.write_text(SCRIPT)
    environment = {**os.environ, "CORRUPTSET_CACHE": str(cache)}
    run = subprocess.run([sys.executable, str(script), str(jobs), sets], env=environment, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    found: dict[str, object] = json.loads(run.stdout)
    return found


@pytest.mark.ci
def test_processes_fill_the_same_cache_as_one(tmp_path: Path) -> None:
    alone = warmed(tmp_path / "one", 1)
    shared = warmed(tmp_path / "two", 2)
    assert alone["kernels"] == shared["kernels"] != []
    assert alone["told"][-1] == shared["told"][-1] == [4, 4]  # type: ignore[index]
    assert alone["warming"] > 0
    # With workers this process compiles nothing, then or afterwards.
    assert (shared["warming"], shared["after"], alone["after"]) == (0, 0, 0)


@pytest.mark.ci
def test_what_is_prepared_is_not_prepared_again_until_the_cache_is_deleted(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    first = warmed(cache, 1, "saturate/3")
    again = warmed(cache, 2, "saturate/3")
    assert (first["marks"], first["told"]) == (1, [[0, 1], [1, 1]])
    assert (again["told"], again["warming"], again["after"]) == ([], 0, 0)
    # other sets are another mark; what they share with the first is loaded
    more = warmed(cache, 1, "saturate/3,saturate/4")
    assert (more["marks"], more["told"], more["warming"]) == (2, [[0, 1], [1, 1]], 0)
    shutil.rmtree(cache)
    anew = warmed(cache, 1, "saturate/3")
    assert (anew["warming"], anew["told"]) == (first["warming"], [[0, 1], [1, 1]])
