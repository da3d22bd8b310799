"""The sections of the page: which charts and tables stand together, and what is said of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ..comparison.curves import profile_names, profiles_of, severity_errors
from ..comparison.differences import Difference
from ..comparison.entries import Entry
from ..comparison.layouts import tables
from ..comparison.tables import Cell, Column, Table
from .charts import Bar, LineChart, QuadrantChart
from .figures import MEASURES, fragile_charts, maude_bars, order_matrix, profile_charts, quadrant_charts, severity_charts
from .page_tables import PageTable, page_table

STEPS = 3
"""Shades of an order effect to either side of none."""
MOST_STAGES = 24
"""Of a matrix of orders; more are in the table alone."""


@dataclass(frozen=True)
class Matrix:
    """The order effects of one model."""

    label: str
    stages: Sequence[str]
    rows: Sequence[Sequence[tuple[str, str]]]
    """Text and shade of each cell: first stage down, second across."""


@dataclass(frozen=True)
class ChartGroup:
    """Charts with one heading."""

    heading: str
    charts: Sequence[LineChart]


@dataclass(frozen=True)
class Section:
    """A part of the page: paragraphs, charts, and tables with every number of the charts."""

    id: str
    """Its anchor."""
    heading: str
    about: Sequence[str]
    tables: Sequence[PageTable]
    bars: Sequence[Bar] = ()
    groups: Sequence[ChartGroup] = ()
    quadrants: Sequence[QuadrantChart] = ()
    matrices: Sequence[Matrix] = field(default=())


def sections(entries: Sequence[Entry], found: Sequence[Difference], most: int) -> list[Section]:
    """Return the sections that models have scores for, their tables with so many cells at most."""
    made = {table.name: table for table in [*tables(entries, found), *own_tables(entries)] if table.rows}
    charts = {
        "severity": [ChartGroup("Error against severity", severity_charts(entries))],
        "profiles": [
            ChartGroup(f"{MEASURES[measure]} against level".capitalize(), profile_charts(entries, measure)) for measure in MEASURES
        ],
        "fragile": [ChartGroup("Fragile rates against size", fragile_charts(entries))],
    }
    planned = {name for _, _, _, names in PLAN for name in names}
    others = ("others", "Other tables", (), [name for name in made if name not in planned])
    shown_sections = []
    for id, heading, about, names in [*PLAN, others]:
        shown = [page_table(made[name], most) for name in names if name in made]
        if shown:
            groups = [group for group in charts.get(id, []) if group.charts]
            bars = maude_bars(entries) if id == "maude" else []
            quadrants = quadrant_charts(entries) if id == "two-factor" else []
            matrices = order_matrices(entries) if id == "orders" else []
            shown_sections.append(Section(id, heading, about, shown, bars, groups, quadrants, matrices))
    return shown_sections


PLAN: Sequence[tuple[str, str, Sequence[str], Sequence[str]]] = (
    (
        "summary",
        "Scores that are one number",
        ["Below a value: the middle 95 % of its values over resamples of the images."],
        ["summary", "differences"],
    ),
    (
        "maude",
        "Error by corruption",
        [
            "AUDE is the area under the error against severity, the clean images at its left end; mAUDE is the mean over the fifteen "
            "corruptions of ImageNet-C (Hendrycks and Dietterich 2018). CE is the error relative to a baseline’s (2019). Lower is better."
        ],
        ["aude", "ce", "relative_ce", "aude_others", "families"],
    ),
    ("severity", "Error against severity", ["Error in per cent of each corruption; severity 0 is the clean images."], ["severity"]),
    (
        "profiles",
        "Degradation profiles",
        [
            "What a model still recognises at each level of a gradual degradation (Swingler 2022). Level 0 is the clean images; rank is "
            "the number of classes scored above the true one."
        ],
        ["degradation", "degradation_levels", *(f"profile_{measure}" for measure in MEASURES)],
    ),
    (
        "two-factor",
        "Two factors: accuracy and its variation",
        [
            "Mean accuracy over all sets, clean included, and its coefficient of variation (Dai and Berleant 2021). The best models are in "
            "quadrant I: high accuracy that varies little."
        ],
        ["two_factor", "correlations"],
    ),
    (
        "orders",
        "Order effects",
        [
            "Accuracy where one corruption comes first less that of the other order, on the same images, in points. In a matrix, what "
            "comes first is down and what comes second is across."
        ],
        ["order_effects"],
    ),
    (
        "fragile",
        "Fragile recognition",
        [
            "How often a small shift or shrink of a region flips whether a model is right (Srivastava, Ben-Yosef and Boix 2019). Positive: "
            "right, where a neighbour is wrong; negative: wrong, where a neighbour is right."
        ],
        ["fragile", "fragile_parts"],
    ),
    ("style", "Groups of samples", ["Accuracy of each group of the source, such as the style of an icon."], ["style"]),
    ("sets", "Every set", ["Accuracy side by side, then all that is known of each set and model."], ["accuracy", "sets"]),
)
"""Of each section: anchor, heading, paragraphs, tables. The panels and failures have templates of their own."""


def own_tables(entries: Sequence[Entry]) -> list[Table]:
    """Return the tables that a comparison does not have: the numbers of the charts, and every set in full."""
    models = [Column(entry.label) for entry in entries]
    severity = [
        [name, s, *(None if (errors := of_model.get(n)) is None or s not in errors else errors[s] / 100 for n in range(len(entries)))]
        for name, of_model in severity_errors(entries).items()
        for s in sorted({s for errors in of_model.values() for s in errors})
    ]
    columns = [Column("corruption", "text"), Column("severity", "whole")]
    made = [Table("severity", "Error by corruption and severity", [*columns, *models], severity)]
    columns = [Column("degradation", "text"), Column("level", "whole")]
    for measure, words in MEASURES.items():
        of_models = models if measure != "rank" else [Column(entry.label, "number") for entry in entries]
        title = f"Profiles: {words.removesuffix(', %')}"
        made.append(Table(f"profile_{measure}", title, [*columns, *of_models], _profile_rows(entries, measure)))
    return [*made, sets_in_full(entries)]


def _profile_rows(entries: Sequence[Entry], measure: str) -> list[list[Cell]]:
    rows: list[list[Cell]] = []
    for name in profile_names(entries):
        values: list[dict[int, float]] = []
        for entry in entries:
            profile = profiles_of(entry).get(name)
            known = None if profile is None else getattr(profile, measure)
            values.append({} if profile is None or known is None else dict(zip(profile.levels, known, strict=True)))
        rows += [[name, level, *(own.get(level) for own in values)] for level in sorted({level for own in values for level in own})]
    return rows


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
    columns = [Column("set", "text"), Column("model", "text"), *(fields[name] for name in kept)]
    return Table(
        "sets", "Every set and model in full", columns, [[row["set"], label, *(row[name] for name in kept)] for label, row in rows]
    )


def order_matrices(entries: Sequence[Entry]) -> list[Matrix]:
    """Return the order effects of each model as a matrix, where it can be looked at."""
    matrices = []
    effects = {
        e.label: {(o.first, o.second): o.difference for o in e.scores.two_factor.order_effects if o.first.count("+") == 1}
        for e in entries
        if e.scores.two_factor is not None
    }
    most = max((abs(difference) for own in effects.values() for difference in own.values()), default=0.0)
    for label, own in effects.items():
        stages, rows = order_matrix(own)
        if 0 < len(stages) <= MOST_STAGES:
            matrices.append(Matrix(label, stages, [[_shaded(value, most) for value in row] for row in rows]))
    return matrices


def _shaded(difference: float | None, most: float) -> tuple[str, str]:
    """Return the text of an effect, and its shade: ``up-3`` to ``down-3``."""
    if difference is None:
        return "", ""
    step = round(STEPS * abs(difference) / most) if most else 0
    shade = "" if step == 0 else f"{'up' if difference > 0 else 'down'}-{step}"
    return Column("", "points").shown(difference), shade
