"""Code of a plugin or a model: how it ends, and what its errors say."""

from __future__ import annotations

import sys
import threading
from contextlib import AbstractContextManager, nullcontext, redirect_stdout
from types import TracebackType
from typing import Literal

from .errors import CorruptsetError

LONGEST = 1000
"""Characters of an error that is not ours, in a message of ours."""


class Ended(Exception):
    """In place of a SystemExit or another BaseException of foreign code, which is its cause."""


class Foreign:
    """Run foreign code, as a context that turns what would end the process into `Ended`.

    Ctrl-C stays what it is. What the code prints goes to standard error: standard output is the command's own.
    """

    def __enter__(self) -> None:
        # not in other threads, which would put it back in another order
        main = threading.current_thread() is threading.main_thread()
        self._out: AbstractContextManager[object] = redirect_stdout(sys.stderr) if main else nullcontext()
        self._out.__enter__()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> Literal[False]:
        self._out.__exit__(kind, error, traceback)
        if error is None or isinstance(error, Exception | KeyboardInterrupt):
            return False
        raise Ended().with_traceback(traceback) from error


def described(error: BaseException) -> str:
    """Return the kind of a foreign error and what it says.

    Of an error of ours, what it says.

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
