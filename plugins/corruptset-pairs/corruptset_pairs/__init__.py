"""Small studies with people: sheets of pictures that a browser shows, and what the answers come to."""

from __future__ import annotations

from importlib import import_module
from typing import Any

__all__ = ["pairs_score", "pairs_sheet"]


def __getattr__(name: str) -> Any:
    """Import what is asked for: the help of the command line does without it."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(".people_score" if name == "pairs_score" else ".sheet", __name__), name)
