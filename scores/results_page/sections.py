"""The sections of the page: which charts and tables stand together."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...pages.charts import Chart
from ...pages.document import text_file
from ..comparison.entries import Entry, reference_point
from ..comparison.figures import ERRORS, PROFILES, Matrix, charts, heat_map, maude_bars, order_matrices
from ..comparison.paper_tables import of_course, sets_in_full, tables
from ..comparison.statistics import Difference
from ..tables import PageTable

if TYPE_CHECKING:
    from markupsafe import Markup

MOST_STAGES = 24
"""Stages of a matrix of orders; more are in the table alone."""


@dataclass(frozen=True)
class Section:
    """A part of the page: paragraphs, charts, and tables with every number of the charts."""

    id: str
    """Its anchor."""
    heading: str
    about: str
    tables: Sequence[PageTable]
    groups: Sequence[Sequence[Chart]]
    """Charts with the same axes."""
    bars: Markup | None
    matrices: Sequence[Matrix]


def sections(entries: Sequence[Entry], found: Sequence[Difference], most: int) -> list[Section]:
    """Return the sections that models have scores for; `most`: cells of a table."""
    reference = reference_point(entries)
    courses = [of_course(entries, course) for course in (ERRORS, *PROFILES.values())]
    made = {table.name: table for table in [*tables(entries, reference, found), *courses, sets_in_full(entries)]}
    drawn, bars = charts(entries, reference), maude_bars(entries)
    orders = [matrix for matrix in order_matrices(entries) if len(matrix.columns) <= MOST_STAGES]
    matrices = {"orders": orders, "heat": heat_map(entries)}
    shown = []
    for one in tomllib.loads(text_file("sections.toml", __package__))["section"]:
        section = Section(
            one["id"],
            one["heading"],
            one["about"],
            [made[name].on_page(most) for name in one["tables"] if name in made and made[name].rows],
            [drawn[name] for name in one.get("charts", []) if name in drawn],
            bars.element("bars", "mAUDE as bars") if bars and one["id"] == "maude" else None,
            matrices.get(one["id"], []),
        )
        if section.tables or section.matrices:
            shown.append(section)
    return shown
