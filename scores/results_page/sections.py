"""The sections of a results page, with their charts and tables."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...pages.charts import Chart
from ...pages.document import text_file
from ..comparison.entries import Entry, reference_point
from ..comparison.figures import ERRORS, PROFILES, Matrix, charts, heat_map, maude_bars, order_matrices
from ..comparison.paper_tables import curve_table, sets_in_full, tables
from ..comparison.statistics import Difference
from ..tables import PageTable

if TYPE_CHECKING:
    from markupsafe import Markup

MAX_STAGES = 24
"""The maximum number of stages in a matrix of order effects. Larger matrices are shown only as a table."""


@dataclass(frozen=True)
class Section:
    """A section of a results page.

    Attributes
    ----------
    id : str
        The HTML id.
    heading, about : str
    tables : sequence of PageTable
        The tables, which contain every number in the charts.
    groups : sequence of sequence of Chart
        Groups of charts with the same axes.
    bars : Markup, optional
        A bar chart.
    matrices : sequence of Matrix
    """

    id: str
    heading: str
    about: str
    tables: Sequence[PageTable]
    groups: Sequence[Sequence[Chart]]
    bars: Markup | None
    matrices: Sequence[Matrix]


def sections(entries: Sequence[Entry], found: Sequence[Difference], max_cells: int) -> list[Section]:
    """Return the sections for which the models have scores, with at most `max_cells` cells per table."""
    reference = reference_point(entries)
    curves = [curve_table(entries, curves) for curves in (ERRORS, *PROFILES.values())]
    by_name = {table.name: table for table in [*tables(entries, reference, found), *curves, sets_in_full(entries)]}
    drawn, bars = charts(entries, reference), maude_bars(entries)
    orders = [matrix for matrix in order_matrices(entries) if len(matrix.columns) <= MAX_STAGES]
    matrices = {"orders": orders, "heat": heat_map(entries)}
    shown = []
    for row in tomllib.loads(text_file("sections.toml", __package__))["section"]:
        section = Section(
            row["id"],
            row["heading"],
            row["about"],
            [by_name[name].on_page(max_cells) for name in row["tables"] if name in by_name and by_name[name].rows],
            [drawn[name] for name in row.get("charts", []) if name in drawn],
            bars.element("bars", "Bar chart of mAUDE") if bars and row["id"] == "maude" else None,
            matrices.get(row["id"], []),
        )
        if section.tables or section.matrices:
            shown.append(section)
    return shown
