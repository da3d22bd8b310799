"""A sentence for a person who waits while kernels are compiled: said once, and only where standard error is watched."""

from __future__ import annotations

import sys
import threading
import time
from typing import Any

from numba.core import event

from ..progress import ProgressDisplay, say_line, watched

AFTER_S = 2.0
"""Seconds of compiling before it is said; what is compiled sooner needs no word."""
SENTENCE = "corruptset: compiling kernels, which happens once on a machine; later calls take milliseconds."


class CompileNotice(event.Listener):
    """Listens to numba, which tells of a compilation but not of kernels from the cache; only ours count."""

    def __init__(self) -> None:
        self.said = False
        self._depth = 0
        self._seconds = 0.0
        self._began = 0.0
        self._timer: threading.Timer | None = None

    def on_start(self, event: Any) -> None:
        """Begin to wait, at the outermost of compilations within each other."""
        self._depth += is_ours(event)
        if self._depth == 1 and is_ours(event) and not self.said:
            self._began = time.monotonic()
            self._timer = threading.Timer(max(0.0, AFTER_S - self._seconds), self.say)
            self._timer.daemon = True
            self._timer.start()

    def on_end(self, event: Any) -> None:
        """Stop waiting."""
        self._depth -= is_ours(event)
        if self._depth == 0 and self._timer is not None:
            self._timer.cancel()
            self._timer = None
            self._seconds += time.monotonic() - self._began

    def say(self) -> None:
        """Say it, unless it was said, or a display of progress says it."""
        if not self.said and not ProgressDisplay.shown:
            self.said = True
            say_line(SENTENCE)


def is_ours(event: Any) -> bool:
    """Say whether numba compiles a function of this package, and not a plugin's or a script's."""
    module: str = event.data["dispatcher"].py_func.__module__ or ""
    return module.partition(".")[0] == __name__.partition(".")[0]


def announce() -> None:
    """Begin to listen, in a process that a person watches; workers share its terminal and stay silent."""
    processes = sys.modules.get("multiprocessing.process")  # not loaded for this: without it there are no workers
    if (processes is None or processes.current_process().name == "MainProcess") and watched():
        event.register("numba:compile", CompileNotice())  # type: ignore[no-untyped-call]
