"""The figures of the papers, from scores: each returns charts, none where no model has its scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..comparison.correlations import quadrant
from ..comparison.curves import profile_names, profiles_of, region_size, severity_errors, two_factor_points
from ..comparison.entries import Entry
from ..records import FragileRate
from .charts import Bar, Line, LineChart, Point, QuadrantChart, Spot, apart, look

PER_CENT = (0.0, 100.0)
RATES = {
    "loose_shift": "shift, any neighbour differs (loose)",
    "strict_shift": "shift, all neighbours differ (strict)",
    "loose_shrink": "shrink, any differs (loose)",
    "strict_shrink": "shrink, all differ (strict)",
    "label_change_shift": "shift, another label",
}


def severity_charts(entries: Sequence[Entry]) -> list[LineChart]:
    """Return the error against the severity of each corruption."""
    return [
        LineChart(
            name,
            "severity",
            "error, %",
            [Line(n, entries[n].label, [Point(s, e) for s, e in errors.items()]) for n, errors in of_model.items()],
            PER_CENT,
        )
        for name, of_model in severity_errors(entries).items()
    ]


MEASURES = {"accuracy": "accuracy, %", "rank": "classes above the true one", "probability": "probability of the true class, %"}
"""Of profiles."""


def profile_charts(entries: Sequence[Entry], measure: str) -> list[LineChart]:
    """Return a measure against the level of each degradation."""
    lines: dict[str, list[Line]] = {}
    factor = 1 if measure == "rank" else 100
    for name in profile_names(entries):
        for number, entry in enumerate(entries):
            profile = profiles_of(entry).get(name)
            values = None if profile is None else getattr(profile, measure)
            if profile is not None and values:
                points = [Point(level, factor * value) for level, value in zip(profile.levels, values, strict=True)]
                lines.setdefault(name, []).append(Line(number, entry.label, points))
    bounds = PER_CENT if factor == 100 else _from_zero(list(lines.values()))
    return [LineChart(name, "level", MEASURES[measure], own, bounds) for name, own in lines.items()]


def fragile_charts(entries: Sequence[Entry]) -> list[LineChart]:
    """Return fragile rates against the size of the regions."""
    groups = list(dict.fromkeys(group for entry in entries for group in entry.scores.fragile))
    lines: dict[str, list[Line]] = {}
    beside = apart(len(entries))
    for kind, title in RATES.items():
        for number, entry in enumerate(entries):
            rates = {group: getattr(scores, kind) for group, scores in entry.scores.fragile.items()}
            points = [_rate_point(groups.index(g) + beside[number], rate) for g, rate in rates.items() if rate is not None]
            if points:
                lines.setdefault(title, []).append(Line(number, entry.label, points))
    labels = {float(place): region_size(group) for place, group in enumerate(groups)}
    return [LineChart(title, "side of the regions", "fragile, %", own, _from_zero([own]), labels) for title, own in lines.items()]


def _rate_point(x: float, rate: FragileRate) -> Point:
    ends = (None, None) if rate.interval is None else (100 * rate.interval[0], 100 * rate.interval[1])
    return Point(x, 100 * rate.rate, *ends)


def _from_zero(charts: Sequence[Sequence[Line]]) -> tuple[float, float]:
    values = [end for lines in charts for line in lines for p in line.points for end in (p.y, p.high) if end is not None]
    # an axis has a length
    return 0.0, max(values, default=0.0) or 1.0


def quadrant_charts(entries: Sequence[Entry]) -> list[QuadrantChart]:
    """Return mean accuracy against its coefficient of variation over two-factor sets (Dai & Berleant 2021)."""
    shown, reference = two_factor_points(entries)
    if reference is None:
        return []
    spots = [
        Spot(
            n,
            e.label,
            cv,
            100 * t.mean_accuracy,
            t.cv_percent_interval,
            None if t.mean_accuracy_interval is None else (100 * t.mean_accuracy_interval[0], 100 * t.mean_accuracy_interval[1]),
            quadrant(cv, t.mean_accuracy, reference),
        )
        for n, e, t, cv in shown
    ]
    names = ("coefficient of variation over the sets, %", "mean accuracy over the sets, %")
    return [QuadrantChart("Accuracy and its variation", *names, spots, (reference[0], 100 * reference[1]))]


def maude_bars(entries: Sequence[Entry]) -> list[Bar]:
    """Return mAUDE as bars, the lowest first, with the clean error as a mark."""
    shown = [(m, n, e, e.scores.intervals.get("maude")) for n, e in enumerate(entries) if (m := e.scores.maude) is not None]
    most = max((max(value, *(ends or ()), 1 - (e.clean or 1)) for value, _, e, ends in shown), default=1.0) or 1.0
    return [
        Bar(
            e.label,
            look(n),
            _thousandths(value / most),
            None if e.clean is None else _thousandths((1 - e.clean) / most),
            None if ends is None else f"M{_thousandths(ends[0] / most)} 10H{_thousandths(ends[1] / most)}",
            [
                f"{100 * value:.2f}",
                "-" if ends is None else f"{100 * ends[0]:.2f} to {100 * ends[1]:.2f}",
                "-" if e.clean is None else f"{100 * (1 - e.clean):.2f}",
            ],
        )
        for value, n, e, ends in sorted(shown, key=lambda one: (one[0], one[1]))
    ]


def _thousandths(share: float) -> str:
    return f"{1000 * min(max(share, 0.0), 1.0):.1f}"


def order_matrix(effects: Mapping[tuple[str, str], float]) -> tuple[list[str], list[list[float | None]]]:
    """Return the stages, and the accuracy of each (down) before each (across) less that of the other order.

    Examples
    --------
    >>> order_matrix({("a+b", "b+a"): 0.02})
    (['a', 'b'], [[None, 0.02], [-0.02, None]])
    """
    stages = list(dict.fromkeys(stage for first, _ in effects for stage in first.split("+")))
    rows: list[list[float | None]] = [[None] * len(stages) for _ in stages]
    for (first, _), difference in effects.items():
        down, across = (stages.index(stage) for stage in first.split("+"))
        rows[down][across], rows[across][down] = difference, -difference
    return stages, rows
