"""Tables as the page has them: cells as text, an interval below its value, and no more rows than a page can hold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..comparison.tables import Cell, Column, Table

MOST_CELLS = 20_000
"""Of a table of the page."""


class PageTable(NamedTuple):
    """A table as a template writes it out."""

    table: Table
    columns: Sequence[Column]
    rows: Sequence[Sequence[tuple[str, str]]]
    """Of each cell the text, and the interval below it or nothing."""
    left_out: int
    """Rows that are not shown."""


def page_table(table: Table, most: int = MOST_CELLS) -> PageTable:
    """Return a table of a comparison as the page has it, with so many cells at most; a column without any value is left
    out.
    """
    filled = [any(row[place] is not None for row in table.rows) for place in range(len(table.columns))]
    places = [
        place for place, column in enumerate(table.columns) if column.end is None and (filled[place] or place == 0)
    ]
    kept = table.rows[: max(1, most // len(places))]
    rows = [[_cell(table.columns, row, place) for place in places] for row in kept]
    return PageTable(table, [table.columns[place] for place in places], rows, len(table.rows) - len(kept))


def _cell(columns: Sequence[Column], row: Sequence[Cell], place: int) -> tuple[str, str]:
    """Return a cell, and its interval where the two ends of one follow."""
    has_ends = [column.end for column in columns[place + 1 : place + 3]] == ["low", "high"]
    low, high = (row[place + 1], row[place + 2]) if has_ends else (None, None)
    column = columns[place]
    return column.shown(
        row[place]
    ), "" if low is None or high is None else f"{column.shown(low)} to {column.shown(high)}"
