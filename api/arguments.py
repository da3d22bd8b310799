"""Checks of the arguments of public functions: lists of which one item may stand alone, numbers, and choices."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable
from typing import Any

from .errors import ParameterError, quoted

LARGEST = 2**53 - 1
"""The largest whole number that JSON keeps exactly in every reader."""


def as_list(given: Any, *kinds: type) -> list[Any]:
    """Return a list of the items given. A text, a path, an instance of `kinds` or a non-iterable is one item.

    Examples
    --------
    >>> as_list("fog/*"), as_list(("fog/*", "clean")), as_list(3)
    (['fog/*'], ['fog/*', 'clean'], [3])
    """
    alone = isinstance(given, (str, os.PathLike, *kinds)) or not isinstance(given, Iterable)
    return [given] if alone else list(given)


def set_patterns(sets: Any) -> list[str]:
    """Return the patterns that choose sets, or raise `ParameterError` for an empty list."""
    patterns = as_list(sets)
    if not patterns or not all(isinstance(pattern, str) for pattern in patterns):
        raise ParameterError(f"sets is {quoted(sets)}; name some, such as 'fog/*', or leave it out.")
    return patterns


def whole_number(name: str, value: Any, least: int = 1) -> int:
    """Return a whole number as an int, also if it is a number of NumPy or a float such as ``1e9``.

    Raises
    ------
    ParameterError
        The value is not a whole number, or not in the range from `least` to 2**53 - 1.

    Examples
    --------
    >>> whole_number("max_bytes", 1e9)
    1000000000
    """
    try:
        if not isinstance(value, bool) and least <= value <= LARGEST and int(value) == value:
            return int(value)
    except (TypeError, ValueError):  # a text, or an array of several numbers
        pass
    limit = f"at least {least}" if least else "0 or more"
    raise ParameterError(f"{name} is {quoted(value)}; expected a whole number, {limit} and at most 2**53 - 1.")


def check_word(name: str, value: Any, known: Collection[str]) -> None:
    """Raise `ParameterError` if a value is not one of a few words."""
    if not isinstance(value, str) or value not in known:
        raise ParameterError(f"{name} is {quoted(value)}; expected one of {', '.join(known)}.")
