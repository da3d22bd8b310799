"""Run parts: in this process, or in loky workers with what is missing relaunched after one was killed."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import contextmanager
from dataclasses import replace

import cv2

from ..errors import MachineError, listed
from ..signals import loky_workers_starting
from ..starting import payload, start_worker
from .loading import load_numba
from .parts import Part
from .worker import Job, PartDone, end_with_parent, forget, process

Done = Callable[[PartDone], None]

TRIES = 4
"""So often may workers die in a row without a single part being finished in between."""
# Threads inside a worker would only fight over the cores that the other workers use.
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")

_job: Job | None = None


def run(job: Job, parts: Sequence[Part], *, jobs: int, done: Done) -> None:
    """Make and commit parts.

    Parameters
    ----------
    job : Job
    parts : sequence of Part
        Run by run.
    jobs : int
        Processes; 1 works in this one.
    done : callable
        Told of every finished part, in the order in which they finish.

    Raises
    ------
    MachineError
        Workers die again and again, or the disk fails.
    KeyboardInterrupt
        Handed on after the workers were stopped.
    """
    try:
        if jobs <= 1 or len(parts) <= 1:
            load_numba()
            for part in parts:
                done(process(job, part))
        else:
            _run_in_workers(replace(job, parent=os.getpid()), list(parts), jobs, done)
    except OSError as e:
        raise machine_error(e, job.directory) from e
    finally:
        forget()


def machine_error(error: OSError, directory: object) -> MachineError:
    """Return what to say when the disk or the system fails."""
    where = error.filename or directory
    return MachineError(
        f"The build stopped: {error.strerror or error} ({where}). What was committed stands: free the space or mend the path, "
        "and run the same command again to resume."
    )


def _run_in_workers(job: Job, parts: list[Part], jobs: int, done: Done) -> None:
    left = {part.name: part for part in parts}
    failures = 0
    while left:
        before = len(left)
        broken = _one_pool(job, left, min(jobs, len(left)), done)
        if not broken:
            return
        failures = failures + 1 if len(left) == before else 0
        if failures:
            # Workers are mostly killed for their memory: fewer at a time may get through, and one alone says which part it is.
            jobs = max(1, jobs // 2)
        if failures >= TRIES:
            names = listed([f"{p.name}: samples {p.run.first} to {p.run.stop - 1} of {', '.join(p.sets[:6])}" for p in left.values()], 10)
            raise MachineError(
                f"Workers were killed {TRIES} times without finishing a part (often: out of memory). {len(left)} parts are left:\n{names}\n"
                "What was committed stands. Give the machine more memory or --jobs 1, and run the same command again to resume."
            )


def _one_pool(job: Job, left: dict[str, Part], jobs: int, done: Done) -> bool:
    """Work on what is left until it is done (False) or the pool breaks (True); finished parts leave `left`."""
    from concurrent.futures.process import BrokenProcessPool

    from joblib.externals.loky import ProcessPoolExecutor

    pool = ProcessPoolExecutor(max_workers=jobs, initializer=start_worker, initargs=(payload(_start, job),), env=ONE_THREAD)
    tasks = _tasks(list(left.values()), jobs)
    waiting: set[Future[list[PartDone]]] = set()
    finished = False
    try:
        queue = iter(tasks)
        more = True
        while more or waiting:
            # A few tasks ahead, so that the end of a build stays shared out evenly and little is lost with a pool.
            while more and len(waiting) < 2 * jobs:
                task = next(queue, None)
                if task is None:
                    more = False
                else:
                    with loky_workers_starting():  # the first starts the workers
                        future = pool.submit(_work, task)
                    waiting.add(future)
            ready, waiting = wait(waiting, return_when=FIRST_COMPLETED)
            for made in ready:
                for record in made.result():
                    left.pop(record.name, None)
                    done(record)
        finished = True
        return False
    except BrokenProcessPool:
        return True
    finally:
        # Workers that are done end by themselves while the build is finished; others are stopped here and now.
        if finished:
            pool.shutdown(wait=False)
        else:
            with _without_loky_traceback():
                pool.shutdown(wait=True, kill_workers=True)


@contextmanager
def _without_loky_traceback() -> Iterator[None]:
    """Keep loky's manager thread from printing a traceback of its own while its workers are killed.

    Told to kill them, the thread forgets what was submitted, kills, and then looks once more at what is queued: a task
    submitted a moment before is a KeyError there, after all that it had to do is done (joblib 1.5). It would stand on
    the user's screen above the sentence that says how to resume.
    """
    before = threading.excepthook

    def hook(failure: threading.ExceptHookArgs) -> None:
        if not (failure.exc_type is KeyError and failure.thread is not None and failure.thread.name == "ExecutorManagerThread"):
            before(failure)

    threading.excepthook = hook
    try:
        yield
    finally:
        threading.excepthook = before


def _tasks(parts: list[Part], jobs: int) -> list[list[Part]]:
    """Return parts as they are handed out: whole runs, so that a run is decoded once, while there are enough of them."""
    by_run: dict[int, list[Part]] = {}
    for part in parts:
        by_run.setdefault(part.run.number, []).append(part)
    if len(by_run) >= 8 * jobs:
        return list(by_run.values())
    return [[part] for part in parts]


def _start(job: Job) -> None:
    """Prepare a worker process."""
    global _job
    _job = job
    if job.parent is not None:
        end_with_parent(job.parent)
    # Ctrl-C reaches the whole process group; the parent stops its workers itself.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    cv2.setNumThreads(1)
    load_numba()


def _work(parts: list[Part]) -> list[PartDone]:
    assert _job is not None
    return [process(_job, part) for part in parts]
