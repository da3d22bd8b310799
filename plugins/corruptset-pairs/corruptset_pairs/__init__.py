"""Small studies with people: sheets of pictures that a browser shows, and what the answers come to."""

from __future__ import annotations

from .pairs_score import pairs_score
from .sheet import pairs_sheet

__all__ = ["pairs_score", "pairs_sheet"]
