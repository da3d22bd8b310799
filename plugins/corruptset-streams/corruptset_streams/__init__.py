"""Changing streams as CCC defines them, and schedules: orders over the sets of a data set, for models that adapt while
they are tested.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__all__ = ["Schedule", "ScheduleError", "Stream", "StreamItem", "Streamed", "read_schedule", "schedule", "stream"]


def __getattr__(name: str) -> Any:
    """Import what is asked for: the help of the command line does without it."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(".streams" if name in ("Streamed", "stream") else ".schedules", __name__), name)
