"""A sentence for a person who waits while kernels are compiled.

Said once, and only where standard error is watched.
"""

from __future__ import annotations

import sys
from typing import Any

from numba.core import event

from ..progress import ProgressDisplay, say_line, watched

SENTENCE = "corruptset: compiling kernels, which happens once on a machine; later calls take milliseconds."


class CompileNotice(event.Listener):
    """Listens to numba, which tells of a compilation but not of kernels from the cache.

    Only ours count.
    """

    said = False

    def on_start(self, event: Any) -> None:
        """Say it, unless it was said, or a display of progress says it."""
        if is_ours(event) and not self.said and not ProgressDisplay.shown:
            self.said = True
            say_line(SENTENCE)

    def on_end(self, event: Any) -> None:
        """Do nothing: it is said at the beginning."""


def is_ours(event: Any) -> bool:
    """Say whether numba compiles a function of this package."""
    module: str = event.data["dispatcher"].py_func.__module__ or ""
    return module.partition(".")[0] == __name__.partition(".")[0]


def announce() -> None:
    """Begin to listen, in a process that a person watches.

    Workers share its terminal and stay silent.
    """
    processes = sys.modules.get("multiprocessing.process")  # not loaded for this: without it there are no workers
    if (processes is None or processes.current_process().name == "MainProcess") and watched():
        event.register("numba:compile", CompileNotice())  # type: ignore[no-untyped-call]
