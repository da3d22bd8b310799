"""Tables for other image sizes: severities that have there the quality that a reference has at its own size."""

from __future__ import annotations

from importlib import import_module
from typing import Any

__all__ = ["Calibrated", "Level", "calibrate"]


def __getattr__(name: str) -> Any:
    """Import what is asked for: the help of the command line does without it."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(".calibration", __name__), name)
