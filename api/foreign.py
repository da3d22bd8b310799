"""Run the code of plugins and models (foreign code), and describe the errors that it raises."""

from __future__ import annotations

import sys
import threading
from contextlib import AbstractContextManager, nullcontext, redirect_stdout
from types import TracebackType
from typing import Literal

from .errors import CorruptsetError

MAX_ERROR_LENGTH = 1000
"""The number of characters after which the text of a foreign error is truncated."""


class ForeignExit(Exception):
    """Foreign code raised SystemExit or another BaseException, which is the `__cause__` of this exception."""


class ForeignCode:
    """Context manager that runs foreign code and raises `ForeignExit` for exceptions that would end the process.

    KeyboardInterrupt is passed on unchanged. The output of the code goes to standard error, because standard output is
    reserved for the result of the command.
    """

    def __enter__(self) -> None:
        # Standard output is global, so threads could restore it in the wrong order. Only the main thread redirects it.
        is_main = threading.current_thread() is threading.main_thread()
        self._out: AbstractContextManager[object] = redirect_stdout(sys.stderr) if is_main else nullcontext()
        self._out.__enter__()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> Literal[False]:
        self._out.__exit__(kind, error, traceback)
        if error is None or isinstance(error, Exception | KeyboardInterrupt):
            return False
        raise ForeignExit().with_traceback(traceback) from error


def describe_error(error: BaseException) -> str:
    """Return the type and the message of a foreign error, or the message alone for an error of corruptset.

    Examples
    --------
    >>> describe_error(ValueError("no")), describe_error(SystemExit(0)), describe_error(CorruptsetError("It is so."))
    ('ValueError: no', 'SystemExit: 0', 'It is so.')
    """
    cause = cause_of(error)
    if isinstance(cause, CorruptsetError):
        return error_text(cause)
    return f"{type(cause).__name__[:MAX_ERROR_LENGTH]}: {error_text(cause)}"


def cause_of(error: BaseException) -> BaseException:
    """Return the error that foreign code raised, without the `ForeignExit` around it."""
    return error.__cause__ if isinstance(error, ForeignExit) and error.__cause__ is not None else error


def error_text(error: BaseException) -> str:
    """Return the message of an error, truncated after 1000 characters.

    Examples
    --------
    >>> len(error_text(ValueError("x" * 5000)))
    1003
    """
    try:
        text = str(error)
    except BaseException:  # The error's own __str__ failed.
        return "(the error has no message)"
    return text if len(text) <= MAX_ERROR_LENGTH else f"{text[:MAX_ERROR_LENGTH]}..."
