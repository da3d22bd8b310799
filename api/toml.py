"""TOML that a person writes: recipes and tables."""

from __future__ import annotations

import tomllib
from typing import Any

from .errors import RecipeError


def parse_toml(text: str, where: str) -> dict[str, Any]:
    """Return the values of a TOML text; `where` is what the `RecipeError` of a mistake calls it."""
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise RecipeError(f"{where} is nested too deeply to be read as TOML.") from None
    except ValueError as e:  # TOMLDecodeError, and what Python says of a number of thousands of digits
        raise RecipeError(f"{where} is not TOML: {e}.") from None
