"""Handle the signals that stop a command: SIGINT (Ctrl-C), SIGTERM, and SIGHUP (a closed terminal)."""

from __future__ import annotations

import _thread
import errno
import signal
import sys
import threading
from types import FrameType

from .errors import CorruptsetError

SIGNALS = [getattr(signal, name) for name in ("SIGINT", "SIGHUP", "SIGTERM") if hasattr(signal, name)]
"""The signals that stop a command. Windows does not have SIGHUP."""


def handle_signals() -> None:
    """Make `SIGNALS` raise KeyboardInterrupt in the main thread, and ignore repeated signals during clean-up.

    Signals that are already ignored stay ignored, for example under nohup and in background jobs.
    """
    interrupted = False

    def interrupt(number: int, frame: FrameType | None) -> None:
        nonlocal interrupted
        # Python discards exceptions in destructors. If a second signal arrives while no exception is being handled, the
        # first KeyboardInterrupt was lost in this way.
        if not interrupted or sys.exception() is None:
            interrupted = True
            raise KeyboardInterrupt

    def repeat(unraisable: sys.UnraisableHookArgs) -> None:
        # Python also discards exceptions in callbacks that C code calls, such as LLVM's. The interruption is therefore
        # repeated after the callback.
        if issubclass(unraisable.exc_type, KeyboardInterrupt):
            threading.Timer(0.05, _thread.interrupt_main).start()
        else:
            report_unraisable(unraisable)

    report_unraisable, sys.unraisablehook = sys.unraisablehook, repeat
    for number in SIGNALS:
        if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
            signal.signal(number, interrupt)


def ignore_signals() -> None:
    """Ignore `SIGNALS` until the process ends. Otherwise Python would print a traceback while it ends."""
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)


def cause_of(error: BaseException) -> BaseException:
    """Return the exception that actually ended a command, given the exception that was caught.

    An interruption can cause another error, because Python's locks fail if the signal arrives at the wrong moment. If
    the signal arrives while an error is being handled, that error is the cause.
    """
    chain = [error]
    while (context := chain[-1].__context__) is not None:
        chain.append(context)
    interruptions = [i for i, link in enumerate(chain) if isinstance(link, KeyboardInterrupt)]
    if not interruptions:
        return error
    earlier = chain[interruptions[-1] :]
    return next((link for link in earlier if isinstance(link, CorruptsetError) or _is_disk_error(link)), earlier[0])


def _is_disk_error(error: BaseException) -> bool:
    """Return whether an error means that a disk is full, read-only or failing."""
    return isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EROFS)
