"""Format the validation errors that pydantic finds in a file, with one line per error."""

from __future__ import annotations

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from .errors import quote


def error_lines(error: ValidationError) -> list[str]:
    """Return one line per error, such as ``encoding, quality: Input should be less than or equal to 100``."""
    errors = error.errors(include_url=False)
    # If all items of a list are wrong, pydantic also reports that the list is too short, which would be confusing.
    shown = [details for details in errors if details["type"] != "too_short" or not details["input"]]
    return [error_line(details, _location(details["loc"])) for details in shown]


def error_line(details: ErrorDetails, location: str) -> str:
    """Return a pydantic error as one line, with its location and its message.

    The invalid value is added, unless it is missing or a table, or unless the message already describes it.
    """
    message = details["msg"].removeprefix("Value error, ")
    given = details["input"]
    with_value = details["type"] not in ("missing", "value_error", "json_invalid") and not isinstance(given, dict)
    return f"{location}: {message}{f' (given: {quote(given)})' if with_value else ''}"


def _location(location: tuple[str | int, ...]) -> str:
    """Return the location of a value as text, such as ``[[sets]] 2, corruptions, item 7``. Items are counted from 1."""
    words: list[str] = []
    for key in location:
        if isinstance(key, int):
            words = [f"[[{words[0]}]] {key + 1}"] if words in (["sets"], ["pairs"]) else [*words, f"item {key + 1}"]
        elif words == ["stages"]:
            words = [f"[stages] {key}"]
        else:
            words.append(key)
    return ", ".join(words) or "the file"
