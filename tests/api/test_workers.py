"""Test that workers start once, are replaced if they are killed, and are gone at the end."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
import time
import warnings
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

import pytest
from commands import COMMAND

import corruptset
from corruptset.errors import MachineError
from corruptset.generate.plan.options import BuildOptions
from corruptset.workers import Workers


@pytest.fixture(scope="module")
def dataset_dir(shared_data):
    """Return a small dataset."""
    return shared_data.build(crops={"classes": 2}, sets=["contrast/*"], storage="folder")


def is_alive(process):
    """Return whether a process exists and is not a zombie."""
    status = Path(f"/proc/{process}/stat")
    return status.exists() and status.read_text().rpartition(")")[2].split()[0] != "Z"


def wait_until_gone(processes):
    end = time.monotonic() + 20
    while any(map(is_alive, processes)):
        assert time.monotonic() < end
        time.sleep(0.05)


def process_and_threads(_):
    time.sleep(0.01)
    return os.getpid(), os.environ["NUMBA_NUM_THREADS"], os.environ["OMP_NUM_THREADS"]


def test_pool_keeps_same_single_threaded_processes():
    served = []
    with Workers(2) as workers:
        for tasks in (range(3), range(20)):
            workers.run(process_and_threads, tasks, lambda _, result: served.append(result))
    processes = {process for process, *_ in served}
    assert os.getpid() not in processes
    assert len(processes) in (1, 2)
    assert {tuple(threads) for _, *threads in served} == {("1", "1")}
    wait_until_gone(processes)


def test_killed_worker_is_replaced():
    with Workers(1) as workers:
        first = workers.submit(os.getpid).result()
        with pytest.raises(BrokenProcessPool):
            workers.submit(os.kill, first, signal.SIGKILL).result()
        workers.stop()
        assert workers.submit(os.getpid).result() not in (first, os.getpid())


def kill_worker_once(marker):
    """Kill the worker of two of the tasks when it runs them for the first time."""
    if marker.name not in "25":
        return
    try:
        marker.touch(exist_ok=False)
    except FileExistsError:
        return
    os.kill(os.getpid(), signal.SIGKILL)


def test_tasks_of_killed_workers_are_repeated(tmp_path):
    markers = [tmp_path / str(number) for number in range(9)]
    finished = []
    with Workers(2) as workers:
        workers.run(kill_worker_once, markers, lambda marker, _: finished.append(marker))
    assert sorted(finished) == markers


def kill_at_three(number):
    if number == 3:
        os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.ci
def test_task_that_kills_three_workers_is_named_after_most_others_finished():
    finished = []
    message = r"killed 3 times while it worked on number 3\. .*memory.*--jobs.*resume"
    with Workers(2) as workers, pytest.raises(MachineError, match=message):
        workers.run(kill_at_three, range(9), lambda number, _: finished.append(number), describe="number {}".format)
    assert 3 not in finished
    assert len(finished) >= 5


def test_error_stops_workers_immediately():
    processes = []

    def work():
        with Workers(1) as workers:
            processes.append(workers.submit(os.getpid).result())
            workers.submit(time.sleep, 60)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        work()
    wait_until_gone(processes)


@pytest.mark.ci
def test_script_on_stdin_needs_no_main_guard(dataset_dir):
    script = f"import corruptset\nprint(corruptset.verify({str(dataset_dir)!r}, jobs=2, progress=False).ok)"
    result = subprocess.run([sys.executable, "-"], input=script, capture_output=True, text=True)
    assert (result.stdout, result.stderr) == ("True\n", "")


ORPHANS = """
import os, time
from corruptset.workers import Workers
workers = Workers(2)
print(*{workers.submit(os.getpid).result() for _ in range(9)}, flush=True)
workers.submit(time.sleep, 60)
os.kill(os.getpid(), 9)
"""


def test_workers_end_when_parent_is_killed():
    result = subprocess.run(
        [sys.executable, "-c", ORPHANS], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    assert (result.returncode, bool(result.stdout)) == (-9, True)
    wait_until_gone(result.stdout.split())


def build_in_a_pool(arguments):
    with warnings.catch_warnings(record=True) as caught_warnings:
        warnings.simplefilter("always")
        result = corruptset.build(*arguments, any_shape=True, sets=["contrast/1"], jobs=2)
    return result.digest, [str(warning.message) for warning in caught_warnings]


@pytest.mark.ci
def test_build_in_daemonic_process_uses_one_process(shared_data, tmp_path):
    source = f"folder:{shared_data.crops(classes=2)}"
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        digest, messages = pool.apply(build_in_a_pool, [(str(shared_data.recipe()), source, str(tmp_path / "a"))])
    assert any("daemonic worker" in message and "does the work instead of 2" in message for message in messages)
    assert (
        digest
        == corruptset.build(shared_data.recipe(), source, tmp_path / "b", any_shape=True, sets=["contrast/1"]).digest
    )


def test_default_number_of_processes_comes_from_joblib(monkeypatch):
    monkeypatch.setenv("LOKY_MAX_CPU_COUNT", "1")
    assert BuildOptions().workers == 1


@pytest.mark.ci
@pytest.mark.parametrize("options", ["size=4k,ro", "size=4k"])
def test_unusable_dev_shm_is_named(dataset_dir, options):
    mount = f"mount -t tmpfs -o {options} tmpfs /dev/shm"
    unshare = ["unshare", "-m", "sh", "-c"]
    if shutil.which("unshare") is None or subprocess.run([*unshare, mount], capture_output=True).returncode:
        # Only root can create a mount namespace.
        assert os.geteuid() != 0 or not Path("/proc/self/ns/mnt").exists() or not os.access("/dev/shm", os.W_OK)
        return
    line = f"{mount} && {COMMAND} verify {dataset_dir} --jobs 2"
    result = subprocess.run([*unshare, line], capture_output=True, text=True)
    message = result.stdout + result.stderr
    assert result.returncode == 3, message
    assert [word in message for word in ("Traceback", "--jobs 1", "/dev/shm")] == [False, True, True]


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
from corruptset.workers import Workers
with Workers(2) as workers:
    workers.run(time.sleep, [1.05, 1.05, 1.05], lambda *_: None)
"""


@pytest.mark.ci
def test_growing_workers_are_replaced_without_warning(tmp_path):
    """If psutil is installed, loky replaces the workers with a warning.

    A warning that is an error would end its thread.
    """
    (tmp_path / "psutil.py").write_text(PSUTIL)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])}
    command = [sys.executable, "-W", "error::UserWarning", "-c", TASKS]
    result = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
    assert (result.returncode, result.stderr) == (0, "")
