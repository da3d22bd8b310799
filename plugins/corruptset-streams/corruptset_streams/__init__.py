"""Evaluate models that adapt at test time, with changing streams as in CCC, or with schedules for existing sets."""

from __future__ import annotations

from importlib import import_module
from typing import Any

__all__ = ["Schedule", "ScheduleError", "Stream", "StreamItem", "Streamed", "read_schedule", "schedule", "stream"]


def __getattr__(name: str) -> Any:
    """Import a public name on first access, so that command-line help stays fast."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(".streams" if name in ("Streamed", "stream") else ".schedules", __name__), name)
