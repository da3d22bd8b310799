"""TOML that a person writes: recipes and tables."""

from __future__ import annotations

import tomllib
from typing import Any

from .errors import RecipeError


def parse_toml(text: str, where: str) -> dict[str, Any]:
    """Return the values of a TOML text; `where` is what the `RecipeError` of a mistake calls it."""
    try:
        values = tomllib.loads(text)
    except RecursionError:
        raise RecipeError(f"{where} is nested too deeply to be read as TOML.") from None
    except ValueError as e:  # TOMLDecodeError, and what Python says of a number of thousands of digits
        raise RecipeError(f"{where} is not TOML: {e}.") from None
    if _has_nul(values):
        raise RecipeError(f"{where} has a NUL character (\\u0000) in a text. No name or path has one: take it out.")
    return values


def _has_nul(value: Any) -> bool:
    if isinstance(value, dict):
        return any(_has_nul(inner) for pair in value.items() for inner in pair)
    return any(map(_has_nul, value)) if isinstance(value, list) else isinstance(value, str) and "\0" in value
