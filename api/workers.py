"""The worker processes of one call, from its first check to its last page."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import contextmanager
from itertools import islice
from types import TracebackType
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from .errors import MachineError
from .processes import loky_workers_starting, worker_pool

if TYPE_CHECKING:
    from joblib.externals.loky import ProcessPoolExecutor

P = ParamSpec("P")
T = TypeVar("T")
R = TypeVar("R")
LOOK_S = 0.2
"""How often tasks that run in workers are looked after."""
END_S = 10.0
"""How long other tasks may take to end by themselves, and to remove what they have half written, after the disk failed
one.
"""
TRIES = 4
"""So often may workers die in a row without a single task being done in between."""


class WorkersKilled(MachineError):
    """Workers died again and again; `left` are the tasks that are not done."""

    def __init__(self, left: list[Any]) -> None:
        super().__init__(
            f"Workers were killed {TRIES} times without finishing a task (often: out of memory). Give the machine "
            "more memory or --jobs 1, and run the same command again."
        )
        self.left = left


class Workers:
    """Worker processes, started when there is something to share out.

    As a context they are gone at its end.

    Parameters
    ----------
    most : int
        Processes at most. Where it is 1, callers work in their own process and start none.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self.count = 0
        """How many are running."""
        self._pool: ProcessPoolExecutor | None = None

    def start(self, wanted: int, task: Callable[[], object] = os.getpid) -> int:
        """Have so many workers running, at most `most`; return how many.

        Each that is started gets `task` first, while this process goes on.
        """
        count = min(self.most, wanted)
        if count > self.count:
            self.end()
            self._pool, self.count = worker_pool(count), count
            try:
                for _ in range(count):
                    self.submit(task)
            except BaseException:
                self.stop()
                raise
        return self.count

    def submit(self, call: Callable[P, T], /, *arguments: P.args, **keywords: P.kwargs) -> Future[T]:
        """Give a task to the workers that are running.

        Raises
        ------
        concurrent.futures.process.BrokenProcessPool
            One of them was killed; also what waits for a result gets it. `stop` them, and start others.
        MachineError
            The system does not let a worker be started.
        """
        assert self._pool is not None
        # the first task starts them, a later one whoever takes the place of one that has ended
        with loky_workers_starting():
            future: Future[T] = self._pool.submit(call, *arguments, **keywords)
        return future

    def run(
        self,
        do: Callable[[T], R],
        tasks: Sequence[T],
        done: Callable[[T, R], object],
        *,
        look: Callable[[], None] = lambda: None,
    ) -> None:
        """Do tasks here or in workers, those of a killed worker again.

        Parameters
        ----------
        do : callable
            Takes a task. What it has done before it is killed may be done again.
        tasks : sequence
        done : callable
            Told of each task, with its result, in the order in which they end.
        look : callable, optional
            Called several times a second meanwhile; between tasks where they are done here.

        Raises
        ------
        WorkersKilled
            Workers die again and again, and no task gets done.
        """
        if self.most <= 1 or len(tasks) <= 1:
            for task in tasks:
                done(task, do(task))
                look()
            return
        from concurrent.futures.process import BrokenProcessPool

        left, failures = dict(enumerate(tasks)), 0
        while left:
            before = len(left)
            self.start(before)
            try:
                self._hand_out(do, left, done, look)
            except BrokenProcessPool:
                self.stop()
                failures = failures + 1 if len(left) == before else 0
                # workers are mostly killed for their memory: fewer at a time may get through, and one alone says which
                # task it is
                self.most = max(1, self.most // 2) if failures else self.most
                if failures >= TRIES:
                    raise WorkersKilled(list(left.values())) from None

    def _hand_out(
        self, do: Callable[[T], R], left: dict[int, T], done: Callable[[T, R], object], look: Callable[[], None]
    ) -> None:
        """Have what is left done; what is done leaves it."""
        queue = iter(list(left))
        running: dict[Future[R], int] = {}
        while left:
            # a few ahead, so that the end stays shared out evenly and little is lost with a pool
            for number in islice(queue, 2 * self.count - len(running)):
                running[self.submit(do, left[number])] = number
            ready, _ = wait(running, timeout=LOOK_S, return_when=FIRST_COMPLETED)
            look()
            for future in ready:
                try:
                    result, number = future.result(), running.pop(future)
                except OSError:
                    wait(running, END_S)
                    raise
                done(left.pop(number), result)

    def end(self) -> None:
        """Let the workers, which are done, end by themselves."""
        if self._pool is not None:
            self._pool.shutdown(wait=False)
        self._pool, self.count = None, 0

    def stop(self) -> None:
        """Stop the workers at once."""
        pool, self._pool, self.count = self._pool, None, 0
        if pool is not None:
            with _without_loky_traceback():
                pool.shutdown(wait=True, kill_workers=True)

    def __enter__(self) -> Workers:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if kind is None:
            self.end()
        else:
            self.stop()


@contextmanager
def _without_loky_traceback() -> Iterator[None]:
    """Keep loky's manager thread from printing a traceback while its workers are killed.

    When it is to kill them, the thread drops what was submitted, kills, and then looks once more at what is queued: a
    task submitted a moment before is a KeyError there, after its work is done (joblib 1.5). The traceback would stand
    on the user's screen above the sentence that says how to resume.
    """
    before = threading.excepthook

    def hook(failure: threading.ExceptHookArgs) -> None:
        if not (
            failure.exc_type is KeyError
            and failure.thread is not None
            and failure.thread.name == "ExecutorManagerThread"
        ):
            before(failure)

    threading.excepthook = hook
    try:
        yield
    finally:
        threading.excepthook = before
