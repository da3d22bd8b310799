"""No usable /dev/shm, where worker processes share their semaphores: one process works instead, or the error
names it.
"""

from __future__ import annotations

import errno
import multiprocessing
import os
import shutil
import subprocess
import sys
import warnings
from pathlib import Path

import layouts
import pytest
from commands import COMMAND

import corruptset
from corruptset import processes
from corruptset.errors import CorruptsetWarning, MachineError
from corruptset.generate.plan.options import BuildOptions


@pytest.fixture
def without(monkeypatch):
    """Let semaphores fail as on a read-only /dev/shm."""
    import _multiprocessing
    import multiprocessing.synchronize  # noqa: F401  it reads the class when it is imported

    def refuse(*_):
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    processes._semaphore_problem.cache_clear()
    monkeypatch.setattr(_multiprocessing, "SemLock", refuse)
    yield
    processes._semaphore_problem.cache_clear()


def test_one_process_works_where_no_others_can_be_started(without, shared, tmp_path):
    said = r"/dev/shm here \(Read-only file system\), so one process does the work of 4.*--jobs 1"
    with pytest.warns(CorruptsetWarning, match=said):
        assert BuildOptions(jobs=4).workers == 1
    assert BuildOptions(jobs=1).workers == 1  # without a word
    with pytest.warns(CorruptsetWarning):
        several = layouts.make(shared.recipe(), shared.crops(classes=2), tmp_path, sets=["contrast/*"], jobs=2)
    one = shared.build(crops={"classes": 2}, sets=["contrast/*"])
    assert layouts.files_of(several) == layouts.files_of(one)


def build_in_a_pool(arguments):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        built = corruptset.build(*arguments, any_shape=True, sets=["contrast/1"], jobs=2)
    return built.digest, [str(warning.message) for warning in caught]


def test_a_build_in_a_daemonic_process_uses_one_process(shared, tmp_path):
    source = f"folder:{shared.crops(classes=2)}"
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        digest, messages = pool.apply(build_in_a_pool, [(str(shared.recipe()), source, str(tmp_path / "a"))])
    assert any("daemonic worker" in message and "does the work of 2" in message for message in messages)
    assert (
        digest == corruptset.build(shared.recipe(), source, tmp_path / "b", any_shape=True, sets=["contrast/1"]).digest
    )


def test_the_default_number_of_processes_is_joblib_s_which_knows_containers(monkeypatch):
    monkeypatch.setenv("LOKY_MAX_CPU_COUNT", "1")
    assert BuildOptions().workers == 1


def test_workers_that_cannot_be_started_are_not_the_output_directorys_fault():
    said = r"Worker processes cannot be started: No space left on device.*/dev/shm.*--jobs 1"
    with pytest.raises(MachineError, match=said), processes.loky_workers_starting():
        raise OSError(28, "No space left on device")


@pytest.mark.ci
@pytest.mark.parametrize(("options", "code", "command"), [("size=4k,ro", 0, "build"), ("size=4k", 3, "verify")])
def test_a_dev_shm_that_cannot_be_used(shared, tmp_path, options, code, command):
    mount = f"mount -t tmpfs -o {options} tmpfs /dev/shm"
    unshare = ["unshare", "-m", "sh", "-c"]
    if shutil.which("unshare") is None or subprocess.run([*unshare, mount], capture_output=True).returncode:
        # a mount namespace of one's own may not be allowed; what is done about it is tested above
        assert os.geteuid() != 0 or not Path("/proc/self/ns/mnt").exists() or not os.access("/dev/shm", os.W_OK)
        return
    directory = shared.build(crops={"classes": 2}, sets=["contrast/*"])
    asked = f"build {shared.recipe()} --source folder:{shared.crops(classes=2)} --sets contrast/* --out {tmp_path}"
    line = asked if command == "build" else f"verify {directory}"
    done = subprocess.run([*unshare, f"{mount} && set -f && {COMMAND} {line} --jobs 2"], capture_output=True, text=True)
    said = done.stdout + done.stderr
    assert done.returncode == code, said
    assert [word in said for word in ("Traceback", "--jobs 1", "/dev/shm")] == [False, True, True]


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
tasks = [pool.submit(time.sleep, 1.05) for _ in range(3)]
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
