"""The command's process and its workers, which get no Ctrl-C and end with their parent."""

from __future__ import annotations

import atexit
import gc
import os
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout
from functools import cache
from typing import TYPE_CHECKING

from .errors import CorruptsetWarning, MachineError
from .interruption import FROM_TERMINAL, main_thread_interruption

if TYPE_CHECKING:
    from joblib.externals.loky import ProcessPoolExecutor

# Threads inside a worker would compete for the cores that the other workers use.
ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS", "OPENCV_FOR_THREADS_NUM"), "1"
)
PARENT_EVERY_S = 1.0
"""How often a worker looks whether its parent is still there."""


def prepare_process() -> None:
    """Set up a process that runs nothing but corruptset, before it imports more.

    Python looks for garbage in all that modules make, while they load and once more at the end. Without that,
    `corruptset corrupt` of one picture takes three quarters of the time, and so does a build of 128 small images by two
    workers.
    """
    fill_standard_descriptors()
    gc.set_threshold(1_000_000)
    atexit.register(gc.freeze)


def fill_standard_descriptors() -> None:
    """Open the null device where standard input, output or error is closed.

    The next file that is opened would get its number, and what a library writes to standard error would go into that
    file.
    """
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            # it gets the lowest free number, which is this one
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)


@contextmanager
def interrupts_held_back() -> Iterator[None]:
    """Hold Ctrl-C and SIGHUP back in this thread, and raise them at the end.

    Processes that start meanwhile never get it.

    A process inherits which signals are blocked. Its own code could not block them before it has imported for a second,
    and an interrupt in that second would print a traceback.
    """
    handler = main_thread_interruption()
    if handler is not None:
        handler.hold()  # the system may give the signal to another thread, and Python hands it to the main thread
    before = signal.pthread_sigmask(signal.SIG_BLOCK, FROM_TERMINAL) if hasattr(signal, "pthread_sigmask") else None
    try:
        yield
    finally:
        if before is not None:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        if handler is not None:
            handler.release()


@contextmanager
def loky_workers_starting() -> Iterator[None]:
    """Hold Ctrl-C back while joblib or loky start workers.

    See `interrupts_held_back`. Standard streams may be closed, or None.

    Raises
    ------
    MachineError
        The system does not let them be started.
    """
    # Both have a process that tracks resources, start it when they first need it, and unblock the signals that they
    # blocked for it.
    from multiprocessing import resource_tracker

    from joblib.externals.loky.backend import resource_tracker as loky_tracker

    fill_standard_descriptors()  # else workers have none, or a pipe of loky's in their place
    with ExitStack() as stack:
        for stream, redirect in ((sys.stdout, redirect_stdout), (sys.stderr, redirect_stderr)):
            if stream is None:  # loky flushes both
                stack.enter_context(redirect(stack.enter_context(open(os.devnull, "w", encoding="utf-8"))))
        with interrupts_held_back():  # they ignore Ctrl-C by themselves, and keep SIGHUP blocked
            if hasattr(os, "fork"):  # Windows has nothing that must be tracked
                resource_tracker.ensure_running()
            loky_tracker.ensure_running()
        try:
            with interrupts_held_back():
                yield
        except OSError as e:
            raise MachineError(
                f"Worker processes cannot be started: {e.strerror or e}. They share semaphores in /dev/shm, which may "
                "be full or too small (in a container: --shm-size), or there are too many processes or open files, or "
                "the current folder is gone. Run the same command with --jobs 1."
            ) from e


def worker_pool(count: int) -> ProcessPoolExecutor:
    """Return an executor with so many worker processes.

    Its first task starts them, and belongs into `loky_workers_starting`.
    """
    from joblib.externals.loky import ProcessPoolExecutor

    # Where psutil is installed, loky replaces a worker that has grown by 300 MB, and warns in the thread that hands out
    # tasks: as an error, such as python -W error makes it, the warning ends that thread, and everybody waits for ever.
    warnings.filterwarnings("ignore", message="A worker stopped while some jobs were given", category=UserWarning)
    with loky_workers_starting():
        return ProcessPoolExecutor(max_workers=count, initializer=start_worker, initargs=(os.getpid(),), env=ONE_THREAD)


def start_worker(parent: int) -> None:
    """Set up a worker, before it imports what its tasks need.

    It ends soon after its parent is gone, also where it waits for a task.
    """
    prepare_process()
    # a thread that a plugin left would keep the worker, and with it the command, from ending
    end_with_parent(parent, PARENT_EVERY_S, threading.main_thread().is_alive)
    # These reach the whole process group; the parent stops its workers itself.
    for number in FROM_TERMINAL:
        signal.signal(number, signal.SIG_IGN)


def end_with_parent(parent: int, every_s: float, works: Callable[[], bool] = lambda: True) -> None:
    """Have a thread end this process once its parent is gone or `works` no more."""

    def watch() -> None:
        while os.getppid() == parent and works():
            time.sleep(every_s)
        os._exit(1)

    threading.Thread(target=watch, name="parent", daemon=True).start()


def workers_at_most(wanted: int) -> int:
    """Return the number of processes to use out of the number requested.

    The result is 1, with a warning, if the system does not have semaphores or if this process may not have children.
    """
    if wanted < 2:
        return wanted
    import multiprocessing

    if multiprocessing.current_process().daemon:
        reason = "This process is a daemonic worker, such as one of multiprocessing.Pool, and may not start others"
        advice = "Call corruptset from the main process to use more."
    elif (problem := _semaphore_problem()) is not None:
        reason = f"Processes cannot share semaphores in /dev/shm here ({problem})"
        advice = "Mount a writable /dev/shm to use more."
    else:
        return wanted
    warnings.warn(
        f"{reason}, so one process does the work of {wanted}. {advice} Use --jobs 1 to suppress this warning.",
        CorruptsetWarning,
        stacklevel=3,
    )
    return 1


@cache
def _semaphore_problem() -> str | None:
    """Return why no semaphore can be made, or None."""
    import multiprocessing

    if not hasattr(os, "fork"):
        return None  # Windows has semaphores of its own
    try:
        multiprocessing.get_context("fork").Lock()
    except ImportError as e:
        return str(e)
    except OSError as e:
        return e.strerror or str(e)
    return None
