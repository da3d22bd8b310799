"""Compare a model with human participants in small studies: write a page of images, and score the answers to it."""

from __future__ import annotations

from importlib import import_module
from typing import Any

__all__ = ["pairs_score", "pairs_sheet"]


def __getattr__(name: str) -> Any:
    """Import a public name on first access, so that command-line help stays fast."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(".people_score" if name == "pairs_score" else ".sheet", __name__), name)
