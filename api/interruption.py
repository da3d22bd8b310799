"""Signals that stop a command: Ctrl-C, SIGTERM, and SIGHUP, which a terminal sends when it is closed."""

from __future__ import annotations

import errno
import signal
import sys
from types import FrameType

from .errors import CorruptsetError

SIGNALS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
"""Windows has no SIGHUP."""


def handle_signals() -> None:
    """Let these signals raise KeyboardInterrupt in the main thread, and ignore repeated ones during clean-up.

    Signals that are already ignored stay ignored, for example under nohup and in background jobs.
    """
    interrupted = False

    def interrupt(number: int, frame: FrameType | None) -> None:
        nonlocal interrupted
        # A repeated signal outside of clean-up means that the first was lost, as Python discards errors of destructors.
        if not interrupted or sys.exception() is None:
            interrupted = True
            raise KeyboardInterrupt

    for number in SIGNALS:
        if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
            signal.signal(number, interrupt)


def ignore_signals() -> None:
    """Ignore these signals until the process ends. Otherwise Python would print a traceback while it ends."""
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)


def cause_of(error: BaseException) -> BaseException:
    """Return what has really ended a command, given the exception that arrived.

    An interruption can lead to another error: Python's locks fail if it arrives at an unfortunate moment. If it arrives
    while an error is being handled, that error is the cause.
    """
    chain = [error]
    while (context := chain[-1].__context__) is not None:
        chain.append(context)
    interruptions = [i for i, one in enumerate(chain) if isinstance(one, KeyboardInterrupt)]
    if not interruptions:
        return error
    since = chain[interruptions[-1] :]
    return next((one for one in since if isinstance(one, CorruptsetError) or _is_of_disk(one)), since[0])


def _is_of_disk(error: BaseException) -> bool:
    """Return whether an error says that a disk is full or fails."""
    return isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EROFS)
