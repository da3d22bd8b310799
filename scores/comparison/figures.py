"""Draw charts, bar charts and matrices of models' scores, for results pages and for SVG files."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

import numpy as np

from ...manifests.disk.atomic import write_atomic
from ...pages.charts import Chart, Line, Point, line_chart, quadrant_chart
from ...pages.svg import Figure, Shape, rectangle, svg_file
from ..published import EXTRA, FIFTEEN, SEVERITIES
from ..records import Interval, Profile, Scores
from ..tables import Column, Kind
from .entries import CV, MEAN_ACCURACY, Entry, ReferencePoint, point_of
from .statistics import quadrant

MEANS = MEAN, MEAN_OF_FIFTEEN = "mean", "mean of the fifteen"
"""The names of the mean over degradations and of the mean over corruptions. Charts of means come last."""
RATES = {
    "loose_shift": "shift, any neighbour differs (loose)",
    "strict_shift": "shift, all neighbours differ (strict)",
    "loose_shrink": "shrink, any differs (loose)",
    "strict_shrink": "shrink, all differ (strict)",
    "label_change_shift": "shift, another label",
}
EFFECT_SHADES = 3
"""The number of shades for positive order effects, and also the number of shades for negative ones."""
ERROR_SHADES = 6
"""The number of shades for errors from 0 to 100 percent."""
MAX_NAME_LENGTH = 32
"""The maximum length of a model's name in a plot, in characters."""
CHARTS_PER_ROW = 4
HEAD, GAP, LEGEND_WIDTH = 36, 12, 250
"""The height of the titles above charts, the gap between charts, and the width of the legend, in pixels."""
ORDERS_TITLE = "accuracy if the stage on the left comes first, minus that of the other order, in points"


class Curves(NamedTuple):
    """Values at each severity or level of several corruptions, to be shown as charts and as a table."""

    table: str
    """The name of the table."""
    title: str
    y_name: str
    subject: str
    """The subject of each chart: a corruption or a degradation."""
    x_name: str
    values: Callable[[Scores], Mapping[tuple[str, int], float]]
    """A function that takes the scores of a model and returns values by (name of the curve, position on the x axis)."""

    @property
    def kind(self) -> Kind:
        """The kind of the values: fractions, which are shown as percentages, or other numbers."""
        return "percent" if self.y_name.endswith("%") else "number"


def _errors(scores: Scores) -> dict[tuple[str, int], float]:
    """Return the error at each severity of each corruption. Severity 0 stands for the clean images.

    A corruption is included if the model has scores at all of its severities. The mean is included if the model has
    scores for all fifteen corruptions.
    """
    # The AUDE scores include all other curves over five severities, such as the curves of chains.
    names = (*FIFTEEN, *EXTRA, *scores.group("aude"))
    sets_of = {c: [scores.sets.get(f"{c}/{s}") for s in SEVERITIES] for c in names}
    errors = {c: [1 - score.accuracy for score in sets if score] for c, sets in sets_of.items() if None not in sets}
    if errors.keys() >= set(FIFTEEN):
        errors[MEAN_OF_FIFTEEN] = np.mean([errors[c] for c in FIFTEEN], axis=0).tolist()
    clean = {} if (accuracy := scores.get("clean_accuracy")) is None else {0: 1 - accuracy}
    return {
        (c, s): e for c, curve in errors.items() for s, e in (clean | dict(zip(SEVERITIES, curve, strict=True))).items()
    }


def profiles_of(scores: Scores) -> dict[str, Profile]:
    """Return the degradation profiles of a model, followed by their mean."""
    return scores.profiles | ({} if scores.mean_profile is None else {MEAN: scores.mean_profile})


def _profiles(measure: str) -> Callable[[Scores], dict[tuple[str, int], float]]:
    """Return a function that takes the scores of a model and returns a measure at each level of each degradation."""
    return lambda scores: {
        (name, level): value
        for name, profile in profiles_of(scores).items()
        for level, value in zip(profile.levels, getattr(profile, measure) or [None] * len(profile.levels), strict=True)
        if value is not None
    }


ERRORS = Curves("severity", "Error by corruption and severity", "error, %", "corruption", "severity", _errors)
PROFILES = {
    measure: Curves(f"profile_{measure}", f"Profiles: {words}", y_name, "degradation", "level", _profiles(measure))
    for measure, words, y_name in (
        ("accuracy", "accuracy", "accuracy, %"),
        ("rank", "classes above the true one", "classes above the true one"),
        ("probability", "probability of the true class", "probability of the true class, %"),
    )
}


def charts(entries: Sequence[Entry], reference: ReferencePoint | None) -> dict[str, list[Chart]]:
    """Return a mapping from plot names to the charts for which the models have scores."""
    all_charts = {"accuracy_and_cv": quadrant_charts(entries, reference)}
    all_charts |= {f"degradation_{measure}": curve_charts(entries, curves) for measure, curves in PROFILES.items()}
    all_charts |= {"error_and_severity": curve_charts(entries, ERRORS), "fragile": fragile_charts(entries)}
    return {name: group for name, group in all_charts.items() if group}


def curve_charts(entries: Sequence[Entry], curves: Curves) -> list[Chart]:
    """Return a chart for each corruption or degradation, followed by their mean."""
    factor, lines = 100 if curves.kind == "percent" else 1, dict[str, list[Line]]()
    for number, entry in enumerate(entries):
        points: dict[str, list[Point]] = {}
        for (name, x), value in curves.values(entry.scores).items():
            points.setdefault(name, []).append(Point(x, factor * value))
        for name, of_curve in points.items():
            lines.setdefault(name, []).append(Line(number, entry.label, of_curve))
    all_lines = [line for group in lines.values() for line in group]
    y_range = (0.0, 100.0) if curves.kind == "percent" else _from_zero(all_lines)
    names = sorted(lines, key=MEANS.__contains__)
    return [line_chart(name, curves.x_name, curves.y_name, lines[name], y_range) for name in names]


def fragile_charts(entries: Sequence[Entry]) -> list[Chart]:
    """Return a chart of fragile rates against the size of the regions for each kind of change."""
    rates_of = [entry.scores.group("fragile") for entry in entries]
    groups = list(dict.fromkeys(name.partition(".")[0] for rates in rates_of for name in rates))
    texts = {float(n): f"{group[1:]} %" if group.startswith("p") else group[1:] for n, group in enumerate(groups)}
    charts = []
    for kind, title in RATES.items():
        lines = []
        for number, (entry, scores, offset) in enumerate(zip(entries, rates_of, offsets(len(entries)), strict=True)):
            rates = {n: rate for n, g in enumerate(groups) if (rate := scores.get(f"{g}.{kind}")) is not None}
            points = [
                Point(n + offset, 100 * rate.value, percent(rate.interval))
                for n, rate in rates.items()
                if rate.value is not None
            ]
            lines += [Line(number, entry.label, points)] if points else []
        if lines:
            charts.append(line_chart(title, "side of the regions", "fragile, %", lines, _from_zero(lines), texts))
    return charts


def quadrant_charts(entries: Sequence[Entry], reference: ReferencePoint | None) -> list[Chart]:
    """Return the chart of mean accuracy against its variation over sets, or no chart without a reference point."""
    if reference is None:
        return []
    lines, quadrants = [], []
    for number, entry in enumerate(entries):
        if (point := point_of(entry.scores)) is not None:
            cv, mean = point
            ends = percent(entry.scores.interval(MEAN_ACCURACY)), entry.scores.interval(CV)
            lines.append(Line(number, entry.label, [Point(cv, 100 * mean, *ends)]))
            quadrants.append(quadrant(cv, mean, reference[:2]))
    title, x_name = "Accuracy and its variation", "coefficient of variation over the sets, %"
    middle = reference.cv_percent, 100 * reference.accuracy
    return [quadrant_chart(title, x_name, "mean accuracy over the sets, %", lines, middle, quadrants)]


def maude_bars(entries: Sequence[Entry]) -> Figure | None:
    """Return a bar chart of mAUDE with confidence intervals and the clean error, sorted by increasing mAUDE."""
    known = {n: area for n, e in enumerate(entries) if (area := e.scores.get("maude")) is not None}
    areas = sorted((100 * area, n, entries[n]) for n, area in known.items())
    if not areas:
        return None
    ends = {n: percent(e.scores.interval("maude")) or () for _, n, e in areas}
    clean = {n: () if (c := e.scores.get("clean_accuracy")) is None else (100 * (1 - c),) for _, n, e in areas}
    left = 12 + 7 * max(len(shorten_name(e.label)) for _, _, e in areas)
    factor = 300 / (max(max(area, *clean[n], *ends[n]) for area, n, _ in areas) or 1)
    title = "mean area under the distortion error curves, % (vertical line: clean error)"
    shapes = [Shape("title", ((4, 14),), text=title)]
    for place, (area, n, entry) in enumerate(areas):
        y, marks = 28 + 26 * place, [left + factor * value for value in ends[n]]
        shapes.append(Shape("name", ((4, y + 13),), text=shorten_name(entry.label)))
        shapes.append(rectangle("bar", left, y, left + factor * area, y + 18, n))
        for kind in ("halo", "ink"):
            shapes += [Shape(kind, [(mark, y + 9) for mark in marks])] if marks else []
            shapes += [Shape(kind, [(left + factor * error, at) for at in (y, y + 18)]) for error in clean[n]]
        shapes.append(Shape("name", ((max(left + factor * area, *marks, 0) + 6, y + 13),), text=f"{area:.1f}"))
    return Figure(max(left + 350, 460), 40 + 26 * len(areas), shapes)


class Matrix(NamedTuple):
    """A matrix of numbers on coloured cells: the order effects of one model, or the errors of all models."""

    label: str
    names: Sequence[str]
    """The names of the rows."""
    columns: Sequence[str]
    """The names of the columns."""
    rows: Sequence[Sequence[tuple[str, str]]]
    """The text and the shade of each cell."""
    corner: str
    """The heading of the column with the names of the rows."""


def heat_map(entries: Sequence[Entry]) -> list[Matrix]:
    """Return the mean error of each model over the severities or levels of each corruption."""
    means: dict[str, dict[int, float]] = {}
    for curves in (ERRORS, PROFILES["accuracy"]):
        for chart in curve_charts(entries, curves):
            # Position 0 stands for the clean images.
            corrupted = {line.model: [p.y for p in line.points if p.x > 0] for line in chart.lines}
            if by_model := {model: fmean(values) for model, values in corrupted.items() if values}:
                is_error = curves is ERRORS
                means[chart.title] = {m: mean if is_error else 100 - mean for m, mean in by_model.items()}
    rows = [[_heat(by_model.get(n)) for by_model in means.values()] for n in range(len(entries))]
    return [Matrix("Mean error, %", [entry.label for entry in entries], list(means), rows, "model")] if means else []


def _heat(error: float | None) -> tuple[str, str]:
    if error is None:
        return "", ""
    return f"{error:.0f}", f"heat-{min(int(error / 100 * ERROR_SHADES), ERROR_SHADES - 1)}"


def order_matrices(entries: Sequence[Entry]) -> list[Matrix]:
    """Return a matrix of order effects for each model. Rows are the first stage, and columns are the second."""
    effects: dict[str, dict[tuple[str, str], float]] = {}
    for entry in entries:
        for effect in entry.scores.order_effects:
            if effect.first.count("+") == 1:
                a, b = effect.first.split("+")
                effects.setdefault(entry.label, {}).update({(a, b): effect.difference, (b, a): -effect.difference})
    largest = max((value for by_pair in effects.values() for value in by_pair.values()), default=0.0)
    matrices = []
    for label, by_pair in effects.items():
        stages = sorted({stage for stage, _ in by_pair})
        rows = [[_shade(by_pair.get((first, second)), largest) for second in stages] for first in stages]
        matrices.append(Matrix(label, stages, stages, rows, "first"))
    return matrices


def _shade(difference: float | None, largest: float) -> tuple[str, str]:
    """Return the text of an order effect and its shade. Shades range from ``up-3`` to ``down-3``."""
    if difference is None:
        return "", ""
    step = round(EFFECT_SHADES * abs(difference) / largest) if largest else 0
    return Column("", "points").shown(difference), f"{'up' if difference > 0 else 'down'}-{step}" if step else ""


def write_plots(entries: Sequence[Entry], reference: ReferencePoint | None, folder: Path) -> list[Path]:
    """Write the plots for which the models have scores to SVG files, and return the paths of these files."""
    files = []
    for name, figure in figures(entries, reference).items():
        files.append(folder / f"{name}.svg")
        write_atomic(files[-1], svg_file(figure))
    return files


def figures(entries: Sequence[Entry], reference: ReferencePoint | None) -> dict[str, Figure]:
    """Return a mapping from file names without extensions to figures."""
    by_name = {}
    for name, group in charts(entries, reference).items():
        # The charts of chains are shown only on the results page.
        shown = [c for c in group if c.x_name != "severity" or c.title in (*FIFTEEN, *EXTRA, MEAN_OF_FIFTEEN)]
        if shown:
            by_name[name] = _side_by_side(entries, reference, shown)
    if (bars := maude_bars(entries)) is not None:
        by_name["maude"] = bars
    if matrices := order_matrices(entries):
        by_name["order_effects"] = _matrices(matrices)
    return by_name


def _side_by_side(entries: Sequence[Entry], reference: ReferencePoint | None, charts: Sequence[Chart]) -> Figure:
    """Return a figure of charts with their titles. A legend with the names of the models is to their right."""
    columns = min(CHARTS_PER_ROW, len(charts))
    wide, high = charts[0].box.width + GAP, charts[0].box.height + HEAD
    crossing = ""
    if charts[0].middle is not None and reference is not None:
        crossing = f"; the lines cross at the reference point: {shorten_name(reference.words)}"
    shapes = [Shape("title", ((4, 14),), text=f"{charts[0].y_name}{crossing}")]
    for place, chart in enumerate(charts):
        x, y = place % columns * wide, place // columns * high + 20
        shapes.append(Shape("title", ((x + chart.box.left, y + 14),), text=chart.title))
        shapes += [s._replace(points=[(a + x, b + y + 16) for a, b in s.points]) for s in chart.shapes()]
    shown = sorted({line.model for chart in charts for line in chart.lines})
    for place, model in enumerate(shown):
        x, y = columns * wide + 8, 44 + 18 * place
        shapes += [Shape("line", ((x, y), (x + 30, y)), model), Shape("spot", ((x + 15, y),), model)]
        shapes.append(Shape("name", ((x + 38, y + 4),), text=shorten_name(entries[model].label)))
    height = max(20 + -(-len(charts) // columns) * high, 60 + 18 * len(shown))
    return Figure(columns * wide + LEGEND_WIDTH, height, shapes)


def _matrices(matrices: Sequence[Matrix]) -> Figure:
    """Return a figure of the order effects of all models, with two matrices per row."""
    cell, stages = (44, 20), max((matrix.columns for matrix in matrices), key=len)
    margin = 12 + 7 * max(map(len, stages))
    wide, high = margin + cell[0] * len(stages) + 30, margin + cell[1] * len(stages) + HEAD
    shapes = [Shape("title", ((4, 14),), text=ORDERS_TITLE)]
    for place, matrix in enumerate(matrices):
        x, y = place % 2 * wide + margin, place // 2 * high + margin + HEAD
        shapes.append(Shape("title", ((x - margin + 4, y - margin - 2),), text=shorten_name(matrix.label)))
        for number, stage in enumerate(matrix.columns):
            shapes.append(Shape("name", ((x - margin + 4, y + number * cell[1] + 14),), text=stage))
            shapes.append(Shape("turned", ((x + (number + 0.5) * cell[0] + 4, y - 4),), text=stage))
        for down, row in enumerate(matrix.rows):
            for across, (text, shade) in enumerate(row):
                left, top = x + across * cell[0], y + down * cell[1]
                shapes.append(rectangle(shade or "cell", left, top, left + cell[0] - 1, top + cell[1] - 1))
                shapes += [Shape("cell-text", ((left + cell[0] / 2, top + 14),), text=text)] if text else []
    return Figure(min(2, len(matrices)) * wide, -(-len(matrices) // 2) * high + HEAD, shapes)


def shorten_name(name: str) -> str:
    """Return the name of a model for a plot. A name that is too long is shortened in the middle.

    Examples
    --------
    >>> shorten_name("resnet50"), len(shorten_name("x" * 100))
    ('resnet50', 32)
    """
    name = " ".join(name.split())
    half = (MAX_NAME_LENGTH - 3) // 2
    return name if len(name) <= MAX_NAME_LENGTH else f"{name[: MAX_NAME_LENGTH - 3 - half]}...{name[-half:]}"


def _from_zero(lines: Sequence[Line]) -> tuple[float, float]:
    """Return the range of a y axis that begins at 0."""
    values = [end for line in lines for p in line.points for end in (p.y, *(p.ends or ()))]
    return 0.0, max(values, default=0.0) or 1.0  # The range must not be empty.


def offsets(models: int) -> list[float]:
    """Return the horizontal offset of each model's points, so that points with the same x value do not overlap.

    Examples
    --------
    >>> offsets(3)
    [-0.08, 0.0, 0.08]
    """
    return [0.08 * (n - (models - 1) / 2) * min(1, 8 / models) for n in range(models)]


def percent(ends: Interval) -> Interval:
    """Convert an interval of fractions to percent."""
    return None if ends is None else (100 * ends[0], 100 * ends[1])
