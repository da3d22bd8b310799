"""Calibrate severity tables for other image sizes, so that the image quality at each severity stays the same."""

from __future__ import annotations

from importlib import import_module
from typing import Any

__all__ = ["Calibrated", "Level", "calibrate"]


def __getattr__(name: str) -> Any:
    """Import a public name on first access, so that command-line help stays fast."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(".calibration", __name__), name)
