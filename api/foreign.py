"""Code that is not ours, of a plugin or a model: it cannot end the process unseen, nor leave the process changed."""

from __future__ import annotations

# `signal` makes enumerations for some milliseconds, and looks up one at each call.
import _signal as signal  # type: ignore[import-not-found]
import os
import threading
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import Literal

from .errors import CorruptsetError
from .interruption import interrupted

LONGEST = 1000
"""Characters of an error that is not ours, in a message of ours."""


class Ended(Exception):
    """In place of a SystemExit, KeyboardInterrupt or another BaseException of foreign code, which is its cause."""


def _unwatched(what: str) -> None:
    """Note nothing: a program that calls corruptset watches over itself."""


watch: Callable[[str], None] = _unwatched
"""Told what begins to run; when it ends, what runs around it, or ``""``. `cli.guardian` puts its own in this place."""

_running = ""
"""What runs now."""


class Foreign:
    """Run foreign code, as a context: what would end the process becomes `Ended`; current folder and signal handlers
    are put back.

    Parameters
    ----------
    what : str
        Whose code it is, as a message names it where the code ends the process.
    """

    def __init__(self, what: str) -> None:
        self._what = what

    def __enter__(self) -> None:
        global _running
        watch(self._what)
        self._around, _running = _running, self._what
        self._folder = _folder()
        main = threading.current_thread() is threading.main_thread()  # no other sets handlers
        self._handlers = (
            {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)} if main else {}
        )

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> Literal[False]:
        global _running
        if self._folder is not None and _folder() != self._folder:
            with suppress(OSError):
                os.chdir(self._folder)
        for number, handler in self._handlers.items():
            if handler is not None and signal.getsignal(number) != handler:
                signal.signal(number, handler)
        _running = self._around
        watch(_running)
        if error is None or isinstance(error, Exception) or (isinstance(error, KeyboardInterrupt) and interrupted()):
            return False
        raise Ended().with_traceback(traceback) from error


def described(error: BaseException) -> str:
    """Return the kind of a foreign error and what it says; of an error of ours, what it says.

    Examples
    --------
    >>> described(ValueError("no")), described(SystemExit(0)), described(CorruptsetError("It is so."))
    ('ValueError: no', 'SystemExit: 0', 'It is so.')
    """
    cause = cause_of(error)
    return said(cause) if isinstance(cause, CorruptsetError) else f"{type(cause).__name__[:LONGEST]}: {said(cause)}"


def cause_of(error: BaseException) -> BaseException:
    """Return an error as foreign code raised it."""
    return error.__cause__ if isinstance(error, Ended) and error.__cause__ is not None else error


def said(error: BaseException) -> str:
    """Return what an error says, cut at `LONGEST` characters.

    Examples
    --------
    >>> len(said(ValueError("x" * 5000)))
    1003
    """
    try:
        text = str(error)
    except BaseException:  # a __str__ of its own
        return "(it cannot say what)"
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."


def _folder() -> str | None:
    with suppress(OSError):
        return os.getcwd()
    return None  # it was deleted
