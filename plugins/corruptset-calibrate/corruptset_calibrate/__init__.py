"""Tables for other image sizes: severities that have there the quality that a reference has at its own size."""

from __future__ import annotations

from .calibration import Calibrated, Level, calibrate

__all__ = ["Calibrated", "Level", "calibrate"]
