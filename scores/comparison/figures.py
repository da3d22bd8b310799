"""Scores of models as charts, bars and matrices, in per cent; and as files."""

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
"""What stands behind all degradations, and behind all corruptions."""
RATES = {
    "loose_shift": "shift, any neighbour differs (loose)",
    "strict_shift": "shift, all neighbours differ (strict)",
    "loose_shrink": "shrink, any differs (loose)",
    "strict_shrink": "shrink, all differ (strict)",
    "label_change_shift": "shift, another label",
}
STEPS = 3
"""Shades of an order effect to either side of none."""
HEATS = 6
"""Shades of an error from 0 to 100 per cent."""
LONGEST = 32
"""Letters of a model's name in a plot."""
ACROSS = 4
"""Charts side by side."""
HEAD, GAP, LEGEND = 36, 12, 250
"""Pixels of what stands above charts, between charts, and of the names of models."""
ORDERS = "accuracy where the stage on the left comes first, less that of the other order, points"


class Course(NamedTuple):
    """Values at each severity or level of several corruptions: charts, and a table of them."""

    table: str
    title: str
    y_name: str
    of: str
    """What there is a chart of: a corruption, or a degradation."""
    x_name: str
    values: Callable[[Scores], Mapping[tuple[str, int], float]]

    @property
    def kind(self) -> Kind:
        """Whether values are fractions."""
        return "percent" if self.y_name.endswith("%") else "number"


def _errors(scores: Scores) -> dict[tuple[str, int], float]:
    """Return the error at each severity; 0 is the clean images.

    A corruption is there where a model has all its severities; the mean where it has all fifteen.
    """
    # AUDE knows whatever else has severities, such as chains of one strength
    names = (*FIFTEEN, *EXTRA, *scores.group("aude"))
    curves = {c: [scores.sets.get(f"{c}/{s}") for s in SEVERITIES] for c in names}
    errors = {c: [1 - one.accuracy for one in sets if one] for c, sets in curves.items() if None not in sets}
    if errors.keys() >= set(FIFTEEN):
        errors[MEAN_OF_FIFTEEN] = np.mean([errors[c] for c in FIFTEEN], axis=0).tolist()
    clean = {} if (accuracy := scores.get("clean_accuracy")) is None else {0: 1 - accuracy}
    return {
        (c, s): e for c, own in errors.items() for s, e in (clean | dict(zip(SEVERITIES, own, strict=True))).items()
    }


def profiles_of(scores: Scores) -> dict[str, Profile]:
    """Return the degradation profiles of a model, their mean last."""
    return scores.profiles | ({} if scores.mean_profile is None else {MEAN: scores.mean_profile})


def _profiles(measure: str) -> Callable[[Scores], dict[tuple[str, int], float]]:
    """Return what gets a measure at each level of each degradation."""
    return lambda scores: {
        (name, level): value
        for name, profile in profiles_of(scores).items()
        for level, value in zip(profile.levels, getattr(profile, measure) or [None] * len(profile.levels), strict=True)
        if value is not None
    }


ERRORS = Course("severity", "Error by corruption and severity", "error, %", "corruption", "severity", _errors)
PROFILES = {
    measure: Course(f"profile_{measure}", f"Profiles: {words}", y_name, "degradation", "level", _profiles(measure))
    for measure, words, y_name in (
        ("accuracy", "accuracy", "accuracy, %"),
        ("rank", "classes above the true one", "classes above the true one"),
        ("probability", "probability of the true class", "probability of the true class, %"),
    )
}


def charts(entries: Sequence[Entry], reference: ReferencePoint | None) -> dict[str, list[Chart]]:
    """Return the charts that models have scores for, by the names of their plots."""
    found = {"accuracy_and_cv": quadrant_charts(entries, reference)}
    found |= {f"degradation_{measure}": course_charts(entries, course) for measure, course in PROFILES.items()}
    found |= {"error_and_severity": course_charts(entries, ERRORS), "fragile": fragile_charts(entries)}
    return {name: own for name, own in found.items() if own}


def course_charts(entries: Sequence[Entry], course: Course) -> list[Chart]:
    """Return a chart of each corruption or degradation, their mean last."""
    factor, found = 100 if course.kind == "percent" else 1, dict[str, list[Line]]()
    for number, entry in enumerate(entries):
        points: dict[str, list[Point]] = {}
        for (name, x), value in course.values(entry.scores).items():
            points.setdefault(name, []).append(Point(x, factor * value))
        for name, own in points.items():
            found.setdefault(name, []).append(Line(number, entry.label, own))
    ends = (0.0, 100.0) if course.kind == "percent" else _from_zero([line for own in found.values() for line in own])
    names = sorted(found, key=MEANS.__contains__)
    return [line_chart(name, course.x_name, course.y_name, found[name], ends) for name in names]


def fragile_charts(entries: Sequence[Entry]) -> list[Chart]:
    """Return fragile rates against the size of regions, a chart a kind of change."""
    rates_of = [entry.scores.group("fragile") for entry in entries]
    groups = list(dict.fromkeys(name.partition(".")[0] for own in rates_of for name in own))
    texts = {float(n): f"{group[1:]} %" if group.startswith("p") else group[1:] for n, group in enumerate(groups)}
    made = []
    for kind, title in RATES.items():
        lines = []
        for number, (entry, own, beside) in enumerate(zip(entries, rates_of, apart(len(entries)), strict=True)):
            rates = {n: rate for n, g in enumerate(groups) if (rate := own.get(f"{g}.{kind}")) is not None}
            points = [
                Point(n + beside, 100 * rate.value, percent(rate.interval))
                for n, rate in rates.items()
                if rate.value is not None
            ]
            lines += [Line(number, entry.label, points)] if points else []
        if lines:
            made.append(line_chart(title, "side of the regions", "fragile, %", lines, _from_zero(lines), texts))
    return made


def quadrant_charts(entries: Sequence[Entry], reference: ReferencePoint | None) -> list[Chart]:
    """Return mean accuracy against its variation over sets, where models have both."""
    if reference is None:
        return []
    lines, where = [], []
    for number, entry in enumerate(entries):
        if (point := point_of(entry.scores)) is not None:
            cv, mean = point
            ends = percent(entry.scores.interval(MEAN_ACCURACY)), entry.scores.interval(CV)
            lines.append(Line(number, entry.label, [Point(cv, 100 * mean, *ends)]))
            where.append(quadrant(cv, mean, reference[:2]))
    title, x_name = "Accuracy and its variation", "coefficient of variation over the sets, %"
    middle = reference.cv_percent, 100 * reference.accuracy
    return [quadrant_chart(title, x_name, "mean accuracy over the sets, %", lines, middle, where)]


def maude_bars(entries: Sequence[Entry]) -> Figure | None:
    """Return mAUDE as bars, the lowest on top, with intervals and the clean error."""
    known = {n: area for n, e in enumerate(entries) if (area := e.scores.get("maude")) is not None}
    areas = sorted((100 * area, n, entries[n]) for n, area in known.items())
    if not areas:
        return None
    ends = {n: percent(e.scores.interval("maude")) or () for _, n, e in areas}
    clean = {n: () if (c := e.scores.get("clean_accuracy")) is None else (100 * (1 - c),) for _, n, e in areas}
    left = 12 + 7 * max(len(short(e.label)) for _, _, e in areas)
    factor = 300 / (max(max(area, *clean[n], *ends[n]) for area, n, _ in areas) or 1)
    title = "mean area under the distortion error curves, % (upright line: clean error)"
    shapes = [Shape("title", ((4, 14),), text=title)]
    for place, (area, n, entry) in enumerate(areas):
        y, marks = 28 + 26 * place, [left + factor * value for value in ends[n]]
        shapes.append(Shape("name", ((4, y + 13),), text=short(entry.label)))
        shapes.append(rectangle("bar", left, y, left + factor * area, y + 18, n))
        for kind in ("halo", "ink"):
            shapes += [Shape(kind, [(mark, y + 9) for mark in marks])] if marks else []
            shapes += [Shape(kind, [(left + factor * error, at) for at in (y, y + 18)]) for error in clean[n]]
        shapes.append(Shape("name", ((max(left + factor * area, *marks, 0) + 6, y + 13),), text=f"{area:.1f}"))
    return Figure(max(left + 350, 460), 40 + 26 * len(areas), shapes)


class Matrix(NamedTuple):
    """Numbers on colours: the order effects of one model, or the errors of all."""

    label: str
    names: Sequence[str]
    """What its rows are called."""
    columns: Sequence[str]
    rows: Sequence[Sequence[tuple[str, str]]]
    """Text and shade of each cell."""
    corner: str
    """What its rows are."""


def heat_map(entries: Sequence[Entry]) -> list[Matrix]:
    """Return each model's mean error over the severities or levels of a corruption."""
    means: dict[str, dict[int, float]] = {}
    for course in (ERRORS, PROFILES["accuracy"]):
        for chart in course_charts(entries, course):
            # place 0 is the clean images
            beyond = {line.model: [p.y for p in line.points if p.x > 0] for line in chart.lines}
            if own := {model: fmean(values) for model, values in beyond.items() if values}:
                means[chart.title] = own if course is ERRORS else {model: 100 - mean for model, mean in own.items()}
    rows = [[_heat(own.get(n)) for own in means.values()] for n in range(len(entries))]
    return [Matrix("Mean error, %", [entry.label for entry in entries], list(means), rows, "model")] if means else []


def _heat(error: float | None) -> tuple[str, str]:
    return ("", "") if error is None else (f"{error:.0f}", f"heat-{min(int(error / 100 * HEATS), HEATS - 1)}")


def order_matrices(entries: Sequence[Entry]) -> list[Matrix]:
    """Return each model's order effects: the first stage is down, the second across."""
    found: dict[str, dict[tuple[str, str], float]] = {}
    for entry in entries:
        for effect in entry.scores.order_effects:
            if effect.first.count("+") == 1:
                a, b = effect.first.split("+")
                found.setdefault(entry.label, {}).update({(a, b): effect.difference, (b, a): -effect.difference})
    most = max((value for own in found.values() for value in own.values()), default=0.0)
    matrices = []
    for label, own in found.items():
        stages = sorted({stage for stage, _ in own})
        rows = [[_shaded(own.get((down, across)), most) for across in stages] for down in stages]
        matrices.append(Matrix(label, stages, stages, rows, "first"))
    return matrices


def _shaded(difference: float | None, most: float) -> tuple[str, str]:
    """Return the text of an effect, and its shade: ``up-3`` to ``down-3``."""
    if difference is None:
        return "", ""
    step = round(STEPS * abs(difference) / most) if most else 0
    return Column("", "points").shown(difference), f"{'up' if difference > 0 else 'down'}-{step}" if step else ""


def write_plots(entries: Sequence[Entry], reference: ReferencePoint | None, folder: Path) -> list[Path]:
    """Write every plot that models have scores for as SVG, and return the files."""
    files = []
    for name, figure in figures(entries, reference).items():
        files.append(folder / f"{name}.svg")
        write_atomic(files[-1], svg_file(figure))
    return files


def figures(entries: Sequence[Entry], reference: ReferencePoint | None) -> dict[str, Figure]:
    """Return the figures by the names of their files."""
    found = {}
    for name, own in charts(entries, reference).items():
        # a chain has its chart on the page alone
        shown = [c for c in own if c.x_name != "severity" or c.title in (*FIFTEEN, *EXTRA, MEAN_OF_FIFTEEN)]
        if shown:
            found[name] = _side_by_side(entries, reference, shown)
    if (bars := maude_bars(entries)) is not None:
        found["maude"] = bars
    if matrices := order_matrices(entries):
        found["order_effects"] = _matrices(matrices)
    return found


def _side_by_side(entries: Sequence[Entry], reference: ReferencePoint | None, charts: Sequence[Chart]) -> Figure:
    """Return charts with their titles, and right of them the names of their models."""
    columns = min(ACROSS, len(charts))
    wide, high = charts[0].box.width + GAP, charts[0].box.height + HEAD
    crossing = ""
    if charts[0].middle is not None and reference is not None:
        crossing = f"; the lines cross at the reference point: {short(reference.words)}"
    shapes = [Shape("title", ((4, 14),), text=f"{charts[0].y_name}{crossing}")]
    for place, chart in enumerate(charts):
        x, y = place % columns * wide, place // columns * high + 20
        shapes.append(Shape("title", ((x + chart.box.left, y + 14),), text=chart.title))
        shapes += [s._replace(points=[(a + x, b + y + 16) for a, b in s.points]) for s in chart.shapes()]
    shown = sorted({line.model for chart in charts for line in chart.lines})
    for place, model in enumerate(shown):
        x, y = columns * wide + 8, 44 + 18 * place
        shapes += [Shape("line", ((x, y), (x + 30, y)), model), Shape("spot", ((x + 15, y),), model)]
        shapes.append(Shape("name", ((x + 38, y + 4),), text=short(entries[model].label)))
    return Figure(columns * wide + LEGEND, max(20 + -(-len(charts) // columns) * high, 60 + 18 * len(shown)), shapes)


def _matrices(matrices: Sequence[Matrix]) -> Figure:
    """Return the order effects of all models, two matrices side by side."""
    cell, stages = (44, 20), max((matrix.columns for matrix in matrices), key=len)
    beside = 12 + 7 * max(map(len, stages))
    wide, high = beside + cell[0] * len(stages) + 30, beside + cell[1] * len(stages) + HEAD
    shapes = [Shape("title", ((4, 14),), text=ORDERS)]
    for place, matrix in enumerate(matrices):
        x, y = place % 2 * wide + beside, place // 2 * high + beside + HEAD
        shapes.append(Shape("title", ((x - beside + 4, y - beside - 2),), text=short(matrix.label)))
        for number, stage in enumerate(matrix.columns):
            shapes.append(Shape("name", ((x - beside + 4, y + number * cell[1] + 14),), text=stage))
            shapes.append(Shape("turned", ((x + (number + 0.5) * cell[0] + 4, y - 4),), text=stage))
        for down, row in enumerate(matrix.rows):
            for across, (text, shade) in enumerate(row):
                left, top = x + across * cell[0], y + down * cell[1]
                shapes.append(rectangle(shade or "cell", left, top, left + cell[0] - 1, top + cell[1] - 1))
                shapes += [Shape("cell-text", ((left + cell[0] / 2, top + 14),), text=text)] if text else []
    return Figure(min(2, len(matrices)) * wide, -(-len(matrices) // 2) * high + HEAD, shapes)


def short(name: str) -> str:
    """Return a model's name for a plot, without the middle of a long one.

    Examples
    --------
    >>> short("resnet50"), len(short("x" * 100))
    ('resnet50', 32)
    """
    name = " ".join(name.split())
    half = (LONGEST - 3) // 2
    return name if len(name) <= LONGEST else f"{name[: LONGEST - 3 - half]}...{name[-half:]}"


def _from_zero(lines: Sequence[Line]) -> tuple[float, float]:
    values = [end for line in lines for p in line.points for end in (p.y, *(p.ends or ()))]
    # an axis has a length
    return 0.0, max(values, default=0.0) or 1.0


def apart(models: int) -> list[float]:
    """Return how far models' points stand beside a whole number of an axis.

    Examples
    --------
    >>> apart(3)
    [-0.08, 0.0, 0.08]
    """
    return [0.08 * (n - (models - 1) / 2) * min(1, 8 / models) for n in range(models)]


def percent(ends: Interval) -> Interval:
    """Return an interval of fractions in per cent."""
    return None if ends is None else (100 * ends[0], 100 * ends[1])
