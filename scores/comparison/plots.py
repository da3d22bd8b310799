"""The plots of a comparison: charts side by side, bars and matrices, as far as models have the scores, each as SVG and
PNG.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from ...manifests.disk.atomic import write_atomic
from ...pages.charts import Chart, Shape
from ...pages.drawing import Figure, png, svg
from ..published import EXTRA, FIFTEEN
from .entries import Entry, reference_of
from .figures import (
    LEGEND,
    MEAN_OF_FIFTEEN,
    MEASURES,
    Matrix,
    fragile_charts,
    maude_bars,
    order_matrices,
    profile_charts,
    quadrant_charts,
    severity_charts,
    short,
)

COLUMNS = 4
"""Charts side by side."""
HEAD, GAP = 36, 12
"""Pixels of what stands above charts, and between charts."""


def write_plots(entries: Sequence[Entry], folder: Path) -> list[Path]:
    """Write every plot that models have scores for, as SVG and PNG, and return the files."""
    folder.mkdir(parents=True, exist_ok=True)
    files = []
    for name, figure in figures(entries).items():
        for kind, data in (("svg", svg(figure)), ("png", png(figure))):
            files.append(folder / f"{name}.{kind}")
            write_atomic(files[-1], data)
    return files


def figures(entries: Sequence[Entry]) -> dict[str, Figure]:
    """Return the figures by the names of their files."""
    single = (*FIFTEEN, *EXTRA, MEAN_OF_FIFTEEN)
    charts = {"accuracy_and_cv": quadrant_charts(entries)}
    charts |= {f"degradation_{measure}": profile_charts(entries, measure) for measure in MEASURES}
    charts |= {"error_and_severity": [chart for chart in severity_charts(entries) if chart.title in single]}
    charts |= {"fragile": fragile_charts(entries)}
    found = {name: _side_by_side(entries, own) for name, own in charts.items() if own}
    if (bars := maude_bars(entries)) is not None:
        found["maude"] = bars
    if matrices := order_matrices(entries):
        found["order_effects"] = _matrices(matrices)
    return found


def _moved(shapes: Iterator[Shape], across: float, down: float) -> list[Shape]:
    return [shape._replace(points=[(x + across, y + down) for x, y in shape.points]) for shape in shapes]


def _side_by_side(entries: Sequence[Entry], charts: Sequence[Chart]) -> Figure:
    """Return charts with their titles, and right of them the names of the models that are in them."""
    columns = min(COLUMNS, len(charts))
    wide, high = charts[0].box.width + GAP, charts[0].box.height + HEAD
    reference = reference_of(entries) if charts[0].middle else None
    crossing = "" if reference is None else f"; the lines cross at the reference point: {short(reference.words)}"
    shapes = [Shape("title", ((4, 14),), text=f"{charts[0].y_name}{crossing}")]
    for place, chart in enumerate(charts):
        x, y = place % columns * wide, place // columns * high + 20
        shapes += [
            Shape("title", ((x + chart.box.left, y + 14),), text=chart.title),
            *_moved(chart.shapes(), x, y + 16),
        ]
    shown = sorted({line.model for chart in charts for line in chart.lines})
    for place, model in enumerate(shown):
        x, y = columns * wide + 8, 44 + 18 * place
        shapes += [Shape("line", ((x, y), (x + 30, y)), model), Shape("spot", ((x + 15, y),), model)]
        shapes.append(Shape("name", ((x + 38, y + 4),), text=short(entries[model].label)))
    return Figure(columns * wide + LEGEND, max(20 + -(-len(charts) // columns) * high, 60 + 18 * len(shown)), shapes)


def _matrices(matrices: Sequence[Matrix]) -> Figure:
    """Return for each model the accuracy on each first stage before each second less that on the other order."""
    cell, stages = (44, 20), max((matrix.columns for matrix in matrices), key=len)
    beside = 12 + 7 * max(map(len, stages))
    wide, high = beside + cell[0] * len(stages) + 30, beside + cell[1] * len(stages) + HEAD
    shapes = [
        Shape(
            "title",
            ((4, 14),),
            text="accuracy where the stage on the left comes first, less that of the other order, points",
        )
    ]
    for place, matrix in enumerate(matrices):
        x, y = place % 2 * wide + beside, place // 2 * high + beside + HEAD
        shapes.append(Shape("title", ((x - beside + 4, y - beside - 2),), text=short(matrix.label)))
        for number, stage in enumerate(matrix.columns):
            shapes.append(Shape("name", ((x - beside + 4, y + number * cell[1] + 14),), text=stage))
            shapes.append(Shape("turned", ((x + (number + 0.5) * cell[0] + 4, y - 4),), text=stage))
        for down, row in enumerate(matrix.rows):
            for across, (text, shade) in enumerate(row):
                left, top = x + across * cell[0], y + down * cell[1]
                right, bottom = left + cell[0] - 1, top + cell[1] - 1
                shapes.append(Shape(shade or "cell", ((left, top), (right, top), (right, bottom), (left, bottom))))
                shapes += [Shape("cell-text", ((left + cell[0] / 2, top + 14),), text=text)] if text else []
    return Figure(min(2, len(matrices)) * wide, -(-len(matrices) // 2) * high + HEAD, shapes)
