"""What models have scores for, as charts, bars and matrices; shares are in per cent."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean
from typing import NamedTuple

import numpy as np

from ...pages.charts import Chart, Line, Point, Shape, line_chart, quadrant_chart
from ...pages.drawing import Figure
from ..published import EXTRA, FIFTEEN, SEVERITIES
from ..records import Interval, Profile
from ..tables import Column
from .correlations import quadrant
from .entries import Entry, reference_of

MEAN = "mean"
"""Of all degradations."""
MEAN_OF_FIFTEEN = "mean of the fifteen"
MEASURES = {
    "accuracy": "accuracy, %",
    "rank": "classes above the true one",
    "probability": "probability of the true class, %",
}
"""Of profiles."""
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
PER_CENT = (0.0, 100.0)
LEGEND, LONGEST = 250, 32
"""Pixels of the names of models in a plot, and their letters."""


class Matrix(NamedTuple):
    """Numbers on colours: the order effects of one model, or the errors of all."""

    label: str
    names: Sequence[str]
    """Of its rows."""
    columns: Sequence[str]
    rows: Sequence[Sequence[tuple[str, str]]]
    """Text and shade of each cell."""
    corner: str
    """What its rows are."""


def severity_charts(entries: Sequence[Entry]) -> list[Chart]:
    """Return the error against the severity, a chart a corruption; severity 0 is the clean images.

    A corruption has a line where a model has all its severities; the mean is of models that have all fifteen.
    """
    found: dict[str, list[Line]] = {}
    for number, entry in enumerate(entries):
        # AUDE knows whatever else has severities, such as chains of one strength
        curves = {
            c: [entry.scores.sets.get(f"{c}/{s}") for s in SEVERITIES] for c in (*FIFTEEN, *EXTRA, *entry.scores.aude)
        }
        errors = {
            c: [100 * (1 - one.accuracy) for one in sets if one is not None]
            for c, sets in curves.items()
            if None not in sets
        }
        if errors.keys() >= set(FIFTEEN):
            errors[MEAN_OF_FIFTEEN] = np.mean([errors[c] for c in FIFTEEN], axis=0).tolist()
        start = [] if entry.clean is None else [Point(0, 100 * (1 - entry.clean))]
        for name, values in errors.items():
            found.setdefault(name, []).append(Line(number, entry.label, [*start, *map(Point, SEVERITIES, values)]))
    order = {name: place for place, name in enumerate((*FIFTEEN, *EXTRA, None, MEAN_OF_FIFTEEN))}
    names = sorted(found, key=lambda name: order.get(name, order[None]))
    return [line_chart(name, "severity", "error, %", found[name], PER_CENT) for name in names]


def profiles_of(entry: Entry) -> dict[str, Profile]:
    """Return the degradation profiles of a model, their mean last."""
    mean = entry.scores.mean_profile
    return entry.scores.profiles | ({} if mean is None else {MEAN: mean})


def profile_names(entries: Sequence[Entry]) -> list[str]:
    """Return the degradations of all models, the mean last."""
    return sorted(dict.fromkeys(name for entry in entries for name in profiles_of(entry)), key=MEAN.__eq__)


def profile_charts(entries: Sequence[Entry], measure: str) -> list[Chart]:
    """Return a measure against the level, a chart a degradation, and one of their mean."""
    factor = 1 if measure == "rank" else 100
    found: dict[str, list[Line]] = {}
    for name in profile_names(entries):
        for number, entry in enumerate(entries):
            profile = profiles_of(entry).get(name)
            if profile is not None and (values := getattr(profile, measure)):
                points = [Point(level, factor * value) for level, value in zip(profile.levels, values, strict=True)]
                found.setdefault(name, []).append(Line(number, entry.label, points))
    ends = _from_zero([line for lines in found.values() for line in lines]) if measure == "rank" else PER_CENT
    return [line_chart(name, "level", MEASURES[measure], lines, ends) for name, lines in found.items()]


def fragile_charts(entries: Sequence[Entry]) -> list[Chart]:
    """Return fragile rates against the size of regions, a chart a kind of change; models stand beside each other."""
    groups = list(dict.fromkeys(group for entry in entries for group in entry.scores.fragile))
    texts = {
        float(place): f"{group[1:]} %" if group.startswith("p") else group[1:] for place, group in enumerate(groups)
    }
    charts = []
    for kind, title in RATES.items():
        lines = []
        for number, (entry, beside) in enumerate(zip(entries, apart(len(entries)), strict=True)):
            rates = {group: getattr(scores, kind) for group, scores in entry.scores.fragile.items()}
            points = [
                Point(groups.index(g) + beside, 100 * r.rate, percent(r.interval))
                for g, r in rates.items()
                if r is not None
            ]
            lines += [Line(number, entry.label, points)] if points else []
        if lines:
            charts.append(line_chart(title, "side of the regions", "fragile, %", lines, _from_zero(lines), texts))
    return charts


def quadrant_charts(entries: Sequence[Entry]) -> list[Chart]:
    """Return mean accuracy against its variation over sets, where models have both."""
    reference = reference_of(entries)
    if reference is None:
        return []
    lines, where = [], []
    for number, entry in enumerate(entries):
        if (t := entry.scores.two_factor) is not None and t.cv_percent is not None:
            point = Point(t.cv_percent, 100 * t.mean_accuracy, percent(t.mean_accuracy_interval), t.cv_percent_interval)
            lines.append(Line(number, entry.label, [point]))
            where.append(quadrant(t.cv_percent, t.mean_accuracy, reference[:2]))
    names = (
        "Accuracy and its variation",
        "coefficient of variation over the sets, %",
        "mean accuracy over the sets, %",
    )
    return [quadrant_chart(*names, lines, (reference[0], 100 * reference[1]), where)]


def maude_bars(entries: Sequence[Entry]) -> Figure | None:
    """Return mAUDE as bars, the lowest on top, with intervals and the clean error; None where no model has one."""
    areas = sorted((100 * e.scores.maude, n, e) for n, e in enumerate(entries) if e.scores.maude is not None)
    if not areas:
        return None
    clean = {n: 100 * (1 - e.clean) for _, n, e in areas if e.clean is not None}
    ends = {n: percent(e.scores.intervals.get("maude")) or () for _, n, e in areas}
    names = 12 + 7 * max(len(short(e.label)) for _, _, e in areas)
    factor = 300 / (max(max(area, clean.get(n, 0), *ends[n]) for area, n, _ in areas) or 1)
    title = "mean area under the distortion error curves, % (upright line: clean error)"
    shapes = [Shape("title", ((4, 14),), text=title)]
    for place, (area, n, entry) in enumerate(areas):
        x, y = names, 28 + 26 * place
        end, marks = x + factor * area, [x + factor * value for value in ends[n]]
        shapes.append(Shape("name", ((4, y + 13),), text=short(entry.label)))
        shapes.append(Shape("bar", ((x, y), (end, y), (end, y + 18), (x, y + 18)), n))
        for kind in ("halo", "ink"):
            shapes += [Shape(kind, [(mark, y + 9) for mark in marks])] if marks else []
            if n in clean:
                shapes.append(Shape(kind, ((x + factor * clean[n], y), (x + factor * clean[n], y + 18))))
        shapes.append(Shape("name", ((max(end, *marks, end) + 6, y + 13),), text=f"{area:.1f}"))
    return Figure(max(names + 350, 460), 40 + 26 * len(areas), shapes)


def short(name: str) -> str:
    """Return a name as it stands in a plot: the middle of a long one is left out.

    Examples
    --------
    >>> short("resnet50"), len(short("x" * 100))
    ('resnet50', 32)
    """
    name = " ".join(name.split())
    half = (LONGEST - 3) // 2
    return name if len(name) <= LONGEST else f"{name[: LONGEST - 3 - half]}...{name[-half:]}"


def heat_map(entries: Sequence[Entry]) -> list[Matrix]:
    """Return the mean error of each model over the severities of each corruption, or the levels of each degradation."""
    means: dict[str, dict[int, float]] = {}
    for charts, is_error in ((severity_charts(entries), True), (profile_charts(entries, "accuracy"), False)):
        for chart in charts:
            # place 0 is the clean images
            beyond = {
                line.model: [p.y if is_error else 100 - p.y for p in line.points if p.x > 0] for line in chart.lines
            }
            if own := {model: fmean(values) for model, values in beyond.items() if values}:
                means[chart.title] = own
    rows = [[_heat(own.get(n)) for own in means.values()] for n in range(len(entries))]
    return [Matrix("Mean error, %", [entry.label for entry in entries], list(means), rows, "model")] if means else []


def _heat(error: float | None) -> tuple[str, str]:
    return ("", "") if error is None else (f"{error:.0f}", f"heat-{min(int(error / 100 * HEATS), HEATS - 1)}")


def order_matrices(entries: Sequence[Entry]) -> list[Matrix]:
    """Return the order effects of each model that has some; what comes first is down, what comes second across."""
    found: dict[str, dict[tuple[str, str], float]] = {}
    for entry in entries:
        for effect in [] if entry.scores.two_factor is None else entry.scores.two_factor.order_effects:
            if effect.first.count("+") == 1:
                a, b = effect.first.split("+")
                found.setdefault(entry.label, {}).update(
                    {(a, b): 100 * effect.difference, (b, a): -100 * effect.difference}
                )
    most = max((value for own in found.values() for value in own.values()), default=0.0)
    matrices = []
    for label, own in found.items():
        stages = list(dict.fromkeys(stage for stage, _ in own))
        rows = [[_shaded(own.get((down, across)), most) for across in stages] for down in stages]
        matrices.append(Matrix(label, stages, stages, rows, "first"))
    return matrices


def _shaded(difference: float | None, most: float) -> tuple[str, str]:
    """Return the text of an effect, and its shade: ``up-3`` to ``down-3``."""
    if difference is None:
        return "", ""
    step = round(STEPS * abs(difference) / most) if most else 0
    shade = "" if step == 0 else f"{'up' if difference > 0 else 'down'}-{step}"
    return Column("", "points").shown(difference / 100), shade


def _from_zero(lines: Sequence[Line]) -> tuple[float, float]:
    values = [end for line in lines for p in line.points for end in (p.y, *(p.ends or ()))]
    # an axis has a length
    return 0.0, max(values, default=0.0) or 1.0


def apart(models: int) -> list[float]:
    """Return how far the points of models at one place of an axis of whole numbers stand beside each other.

    Examples
    --------
    >>> apart(3)
    [-0.08, 0.0, 0.08]
    """
    return [0.08 * (n - (models - 1) / 2) * min(1, 8 / models) for n in range(models)]


def percent(ends: Interval) -> Interval:
    """Return an interval of fractions in per cent."""
    return None if ends is None else (100 * ends[0], 100 * ends[1])
