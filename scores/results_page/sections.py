"""The sections of the page: which charts and tables stand together, and what is said of them."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from ...pages.charts import Chart
from ...pages.document import text_file
from ..comparison.differences import Difference
from ..comparison.entries import Entry
from ..comparison.figures import (
    MEASURES,
    Matrix,
    fragile_charts,
    heat_map,
    maude_bars,
    order_matrices,
    profile_charts,
    quadrant_charts,
    severity_charts,
)
from ..comparison.layouts import by_model, tables
from ..tables import Column, Kind, PageTable, Table, texts, with_ends

if TYPE_CHECKING:
    from markupsafe import Markup

MOST_STAGES = 24
"""Of a matrix of orders; more are in the table alone."""


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
    groups: Sequence[ChartGroup] = ()
    bars: Markup | None = None
    quadrants: Sequence[Chart] = ()
    matrices: Sequence[Matrix] = ()


def sections(entries: Sequence[Entry], found: Sequence[Difference], most: int) -> list[Section]:
    """Return the sections that models have scores for, their tables with so many cells at most."""
    errors, profiles = severity_charts(entries), {name: profile_charts(entries, name) for name in MEASURES}
    own = [_of_charts("severity", "Error by corruption and severity", "corruption", "severity", entries, errors)]
    for name, words in MEASURES.items():
        kind: Kind = "number" if name == "rank" else "percent"
        title = f"Profiles: {words.removesuffix(', %')}"
        own.append(_of_charts(f"profile_{name}", title, "degradation", "level", entries, profiles[name], kind))
    made = {table.name: table for table in [*tables(entries, found), *own, sets_in_full(entries)] if table.rows}
    drawn: dict[str, dict[str, Any]] = {
        "severity": {"groups": [ChartGroup("Error against severity", errors)]},
        "profiles": {
            "groups": [
                ChartGroup(f"{words} against level".capitalize(), profiles[name]) for name, words in MEASURES.items()
            ]
        },
        "fragile": {"groups": [ChartGroup("Fragile rates against size", fragile_charts(entries))]},
        "maude": {"bars": None if (bars := maude_bars(entries)) is None else bars.element("bars", "mAUDE as bars")},
        "two-factor": {"quadrants": quadrant_charts(entries)},
        "orders": {"matrices": [matrix for matrix in order_matrices(entries) if len(matrix.columns) <= MOST_STAGES]},
        "heat": {"matrices": heat_map(entries)},
    }
    plan = tomllib.loads(text_file("sections.toml", __package__))["section"]
    return [
        Section(one["id"], one["heading"], one["about"], shown, **drawn.get(one["id"], {}))
        for one in plan
        if (shown := [made[name].on_page(most) for name in one["tables"] if name in made])
        or drawn.get(one["id"], {}).get("matrices")
    ]


def _of_charts(
    name: str,
    title: str,
    of: str,
    x_name: str,
    entries: Sequence[Entry],
    charts: Sequence[Chart],
    kind: Kind = "percent",
) -> Table:
    """Return the numbers of charts: a row a chart and place on its x axis, a column a model."""
    factor = 100 if kind == "percent" else 1
    values: list[dict[tuple[str, float], float]] = [{} for _ in entries]
    for chart in charts:
        for line in chart.lines:
            values[line.model] |= {(chart.title, p.x): p.y / factor for p in line.points}
    rows = [(chart.title, x) for chart in charts for x in sorted({p.x for line in chart.lines for p in line.points})]
    return by_model(name, title, [Column(of, "text"), Column(x_name, "whole")], entries, values, kind, rows)


def sets_in_full(entries: Sequence[Entry]) -> Table:
    """Return a row for each set and model, with all that scores have of it."""
    fields = ("n", "accuracy", "low", "high", "top5", "rank", "probability")
    columns = [Column("images", "whole"), *with_ends(Column("accuracy")), Column("top-5 accuracy")]
    columns += [Column("rank of the true class", "number"), Column("probability of the true class")]
    rows = [(entry.label, row) for entry in entries for row in entry.scores.rows()]
    order = {name: place for place, name in enumerate(dict.fromkeys(row["set"] for _, row in rows))}
    rows.sort(key=lambda one: order[one[1]["set"]])
    cells = [[row["set"], label, *(row[name] for name in fields)] for label, row in rows]
    return Table("sets", "Every set and model in full", [*texts("set", "model"), *columns], cells)
