"""Test the compilation before workers start: it is divided among them, remembered, and repeated without a cache."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

# What is compiled is counted by numba's own events; saturate and contrast compile within a second or two.
SCRIPT = """
import json, sys
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

def warm(jobs, *names):
    sets, told, before = [SimpleNamespace(stages=parse_chain(name, table)) for name in names], [], len(compiled.buffer)
    with Workers(jobs) as workers:
        warm_up(sets, SetMaker(32), workers, on_progress=lambda ready, total: told.append([ready, total]))
    warming = len(compiled.buffer)
    image = np.arange(40 * 30 * 3, dtype=np.uint8).reshape(40, 30, 3)
    for name in names:
        corruptset.corrupt(image, name, calibration="cifar")
    return told, warming - before, len(compiled.buffer) - warming, len(list(kernel_folder().glob("prepared-*")))

if __name__ == "__main__":
    table = get_calibration("cifar")
    found = [warm(int(sys.argv[1]), "saturate/3", "contrast/3", "contrast/5") for _ in range(2)]
    found.append(warm(1, "saturate/3", "saturate/4"))
    kernels = sorted({p.name.split(".py")[0] for p in kernel_folder().rglob("*.nbi")})
    print(json.dumps([found, kernels]))
"""


def warm_caches(folder: Path, jobs: int) -> Any:
    script = folder / "warm.py"
    script.write_text(SCRIPT)
    environment = {**os.environ, "CORRUPTSET_CACHE": str(folder / f"cache-{jobs}")}
    run = subprocess.run([sys.executable, str(script), str(jobs)], env=environment, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


@pytest.mark.long
def test_processes_share_cache_and_prepare_nothing_twice(tmp_path):
    (alone, repeated, second), kernels = warm_caches(tmp_path, 1)
    (shared_data, again_shared, more_shared), same = warm_caches(tmp_path, 2)
    assert kernels == same != []
    assert alone[0][-1] == shared_data[0][-1] == [2, 2]
    assert alone[1] > 0
    # With workers this process compiles nothing, then or afterwards.
    assert (shared_data[1], shared_data[2], alone[2]) == (0, 0, 0)
    assert repeated == again_shared == [[], 0, 0, 4]
    # another stage is another mark; the kernels that it shares with the first are loaded
    assert second == more_shared == [[[1, 1]], 0, 0, 5]
