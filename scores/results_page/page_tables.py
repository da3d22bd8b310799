"""Tables as the page has them: cells as text, an interval below its value, and no more rows than a page can hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ..comparison.tables import Cell, Column, Table

MOST_CELLS = 20_000
"""Of a table of the page."""
TALL = 30
"""Rows from which on a table scrolls in a window of its own."""


class PageCell(NamedTuple):
    """A cell as it is read."""

    text: str
    interval: str = ""
    """Of its value."""


class PageColumn(NamedTuple):
    """The head of a column."""

    title: str
    is_number: bool


@dataclass(frozen=True)
class PageTable:
    """A table as a template writes it out."""

    name: str
    """Its anchor."""
    title: str
    columns: Sequence[PageColumn]
    rows: Sequence[Sequence[PageCell]]
    notes: Sequence[str]
    left_out: int
    """Rows that are not shown."""

    @property
    def is_tall(self) -> bool:
        """Whether it scrolls in a window of its own."""
        return len(self.rows) > TALL


def page_table(table: Table, most: int = MOST_CELLS) -> PageTable:
    """Return a table of a comparison as the page has it, with so many cells at most."""
    places = _values(table.columns)
    columns = [PageColumn(table.columns[place].heading, table.columns[place].kind != "text") for place, _ in places]
    kept = table.rows[: max(1, most // len(places))]
    rows = [[_cell(table.columns[place], row, place, has_ends) for place, has_ends in places] for row in kept]
    return PageTable(table.name, table.title, columns, rows, table.notes, len(table.rows) - len(kept))


def _values(columns: Sequence[Column]) -> list[tuple[int, bool]]:
    """Return the places of the columns that are no ends of an interval, and whether the two ends of theirs follow."""
    found = []
    for place, column in enumerate(columns):
        if column.end is None:
            ends = [other.end for other in columns[place + 1 : place + 3]]
            found.append((place, ends == ["low", "high"]))
    return found


def _cell(column: Column, row: Sequence[Cell], place: int, has_ends: bool) -> PageCell:
    low, high = (row[place + 1], row[place + 2]) if has_ends else (None, None)
    interval = "" if low is None or high is None else f"{column.shown(low)} to {column.shown(high)}"
    return PageCell(column.shown(row[place]), interval)
