"""Ctrl-C, SIGTERM and SIGHUP: the first stops what runs, later ones do not disturb the clean-up.

The command imports this module before any other, so that Ctrl-C prints a traceback for as short a time as can be.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from contextlib import suppress
from types import FrameType
from typing import Any

PATIENCE_S = 10.0
"""How long clean-up may take. A later signal ends the command at once: its files are then as after a kill."""
AGAIN_S = 0.01
FROM_TERMINAL = {signal.SIGINT, getattr(signal, "SIGHUP", signal.SIGINT)}
"""What a terminal sends to all processes of a command. Windows has no SIGHUP."""
SIGNALS = {*FROM_TERMINAL, signal.SIGTERM}
_DEFAULTS = (signal.SIG_DFL, signal.default_int_handler)

_current: Interruption | None = None
"""Handles the signals of this process."""


class Interruption:
    """What `SIGNALS` do while this is entered.

    The first raises KeyboardInterrupt in the main thread; clean-up is not disturbed.

    A signal that is ignored (in a background job, under ``nohup``), or that the program handles itself, is left alone.
    `own` says that the process is the command's: then a signal ends it at once before this is entered, and is ignored
    afterwards.
    """

    def __init__(self, *, own: bool = False) -> None:
        self.came: float | None = None
        """When the first signal came, on the monotonic clock."""
        self._own = own
        self._depth = 0
        self._held = 0
        self._pending = False
        self._before: dict[int, Any] = {}
        self._hooks: tuple[Any, Any] | None = None

    def __enter__(self) -> Interruption:
        self._depth += 1
        if self._depth == 1 and _in_main_thread():
            self.listen()
            self._hooks = sys.unraisablehook, threading.excepthook
            sys.unraisablehook, threading.excepthook = self._unraisable, self._in_thread
        return self

    def __exit__(self, *_: object) -> None:
        self._depth -= 1
        if self._depth == 0 and self._hooks is not None:
            sys.unraisablehook, threading.excepthook = self._hooks
            self._hooks = None
            self.forget()

    def listen(self) -> None:
        """Handle the signals that have their default effect."""
        global _current
        _current = self
        for number in SIGNALS:
            if (handler := signal.getsignal(number)) in _DEFAULTS:
                self._before[number] = handler
                signal.signal(number, self._on_signal)

    def forget(self) -> None:
        """Give the signals back, or have the system ignore them.

        At its very end Python would let them kill the command.
        """
        global _current
        _current = None
        for number, handler in self._before.items():
            signal.signal(number, signal.SIG_IGN if self._own else handler)
        self._before.clear()

    def hold(self) -> None:
        """Let signals wait until `release`; in the main thread."""
        self._held += 1

    def release(self) -> None:
        """End a `hold`; raise KeyboardInterrupt if a signal came."""
        self._held -= 1
        if self._pending and not self._held:
            self._pending = False
            raise KeyboardInterrupt

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        now = time.monotonic()
        first, self.came = self.came is None, self.came or now
        late = self._own and now - self.came > PATIENCE_S
        if self._held:
            self._pending = True
        elif not self._depth or (late and sys.exception() is not None):  # it has not begun to work, or clean-up hangs
            self.forget()
            with suppress(OSError):
                os.write(2, b"Interrupted.\n")
                if "--json" in sys.argv:
                    os.write(
                        1,
                        b'{"ok": false, "exit_code": 130, "error": {"kind": "Interrupted", "message": '
                        b'"Interrupted."}}\n',
                    )
            os._exit(130)
        elif first or sys.exception() is None:
            raise KeyboardInterrupt

    def _unraisable(self, failure: sys.UnraisableHookArgs) -> None:
        """Print what a destructor raises, unless the interruption did it.

        A signal that one swallowed is sent again.
        """
        assert self._hooks is not None
        if self.came is None:
            self._hooks[0](failure)
        elif isinstance(failure.exc_value, KeyboardInterrupt):
            self.hold()  # what comes while the thread starts would be raised here, and printed
            threading.Timer(AGAIN_S, os.kill, [os.getpid(), next(iter(self._before))]).start()
            self._held -= 1
            self._pending &= bool(self._held)  # the one that is sent again is enough

    def _in_thread(self, failure: threading.ExceptHookArgs) -> None:
        """Print what a thread raises, unless it is stopped."""
        assert self._hooks is not None
        if self.came is None:
            self._hooks[1](failure)


def interruption() -> Interruption:
    """Return what handles the signals: the command's, an outer call's, or a new one."""
    return main_thread_interruption() or Interruption()


def command_interruption() -> Interruption:
    """Handle the signals of the command's process; before work begins, one ends it."""
    handler = Interruption(own=True)
    handler.listen()
    return handler


def main_thread_interruption() -> Interruption | None:
    """Return what handles the signals, where this thread is the one that they interrupt."""
    return _current if _in_main_thread() else None


def _in_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()
