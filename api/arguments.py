"""Validate the arguments of public functions: lists or single items, integers, and choices."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable
from typing import Any

from .errors import ParameterError, quote

MAX_INTEGER = 2**53 - 1
"""The largest integer that every JSON reader represents exactly."""


def as_list(given: Any, *kinds: type) -> list[Any]:
    """Return an argument as a list. A string, a path, an instance of `kinds` or a non-iterable becomes a single item.

    Examples
    --------
    >>> as_list("fog/*"), as_list(("fog/*", "clean")), as_list(3)
    (['fog/*'], ['fog/*', 'clean'], [3])
    """
    is_item = isinstance(given, (str, os.PathLike, *kinds)) or not isinstance(given, Iterable)
    return [given] if is_item else list(given)


def set_patterns(sets: Any) -> list[str]:
    """Return the patterns that select sets, or raise `ParameterError` if there are none or if one is not a string."""
    patterns = as_list(sets)
    if not patterns or not all(isinstance(pattern, str) for pattern in patterns):
        raise ParameterError(f"sets is {quote(sets)}; name some sets, such as 'fog/*', or leave it out.")
    return patterns


def integer(name: str, value: Any, minimum: int = 1) -> int:
    """Return a whole number as an int. NumPy numbers and floats such as ``1e9`` are accepted.

    Raises
    ------
    ParameterError
        If the value is not a whole number, or not in the range from `minimum` to 2**53 - 1.

    Examples
    --------
    >>> integer("max_bytes", 1e9)
    1000000000
    """
    try:
        if not isinstance(value, bool) and minimum <= value <= MAX_INTEGER and int(value) == value:
            return int(value)
    except (TypeError, ValueError):  # The value is, for example, a string or an array with several numbers.
        pass
    limit = f"at least {minimum}" if minimum else "0 or more"
    raise ParameterError(f"{name} is {quote(value)}; expected a whole number, {limit} and at most 2**53 - 1.")


def check_choice(name: str, value: Any, known: Collection[str]) -> None:
    """Raise `ParameterError` if a value is not one of the known strings."""
    if not isinstance(value, str) or value not in known:
        raise ParameterError(f"{name} is {quote(value)}; expected one of {', '.join(known)}.")
