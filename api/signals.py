"""Ctrl-C and the processes that are started: it goes to all of them, and is for the one that started them."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def interrupts_held_back() -> Iterator[None]:
    """Hold Ctrl-C back in this thread; processes that are started in here never get it, not even while Python comes up in them.

    A process inherits which signals are blocked, and no code of its own could do so early enough: for a second it imports, and an
    interrupt there would print a traceback above what the process that started it has to say. What came in here is raised at the end.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def loky_workers_starting() -> Iterator[None]:
    """Hold Ctrl-C back while joblib or loky start workers; see `interrupts_held_back`."""
    # Both have a process that tracks resources, start it when they first need it, and unblock the signals that they blocked for it.
    from multiprocessing import resource_tracker

    from joblib.externals.loky.backend import resource_tracker as loky_tracker

    resource_tracker.ensure_running()
    loky_tracker.ensure_running()
    with interrupts_held_back():
        yield
