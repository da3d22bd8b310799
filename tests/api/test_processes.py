"""No usable /dev/shm, where worker processes share their semaphores: one process works instead, or the error
names it.
"""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import layouts
import pytest
from commands import COMMAND

from corruptset import processes
from corruptset.errors import CorruptsetWarning, MachineError
from corruptset.generate.plan.options import BuildOptions


@pytest.fixture
def without(monkeypatch):
    """Let semaphores fail as on a read-only /dev/shm."""
    import _multiprocessing
    import multiprocessing.synchronize  # noqa: F401  it reads the class when it is imported

    def refuse(*_: Any) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    processes._semaphore_problem.cache_clear()
    monkeypatch.setattr(_multiprocessing, "SemLock", refuse)
    yield
    processes._semaphore_problem.cache_clear()


def test_one_process_works_where_no_others_can_be_started(without, tmp_path):
    with pytest.warns(
        CorruptsetWarning, match=r"One process works in place of 4: .*/dev/shm here \(Read-only file system\).*--jobs 1"
    ):
        assert BuildOptions(jobs=4).workers == 1
    assert BuildOptions(jobs=1).workers == 1  # without a word
    crops = layouts.write_crops(tmp_path / "crops", each=1)
    recipe = layouts.write_recipe(tmp_path)
    with pytest.warns(CorruptsetWarning):
        several = layouts.make(recipe, crops, tmp_path / "a", sets=["contrast/*"], jobs=2)
    assert layouts.files_of(several) == layouts.files_of(
        layouts.make(recipe, crops, tmp_path / "b", sets=["contrast/*"])
    )


def test_workers_that_cannot_be_started_are_not_the_output_directorys_fault():
    said = r"Worker processes cannot be started: No space left on device.*/dev/shm.*--jobs 1"
    with pytest.raises(MachineError, match=said), processes.loky_workers_starting():
        raise OSError(28, "No space left on device")


@pytest.mark.ci
@pytest.mark.parametrize(("options", "code", "command"), [("size=4k,ro", 0, "build"), ("size=4k", 3, "verify")])
def test_a_dev_shm_that_cannot_be_used(tmp_path, options, code, command):
    mount = f"mount -t tmpfs -o {options} tmpfs /dev/shm"
    if (
        shutil.which("unshare") is None
        or subprocess.run(["unshare", "-m", "sh", "-c", mount], capture_output=True).returncode
    ):
        # a mount namespace of one's own may not be allowed; what is done about it is tested above
        assert os.geteuid() != 0 or not Path("/proc/self/ns/mnt").exists() or not os.access("/dev/shm", os.W_OK)
        return
    build = f"{COMMAND} build imagenet-c --sets contrast/* --out {tmp_path}"
    line = (
        f"{build} --jobs 2"
        if command == "build"
        else f"{build} --jobs 1 && {COMMAND} verify {tmp_path}/imagenet-c-1.1.0 --jobs 2"
    )
    done = subprocess.run(["unshare", "-m", "sh", "-c", f"{mount} && set -f && {line}"], capture_output=True, text=True)
    said = done.stdout + done.stderr
    assert done.returncode == code, said
    assert "Traceback" not in said
    assert "--jobs 1" in said
    assert "/dev/shm" in said


PSUTIL = """
import time

class Process:
    def __init__(self, pid): pass
    def memory_info(self): return self
    @property
    def rss(self): return int(1e9 * time.monotonic())
"""
TASKS = """
import time
from corruptset.processes import worker_pool
pool = worker_pool(2)
tasks = [pool.submit(time.sleep, 1.05) for _ in range(5)]
for task in tasks:
    task.result(timeout=40)
pool.shutdown()
"""


def test_workers_that_grow_are_replaced_and_nobody_waits(tmp_path):
    """loky does so where psutil is installed; warnings are errors, as some have them."""
    (tmp_path / "psutil.py").write_text(PSUTIL)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])}
    command = [sys.executable, "-W", "error::UserWarning", "-c", TASKS]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
