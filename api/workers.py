"""Start worker processes, assign tasks to them, and repeat the tasks of workers that were killed."""

from __future__ import annotations

import atexit
import gc
import os
import signal
import threading
import time
import warnings
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import contextmanager
from types import TracebackType
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from .errors import CorruptsetWarning, MachineError

if TYPE_CHECKING:
    from joblib.externals.loky import ProcessPoolExecutor

P = ParamSpec("P")
T = TypeVar("T")
R = TypeVar("R")

MAX_KILLS = 3
"""The command stops when the workers of one task have been killed this many times."""
POLL_S = 0.2
"""The time between two calls to `poll`, in seconds."""
FINISH_S = 10.0
"""The time that other tasks get to finish after one has failed, so that they do not leave temporary files."""
SETTLE_S = 0.05
"""The time that loky gets to register a task before its workers are killed."""
PARENT_POLL_S = 1.0
"""The interval at which a worker checks that its parent process is alive."""
ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS", "OPENCV_FOR_THREADS_NUM"), "1"
)
"""The environment variables that limit each worker to one thread, because the workers together use all cores."""


class Workers:
    """Worker processes that start with the first tasks and stop at the end of a ``with`` block.

    The processes are started by loky, which is part of joblib. Unlike the processes of `concurrent.futures`, they do
    not import the main module again. Scripts therefore do not need ``if __name__ == "__main__"``, and code in notebooks
    and from standard input works.

    Parameters
    ----------
    limit : int
        The maximum number of processes. If it is 1, `run` calls functions in the current process.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.count = 0
        """The number of processes that are running."""
        self._pool: ProcessPoolExecutor | None = None

    def run(
        self,
        function: Callable[[T], R],
        tasks: Sequence[T],
        on_result: Callable[[T, R], object],
        *,
        poll: Callable[[], object] = lambda: None,
        describe: Callable[[T], str] = str,
    ) -> None:
        """Call a function with each task, and repeat the tasks of workers that were killed.

        Parameters
        ----------
        function : callable
            The function. It may be called more than once with the same task, because its worker may be killed.
        tasks : sequence
            The tasks.
        on_result : callable
            Called in this process with each finished task and its result, in the order in which the tasks finish.
        poll : callable, optional
            Called several times a second, or after each task if the tasks run in this process.
        describe : callable, optional
            Returns the name of a task for error messages.

        Raises
        ------
        MachineError
            If the worker of one task was killed three times, or if the system cannot start processes.
        """
        if self.limit <= 1 or len(tasks) <= 1:
            for task in tasks:
                on_result(task, function(task))
                poll()
            return
        from concurrent.futures.process import BrokenProcessPool

        remaining, kills, limit = dict(enumerate(tasks)), Counter[int](), self.limit
        submitted = set[int]()

        def submit(number: int) -> Future[R]:
            submitted.add(number)
            return self.submit(function, remaining[number])

        def on_done(number: int, future: Future[R]) -> None:
            result = future.result()
            on_result(remaining.pop(number), result)

        while remaining:
            # When a worker is killed, all submitted and unfinished tasks are suspects. A task that was a suspect twice
            # runs last and alone, so that a third kill proves that this task is the cause.
            numbers = [number for number in remaining if kills[number] < MAX_KILLS - 1] or list(remaining)[:1]
            before = len(remaining)
            submitted.clear()
            self._start(min(limit, len(numbers)))
            try:
                # More tasks than workers are submitted, so that no worker has to wait for this process.
                complete(submit, numbers, on_done, at_once=2 * self.count, poll=poll)
            except BrokenProcessPool:
                self.stop()
                if len(remaining) == before:
                    limit = max(1, limit // 2)  # The memory may suffice for fewer workers.
                for number in submitted & remaining.keys():
                    kills[number] += 1
                    if kills[number] == MAX_KILLS:
                        raise MachineError(
                            f"A worker process was killed {MAX_KILLS} times while it worked on "
                            f"{describe(remaining[number])}. The usual cause is too little memory. Use fewer --jobs or "
                            "a machine with more memory, and run the same command again to resume. Finished parts are "
                            "kept."
                        ) from None

    def submit(self, function: Callable[P, R], /, *arguments: P.args, **keywords: P.kwargs) -> Future[R]:
        """Call a function in a worker, and start workers if none is running.

        The future raises `concurrent.futures.process.BrokenProcessPool` if a worker is killed.
        """
        if self._pool is None:
            self._start(self.limit)
        assert self._pool is not None
        with _starting_processes():  # The pool starts its processes when the first task is submitted.
            future: Future[R] = self._pool.submit(function, *arguments, **keywords)
        return future

    def _start(self, count: int) -> None:
        """Start a pool with this number of workers, unless the current one has enough."""
        if count <= self.count:
            return
        self.close()
        from joblib.externals.loky import ProcessPoolExecutor

        # If psutil is installed, loky replaces a worker that has grown by 300 MB, and warns.
        warnings.filterwarnings("ignore", message="A worker stopped while some jobs were given", category=UserWarning)
        with _starting_processes():
            self._pool = ProcessPoolExecutor(
                max_workers=count, initializer=_prepare_worker, initargs=(os.getpid(),), env=ONE_THREAD
            )
        self.count = count

    def close(self) -> None:
        """Let the workers finish their tasks and then end."""
        if self._pool is not None:
            self._pool.shutdown(wait=False)
        self._pool, self.count = None, 0

    def stop(self) -> None:
        """Kill the workers."""
        pool, self._pool, self.count = self._pool, None, 0
        if pool is not None:
            # If a task is submitted just before the shutdown, loky's thread prints a KeyError (joblib 1.6).
            time.sleep(SETTLE_S)
            pool.shutdown(wait=True, kill_workers=True)

    def __enter__(self) -> Workers:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close() if kind is None else self.stop()


def complete(
    submit: Callable[[T], Future[R]],
    tasks: Iterable[T],
    on_done: Callable[[T, Future[R]], object],
    *,
    at_once: int,
    poll: Callable[[], object],
) -> None:
    """Submit tasks, at most `at_once` at a time, and call `on_done` with each finished task and its future.

    `poll` is called several times a second. A task whose future was cancelled is submitted again, because a Dask
    scheduler may lose tasks. If `on_done` raises MachineError or OSError, other tasks get some time to finish.
    """
    waiting, running = deque(tasks), dict[Future[R], T]()
    while waiting or running:
        while waiting and len(running) < at_once:
            task = waiting.popleft()
            running[submit(task)] = task
        ready, _ = wait(running, timeout=POLL_S, return_when=FIRST_COMPLETED)
        poll()
        for future in ready:
            task = running.pop(future)
            if future.cancelled():
                waiting.append(task)
                continue
            try:
                on_done(task, future)
            except (MachineError, OSError):
                wait(running, FINISH_S)
                raise


@contextmanager
def _starting_processes() -> Iterator[None]:
    """Block signals from the terminal in the processes that are started within the ``with`` statement.

    A terminal sends signals to all processes, but the main process stops its workers itself. New processes inherit the
    set of blocked signals.
    """
    posix = hasattr(signal, "pthread_sigmask")
    if posix:
        from multiprocessing import resource_tracker

        terminal = {signal.SIGINT, signal.SIGHUP}
        blocked = signal.pthread_sigmask(signal.SIG_BLOCK, terminal)
        resource_tracker.ensure_running()  # This starts a helper process and unblocks SIGINT.
        signal.pthread_sigmask(signal.SIG_BLOCK, terminal)
    try:
        yield
    except OSError as e:
        raise MachineError(
            f"Worker processes cannot be started: {e.strerror or e}. They need semaphores in /dev/shm, which may be "
            "full, too small or read-only (in a container, see --shm-size). Run the same command with --jobs 1."
        ) from e
    finally:
        if posix:
            signal.pthread_sigmask(signal.SIG_SETMASK, blocked)


def _prepare_worker(parent: int) -> None:
    """Make this worker exit quickly, and end it if its parent dies.

    A worker without a parent would wait for tasks forever.
    """

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(PARENT_POLL_S)
        os._exit(1)

    atexit.register(gc.freeze)  # This avoids a garbage collection of 0.2 s at exit.
    threading.Thread(target=watch, name="parent", daemon=True).start()


def workers_at_most(count: int) -> int:
    """Return the number of processes to use if `count` are requested.

    In a daemonic process, such as a worker of `multiprocessing.Pool`, the result is 1, because such a process cannot
    start others. A warning explains this.
    """
    if count < 2:
        return count
    from multiprocessing import current_process

    if not current_process().daemon:
        return count
    warnings.warn(
        "This process is a daemonic worker, such as one of multiprocessing.Pool, which cannot start processes. One "
        f"process therefore does the work instead of {count}. To use more processes, call corruptset from the main "
        "process. To suppress this warning, pass jobs=1.",
        CorruptsetWarning,
        stacklevel=3,
    )
    return 1
