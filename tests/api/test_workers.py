"""Worker processes that are started once, replaced after one was killed, and gone at the end."""

from __future__ import annotations

import os
import signal
import time
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

import pytest

from corruptset.workers import TRIES, Workers


def alive(process):
    """Say whether a process is there and no zombie."""
    status = Path(f"/proc/{process}/stat")
    return status.exists() and status.read_text().rpartition(")")[2].split()[0] != "Z"


def wait_until_gone(processes):
    end = time.monotonic() + 20
    while any(map(alive, processes)):
        assert time.monotonic() < end
        time.sleep(0.05)


def test_the_same_processes_serve_until_the_end():
    with Workers(2) as workers:
        assert workers.start(1) == 1
        first = workers.submit(os.getpid).result()
        assert workers.start(1) == 1
        assert workers.submit(os.getpid).result() == first != os.getpid()
        assert workers.start(7) == 2
        served = {workers.submit(os.getpid).result() for _ in range(4)}
        assert os.getpid() not in served
    wait_until_gone({first} | served)


def test_a_killed_worker():
    with Workers(1) as workers:
        workers.start(1)
        with pytest.raises(BrokenProcessPool):
            workers.submit(os.kill, workers.submit(os.getpid).result(), signal.SIGKILL).result()
        with pytest.raises(BrokenProcessPool):
            workers.submit(os.getpid)
        workers.stop()
        assert workers.start(1) == 1
        assert workers.submit(os.getpid).result() != os.getpid()


def killed_once(marker):
    """Kill the worker that does this, the first time."""
    try:
        marker.touch(exist_ok=False)
    except FileExistsError:
        return
    os.kill(os.getpid(), signal.SIGKILL)


def test_workers_that_are_killed_now_and_then_get_through(tmp_path):
    """However often, so long as tasks get done in between."""
    markers = [tmp_path / str(number) for number in range(TRIES + 2)]
    done = []
    with Workers(2) as workers:
        workers.run(killed_once, markers, lambda marker, _: done.append(marker))
    assert sorted(done) == markers


def test_an_error_stops_them_at_once():
    workers = Workers(1)
    with workers:
        workers.start(1)
        process = workers.submit(os.getpid).result()
        workers.submit(time.sleep, 60)
        workers.__exit__(ZeroDivisionError, ZeroDivisionError(), None)
    wait_until_gone({process})
