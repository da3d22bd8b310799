"""The mistakes in a file that pydantic finds, a line each: the place, pydantic's sentence, and the value."""

from __future__ import annotations

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from .errors import quoted


def mistake_lines(error: ValidationError) -> list[str]:
    """Return each mistake as a line, such as ``encoding, quality: Input should be less than or equal to 100``."""
    found = error.errors(include_url=False)
    # A list whose items are all wrong is also too short, which would confuse.
    shown = [details for details in found if details["type"] != "too_short" or not details["input"]]
    return [mistake_line(details, _place(details["loc"])) for details in shown]


def mistake_line(details: ErrorDetails, place: str) -> str:
    """Return one of pydantic's errors as a line: the place, the sentence, and the value if it is not a whole table."""
    said = details["msg"].removeprefix("Value error, ")
    given = details["input"]
    with_value = details["type"] not in ("missing", "value_error", "json_invalid") and not isinstance(given, dict)
    return f"{place}: {said}{f' (given: {quoted(given)})' if with_value else ''}"


def _place(location: tuple[str | int, ...]) -> str:
    """Return the place of a value, counted from 1: ``[[sets]] 2, corruptions, item 7``."""
    words: list[str] = []
    for key in location:
        if isinstance(key, int):
            words = [f"[[{words[0]}]] {key + 1}"] if words in (["sets"], ["pairs"]) else [*words, f"item {key + 1}"]
        elif words == ["stages"]:
            words = [f"[stages] {key}"]
        else:
            words.append(key)
    return ", ".join(words) or "the file"
