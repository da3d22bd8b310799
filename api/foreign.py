"""Code that is not ours, of a plugin or a model: what it raises to end the process is an error like others."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from .errors import CorruptsetError

LONGEST = 1000
"""Characters of an error that is not ours, in a message of ours."""


class Ended(Exception):
    """In place of a SystemExit or another BaseException of foreign code, which is its cause."""


@contextmanager
def foreign_code() -> Iterator[None]:
    """Run foreign code: a SystemExit that it raises becomes `Ended`. Ctrl-C stays what it is."""
    try:
        yield
    except (Exception, KeyboardInterrupt):
        raise
    except BaseException as error:
        raise Ended().with_traceback(error.__traceback__) from error


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
    text = str(error)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."
