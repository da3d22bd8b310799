"""The sections of the page: which charts and tables stand together, and what is said of them."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any, NamedTuple

from ...pages.document import text_file
from ..comparison.curves import (
    MEASURES,
    RATES,
    Lines,
    Point,
    fragile_lines,
    maude_areas,
    profile_lines,
    severity_errors,
    stage_orders,
    two_factor_spots,
)
from ..comparison.differences import Difference
from ..comparison.entries import Entry
from ..comparison.layouts import by_model, tables
from ..comparison.tables import Column, Kind, Table, texts
from .charts import Bars, Chart, Line, line_chart, quadrant_chart
from .page_tables import PageTable, page_table

STEPS = 3
"""Shades of an order effect to either side of none."""
HEATS = 6
"""Shades of an error from 0 to 100 per cent."""
MOST_STAGES = 24
"""Of a matrix of orders; more are in the table alone."""
PER_CENT = (0.0, 100.0)


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


class ChartGroup(NamedTuple):
    """Charts with one heading."""

    heading: str
    charts: Sequence[Chart]


@dataclass(frozen=True)
class Section:
    """A part of the page: paragraphs, charts, and tables with every number of the charts."""

    id: str
    """Its anchor."""
    heading: str
    about: str
    tables: Sequence[PageTable]
    groups: Sequence[ChartGroup]
    bars: Bars | None = None
    quadrants: Sequence[Chart] = ()
    matrices: Sequence[Matrix] = ()


def sections(entries: Sequence[Entry], found: Sequence[Difference], most: int) -> list[Section]:
    """Return the sections that models have scores for, their tables with so many cells at most."""
    errors, profiles = severity_errors(entries), {measure: profile_lines(entries, measure) for measure in MEASURES}
    made = {table.name: table for table in [*tables(entries, found), *_own_tables(entries, errors, profiles)] if table.rows}
    groups = {
        "severity": [ChartGroup("Error against severity", _charts(entries, errors, "severity", "error, %", PER_CENT))],
        "profiles": [
            ChartGroup(
                f"{words} against level".capitalize(),
                _charts(entries, profiles[measure], "level", words, _from_zero(profiles[measure]) if measure == "rank" else PER_CENT),
            )
            for measure, words in MEASURES.items()
        ],
        "fragile": [ChartGroup("Fragile rates against size", _fragile_charts(entries))],
    }
    drawn: dict[str, dict[str, Any]] = {
        "maude": {"bars": Bars(areas) if (areas := maude_areas(entries)) else None},
        "two-factor": {"quadrants": _quadrant_charts(entries)},
        "orders": {"matrices": _order_matrices(entries)},
        "heat": {"matrices": _heat_map(entries, errors, profiles["accuracy"])},
    }
    plan = tomllib.loads(text_file("sections.toml", __package__))["section"]
    return [
        Section(one["id"], one["heading"], one["about"], shown, groups.get(one["id"], []), **drawn.get(one["id"], {}))
        for one in plan
        if (shown := [page_table(made[name], most) for name in one["tables"] if name in made]) or drawn.get(one["id"], {}).get("matrices")
    ]


def _charts(
    entries: Sequence[Entry],
    lines: Lines,
    x_name: str,
    y_name: str,
    y_range: tuple[float, float],
    x_texts: Mapping[float, str] | None = None,
) -> list[Chart]:
    return [
        line_chart(name, x_name, y_name, [Line(n, entries[n].label, points) for n, points in own.items()], y_range, x_texts)
        for name, own in lines.items()
    ]


def _from_zero(lines: Lines) -> tuple[float, float]:
    values = [end for own in lines.values() for points in own.values() for p in points for end in (p.y, *(p.ends or ()))]
    # an axis has a length
    return 0.0, max(values, default=0.0) or 1.0


def _fragile_charts(entries: Sequence[Entry]) -> list[Chart]:
    lines, sizes = fragile_lines(entries)
    named = [{RATES[kind]: own} for kind, own in lines.items()]
    texts = {float(place): size for place, size in enumerate(sizes)}
    return [chart for one in named for chart in _charts(entries, one, "side of the regions", "fragile, %", _from_zero(one), texts)]


def _quadrant_charts(entries: Sequence[Entry]) -> list[Chart]:
    spots, reference = two_factor_spots(entries)
    if reference is None:
        return []
    names = ("coefficient of variation over the sets, %", "mean accuracy over the sets, %")
    return [quadrant_chart("Accuracy and its variation", *names, spots, (reference[0], 100 * reference[1]))]


def _own_tables(entries: Sequence[Entry], errors: Lines, profiles: Mapping[str, Lines]) -> list[Table]:
    """Return the tables that a comparison does not have: the numbers of the charts, and every set in full."""
    heads = [Column("corruption", "text"), Column("severity", "whole")]
    made = [_of_lines("severity", "Error by corruption and severity", heads, entries, errors)]
    heads = [Column("degradation", "text"), Column("level", "whole")]
    for measure, words in MEASURES.items():
        kind: Kind = "number" if measure == "rank" else "percent"
        made.append(_of_lines(f"profile_{measure}", f"Profiles: {words.removesuffix(', %')}", heads, entries, profiles[measure], kind))
    return [*made, sets_in_full(entries)]


def _of_lines(name: str, title: str, heads: Sequence[Column], entries: Sequence[Entry], lines: Lines, kind: Kind = "percent") -> Table:
    """Return a row a chart and place on its x axis, a column a model."""
    factor = 100 if kind == "percent" else 1
    values = [{(line, p.x): p.y / factor for line, own in lines.items() for p in own.get(n, ())} for n in range(len(entries))]
    rows = [(line, x) for line, own in lines.items() for x in sorted({p.x for points in own.values() for p in points})]
    return by_model(name, title, heads, entries, values, kind, rows)


def sets_in_full(entries: Sequence[Entry]) -> Table:
    """Return a row for each set and model, with all that scores have of it; columns that no model has are left out."""
    fields = {
        "n": Column("images", "whole"),
        "accuracy": Column("accuracy"),
        "low": Column("accuracy, low", end="low"),
        "high": Column("accuracy, high", end="high"),
        "top5": Column("top-5 accuracy"),
        "rank": Column("rank of the true class", "number"),
        "probability": Column("probability of the true class"),
    }
    rows = [(entry.label, row) for entry in entries for row in entry.scores.rows()]
    order = {name: place for place, name in enumerate(dict.fromkeys(row["set"] for _, row in rows))}
    rows.sort(key=lambda one: order[one[1]["set"]])
    kept = [name for name in fields if any(row[name] is not None for _, row in rows)]
    columns = [*texts("set", "model"), *(fields[name] for name in kept)]
    return Table(
        "sets", "Every set and model in full", columns, [[row["set"], label, *(row[name] for name in kept)] for label, row in rows]
    )


def _heat_map(entries: Sequence[Entry], errors: Lines, profiles: Lines) -> list[Matrix]:
    """Return the mean error of each model over the severities of each corruption, or the levels of each degradation."""
    means = {name: _means(own) for name, own in errors.items()}
    means |= {name: {n: 100 - accuracy for n, accuracy in _means(own).items()} for name, own in profiles.items()}
    shown = {name: own for name, own in means.items() if own}
    rows = [[_heat(own.get(n)) for own in shown.values()] for n in range(len(entries))]
    return [Matrix("Mean error, %", [entry.label for entry in entries], list(shown), rows, "model")] if shown else []


def _means(points_of: Mapping[int, Sequence[Point]]) -> dict[int, float]:
    """Return the mean of each model over all places but 0, which is the clean images; none of one that has no other."""
    beyond = {n: [point.y for point in points if point.x > 0] for n, points in points_of.items()}
    return {n: fmean(values) for n, values in beyond.items() if values}


def _heat(error: float | None) -> tuple[str, str]:
    return ("", "") if error is None else (f"{error:.0f}", f"heat-{min(int(error / 100 * HEATS), HEATS - 1)}")


def _order_matrices(entries: Sequence[Entry]) -> list[Matrix]:
    """Return the order effects of each model as a matrix, where it can be looked at."""
    effects = {e.label: stage_orders(e) for e in entries}
    most = max((value for own in effects.values() for value in own.values()), default=0.0)
    matrices = []
    for label, own in effects.items():
        stages = list(dict.fromkeys(stage for stage, _ in own))
        if 0 < len(stages) <= MOST_STAGES:
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
