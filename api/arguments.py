"""Arguments of public calls: lists of which one item may stand alone, numbers, and words of a few."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable
from numbers import Real
from typing import Any

from .errors import ParameterError, quoted

LARGEST = 2**53 - 1
"""The largest whole number that JSON keeps exactly in every reader."""


def as_list(given: Any, *kinds: type) -> list[Any]:
    """Return what was given as a list: a text, a path, one of `kinds` and what is no list are one item.

    Examples
    --------
    >>> as_list("fog/*"), as_list(("fog/*", "clean")), as_list(3)
    (['fog/*'], ['fog/*', 'clean'], [3])
    """
    alone = isinstance(given, (str, os.PathLike, *kinds)) or not isinstance(given, Iterable)
    return [given] if alone else list(given)


def set_patterns(sets: Any) -> list[str]:
    """Return the patterns that choose sets, or raise `ParameterError` where there is none."""
    patterns = as_list(sets)
    if not patterns or not all(isinstance(pattern, str) for pattern in patterns):
        raise ParameterError(f"sets is {quoted(sets)}; name some, such as 'fog/*', or leave it out.")
    return patterns


def check_number(name: str, value: Any, least: int = 1) -> None:
    """Raise `ParameterError` for what is no number, or below the least."""
    if not isinstance(value, Real) or not float(value) >= least:
        raise ParameterError(f"{name} is {quoted(value)}; expected a number, at least {least}.")
    if float(value) > LARGEST:
        raise ParameterError(f"{name} is {quoted(value)}; expected a number, at most 2**53 - 1.")


def check_word(name: str, value: Any, known: Collection[str]) -> None:
    """Raise `ParameterError` for what is none of a few words."""
    if value not in known:
        raise ParameterError(f"{name} is {quoted(value)}; expected one of {', '.join(known)}.")
