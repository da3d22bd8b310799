"""Ctrl-C and SIGTERM: the first one stops what runs, and those that follow do not disturb its clean-up.

The command imports this before anything else, so only what Python has loaded already is imported here.
"""

from __future__ import annotations

# The `signal` above it first makes enumerations, for milliseconds in which Ctrl-C prints a traceback.
import _signal as signal  # type: ignore[import-not-found]
import os
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType, TracebackType
    from typing import Any

INTERRUPTED = 130
PATIENCE_S = 10.0
"""So long does clean-up have. A signal that comes later ends the command at once: every file is then as after a kill."""
AGAIN_S = 0.01
_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_DEFAULTS = (signal.SIG_DFL, signal.default_int_handler)

_current: Stopping | None = None
"""What has the signals of this process."""


class Stopping:
    """What SIGINT and SIGTERM do while this is entered: the first raises KeyboardInterrupt in the main thread, clean-up goes undisturbed.

    A signal that is ignored (a background job's SIGINT, ``nohup``), or that the program handles itself, is left alone.
    """

    def __init__(self, *, own: bool = False) -> None:
        self.came: float | None = None
        """When the first signal came, on the monotonic clock."""
        self.code: int | None = None
        """What the command leaves with, once it is through."""
        self._own = own
        self._depth = 0
        self._held = 0
        self._waits = False
        self._ended: float | None = None
        self._before: dict[int, Any] = {}
        self._hooks: list[Callable[[], None]] = []

    def __enter__(self) -> Stopping:
        self._depth += 1
        if self._depth == 1 and _in_main_thread():
            if not self._own:
                self.listen()
            self._hook()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._depth -= 1
        if self._depth:
            return
        for undo in self._hooks:
            undo()
        self._hooks.clear()
        if self._own:
            self.end(INTERRUPTED if self.came is not None else 0)
        else:
            self.forget()

    def listen(self) -> None:
        """Take the signals that have their default effect."""
        global _current
        _current = self
        for number in _SIGNALS:
            handler = signal.getsignal(number)
            if handler in _DEFAULTS:
                self._before[number] = handler
                signal.signal(number, self._on_signal)

    def forget(self) -> None:
        """Give the signals back."""
        global _current
        _current = None
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._before.clear()

    def end(self, code: int) -> None:
        """Say that all is done and told, and that the command leaves with `code`: a signal changes nothing any more."""
        self.code = code
        self._ended = self._ended or time.monotonic()

    def deafen(self) -> None:
        """Have the system ignore the signals: at its very end Python gives them their default effect, which is to kill."""
        for number in self._before:
            signal.signal(number, signal.SIG_IGN)

    def hold(self) -> None:
        """Let signals wait until `release`; in the main thread."""
        self._held += 1

    def release(self) -> None:
        """End a `hold`; raises KeyboardInterrupt if a signal came."""
        self._held -= 1
        if self._waits and not self._held:
            self._waits = False
            raise KeyboardInterrupt

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        now = time.monotonic()
        first, self.came = self.came is None, self.came or now
        if self._ended is not None:
            if now - self._ended > PATIENCE_S:
                os._exit(self.code or 0)
        elif not self._depth:
            self._leave()
        elif self._held:
            self._waits = True
        elif first or sys.exception() is None:
            raise KeyboardInterrupt
        elif self._own and now - self.came > PATIENCE_S:
            self._leave()

    def _leave(self) -> None:
        """Leave here and now: nothing was begun, or clean-up hangs."""
        self.deafen()
        _write(2, b"Interrupted.\n")
        if "--json" in sys.argv:
            _write(1, b'{"ok": false, "exit_code": 130, "error": {"kind": "Interrupted", "message": "Interrupted."}}\n')
        os._exit(INTERRUPTED)

    def _hook(self) -> None:
        """Keep destructors and threads from printing what the interruption does to them; one that swallows it gets it again."""
        import threading

        unraisable, excepthook = sys.unraisablehook, threading.excepthook

        def on_unraisable(said: sys.UnraisableHookArgs) -> None:
            if self.came is None:
                unraisable(said)
            elif isinstance(said.exc_value, KeyboardInterrupt):
                threading.Timer(AGAIN_S, self._again).start()

        def on_thread(said: threading.ExceptHookArgs) -> None:
            if self.came is None:
                excepthook(said)

        def undo() -> None:
            sys.unraisablehook, threading.excepthook = unraisable, excepthook

        sys.unraisablehook, threading.excepthook = on_unraisable, on_thread
        self._hooks.append(undo)

    def _again(self) -> None:
        if _current is self and self._ended is None and self._before:
            os.kill(os.getpid(), next(iter(self._before)))


def stopping() -> Stopping:
    """Return what has the signals, to be entered: the command's, or that of a call around this one, or a new one."""
    return _current if _current is not None and _in_main_thread() else Stopping()


def take_signals() -> Stopping:
    """Take the signals in a process of corruptset's own: until work begins, the first one ends the process."""
    import atexit

    taken = Stopping(own=True)
    taken.listen()
    atexit.register(taken.deafen)
    return taken


def held_back() -> Stopping | None:
    """Return what has the signals, where this thread is the one that they interrupt."""
    return _current if _in_main_thread() else None


def _in_main_thread() -> bool:
    if "threading" not in sys.modules:
        return True
    import threading

    return threading.current_thread() is threading.main_thread()


def _write(descriptor: int, said: bytes) -> None:
    try:  # noqa: SIM105  contextlib may not be loaded yet
        os.write(descriptor, said)
    except OSError:
        pass
