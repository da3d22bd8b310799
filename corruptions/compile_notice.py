"""Print a notice on standard error while kernels are compiled, because the first call takes longer."""

from __future__ import annotations

import sys
from typing import Any

from numba.core import event

from ..progress import ProgressDisplay, is_interactive, say_line

SENTENCE = "corruptset: compiling kernels. This happens once per machine, and later calls take milliseconds."


class CompileNotice(event.Listener):
    """Listener that prints the notice once, when numba starts to compile a kernel of corruptset."""

    was_shown = False

    def on_start(self, event: Any) -> None:
        """Print the notice, unless it was printed before or a progress display reports the compilation."""
        if is_own_kernel(event) and not self.was_shown and not ProgressDisplay.shown:
            self.was_shown = True
            say_line(SENTENCE)

    def on_end(self, event: Any) -> None:
        """Do nothing. Numba's interface requires this method."""


def is_own_kernel(event: Any) -> bool:
    """Return whether a numba event concerns a function in this package."""
    module: str = event.data["dispatcher"].py_func.__module__ or ""
    return module.partition(".")[0] == __name__.partition(".")[0]


def announce() -> None:
    """Register the listener if standard error is a terminal or notebook.

    Workers share the terminal of the main process and print nothing.
    """
    processes = sys.modules.get("multiprocessing.process")  # If it is not loaded, there are no workers.
    if (processes is None or processes.current_process().name == "MainProcess") and is_interactive():
        event.register("numba:compile", CompileNotice())  # type: ignore[no-untyped-call]
