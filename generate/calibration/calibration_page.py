"""The report of a calibration: curves of quality along each path, and how far each severity is from its target."""

from __future__ import annotations

from statistics import fmean
from typing import TYPE_CHECKING

from ...corruptions.calibrations import Calibration
from ...webpage.curves import Curve, Mark
from ...webpage.document import render

if TYPE_CHECKING:
    from .calibrate import Calibrated, Level

COLUMNS = ["severity", "target", "place", "quality", "deviation", "scale none", "scale side"]


def deviations(levels: list[Level]) -> dict[str, float]:
    """Return the mean absolute distance from the targets: of the calibrated table, and of the reference's with either scale."""
    ways = {"calibrated": "quality", "none": "unscaled", "side": "scaled"}
    return {way: fmean(abs(getattr(level, field) - level.target) for level in levels) for way, field in ways.items()}


def level_rows(levels: list[Level]) -> list[list[str]]:
    """Return a row for each severity; the last three columns are distances from the target."""
    return [
        [
            str(level.severity),
            f"{level.target:.4f}",
            f"{float(level.place):g}",
            f"{level.quality:.4f}{'' if level.reached else ' (not reached)'}",
            *(f"{value - level.target:+.4f}" for value in (level.quality, level.unscaled, level.scaled)),
        ]
        for level in levels
    ]


def report_page(result: Calibrated, table: Calibration, to: int, where: str) -> bytes:
    """Return the page as bytes."""
    blocks = []
    for name, levels in result.levels.items():
        places = [place for place in result.curves[name] if place]
        curve = Curve(
            f"{result.metric} at {to} pixels",
            "place on the path",
            [float(place) for place in places],
            [result.curves[name][place] for place in places],
            [None] * len(places),
            (None, 1.0),
            [Mark(level.target, f"severity {level.severity} at {table.side} pixels") for level in levels],
        )
        blocks.append({"name": name, "curve": curve, "rows": level_rows(list(levels))})
    means = [[name, *(f"{value:.4f}" for value in deviations(list(levels)).values())] for name, levels in result.levels.items()]
    return render(
        "calibration.html", __package__, name=result.name, reference=table, to=to, where=where, blocks=blocks, columns=COLUMNS, means=means
    )
