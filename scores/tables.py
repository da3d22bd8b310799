"""Write tables as CSV, Markdown, LaTeX and HTML."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any, Literal, NamedTuple

from ..errors import ScoreError
from ..manifests.records.markdown import markdown_text
from ..manifests.records.report import printable

Kind = Literal["text", "whole", "percent", "points", "number"]
Cell = str | int | float | None
"""The content of a cell. None stands for a missing score."""

MISSING = "-"
MAX_PAGE_CELLS, MAX_NOTEBOOK_CELLS = 20_000, 400
"""The maximum number of cells of a table on a page, and in a notebook."""
FORMATS = {"percent": (100, ".2f"), "points": (100, "+.2f"), "number": (1, ".3f")}
"""The factor and the format of each kind of number. CSV files have twelve significant digits instead of this format."""
UNITS = {"percent": " %", "points": ", points"}


@dataclass(frozen=True)
class Column:
    """A column of a table."""

    title: str
    kind: Kind = "percent"
    """The kind of the cells. ``percent`` is for fractions that are shown as percentages. ``points`` is for differences
    between fractions, which are shown in percentage points with a sign."""
    end: Literal["low", "high"] | None = None
    """The end of a confidence interval that the column contains, if any. Both ends follow the column of their score."""

    @property
    def heading(self) -> str:
        """The title with its unit."""
        return self.title + UNITS.get(self.kind, "")

    def shown(self, cell: Cell) -> str:
        """Return the rounded text of a cell."""
        if cell is None or isinstance(cell, str) or self.kind not in FORMATS:
            return MISSING if cell is None else str(cell)
        factor, digits = FORMATS[self.kind]
        text = f"{factor * cell:{digits}}"
        return text.lstrip("+-") if float(text) == 0 else text

    def exact(self, cell: Cell) -> str:
        """Return the text of a cell with twelve significant digits, or an empty string for a missing value."""
        if cell is None or isinstance(cell, str) or self.kind not in FORMATS:
            return "" if cell is None else str(cell)
        return f"{FORMATS[self.kind][0] * cell:.12g}"

    def between(self, low: Cell = None, high: Cell = None) -> str:
        """Return the rounded text of an interval, or an empty string if an end is missing."""
        return "" if low is None or high is None else f"{self.shown(low)} to {self.shown(high)}"


def columns(kind: Kind, *titles: str) -> list[Column]:
    """Return columns of the kind `kind` with the given titles."""
    return [Column(title, kind) for title in titles]


def with_ends(*columns: Column) -> list[Column]:
    """Return columns, each followed by columns for the ends of its interval."""
    return [
        own
        for c in columns
        for own in (c, Column(f"{c.title}, low", c.kind, "low"), Column(f"{c.title}, high", c.kind, "high"))
    ]


@dataclass(frozen=True)
class Table:
    """A table. Its name is also the name of its files."""

    name: str
    title: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Cell]]
    notes: Sequence[str] = ()

    def csv(self) -> str:
        """Return the table as CSV. Missing values are empty."""
        out = io.StringIO()
        lines = [[column.heading for column in self.columns], *self._texts(Column.exact)]
        csv.writer(out, lineterminator="\n").writerows([printable(text) for text in line] for line in lines)
        return out.getvalue()

    def markdown(self) -> str:
        """Return the table in GitHub-flavoured Markdown, with numbers aligned to the right."""
        marks = ["---" if column.kind == "text" else "---:" for column in self.columns]
        head, *body = self._lines(markdown_text)
        notes = "".join(f"\n{markdown_text(note)}\n" for note in self.notes)
        return "".join(f"| {' | '.join(line)} |\n" for line in [head, marks, *body]) + notes

    def latex(self) -> str:
        """Return the table as a LaTeX ``tabular``, with the title as a comment. No LaTeX package is needed."""
        aligned = "".join("l" if column.kind == "text" else "r" for column in self.columns)
        head, *body = (" & ".join(line) + " \\\\\n" for line in self._lines(_latex_cell))
        comments = "".join(f"% {line}\n" for text in (self.title, *self.notes) for line in printable(text).splitlines())
        rows = f"\\hline\n{head}\\hline\n{''.join(body)}\\hline\n"
        return f"{comments}\\begin{{tabular}}{{{aligned}}}\n{rows}\\end{{tabular}}\n"

    def _texts(self, write: Callable[[Column, Cell], str]) -> list[list[str]]:
        return [[write(*pair) for pair in zip(self.columns, row, strict=True)] for row in self.rows]

    def _lines(self, escaped: Callable[[str], str]) -> list[list[str]]:
        """Return the headings and the rows as escaped text, with rounded numbers."""
        lines = [[column.heading for column in self.columns], *self._texts(Column.shown)]
        return [[escaped(text) for text in line] for line in lines]

    def on_page(self, max_cells: int = MAX_PAGE_CELLS) -> PageTable:
        """Return the part of the table to show on a page: a limited number of rows, and no empty columns."""
        filled = [any(row[at] is not None for row in self.rows) for at in range(len(self.columns))]
        places = [at for at, column in enumerate(self.columns) if column.end is None and (filled[at] or at == 0)]
        kept = self.rows[: max(1, max_cells // len(places))]
        rows = [[self._cell(row, at) for at in places] for row in kept]
        return PageTable(self, [self.columns[at] for at in places], rows, len(self.rows) - len(kept))

    def _cell(self, row: Sequence[Cell], at: int) -> tuple[str, str]:
        """Return the text of a cell, and the text of its interval if the next two columns contain the ends."""
        column, ends = self.columns[at], [column.end for column in self.columns[at + 1 : at + 3]]
        return column.shown(row[at]), column.between(*row[at + 1 : at + 3]) if ends == ["low", "high"] else ""

    def _repr_html_(self) -> str:
        shown = self.on_page(MAX_NOTEBOOK_CELLS)
        heads = "".join(f"<th>{escape(column.heading)}</th>" for column in shown.columns)
        rows = [[f"<td>{escape(text)} <small>{between}</small></td>" for text, between in row] for row in shown.rows]
        body = "".join(f"<tr>{''.join(cells)}</tr>" for cells in rows)
        more = f"<small>and {shown.left_out} more rows</small>" if shown.left_out else ""
        return f"<table><caption>{escape(self.title)}</caption><tr>{heads}</tr>{body}</table>{more}"

    def to_pandas(self) -> Any:
        """Return the table as a pandas DataFrame. Column names are the titles, and fractions range from 0 to 1.

        Raises
        ------
        ScoreError
            If pandas is not installed.
        """
        titles = [column.title for column in self.columns]
        return data_frame([dict(zip(titles, row, strict=True)) for row in self.rows])


class PageTable(NamedTuple):
    """The part of a table that a template shows."""

    table: Table
    columns: Sequence[Column]
    rows: Sequence[Sequence[tuple[str, str]]]
    """The text of each cell and of its interval. The interval may be empty."""
    left_out: int
    """The number of rows that are not shown."""


def data_frame(rows: Sequence[Mapping[str, Any]]) -> Any:
    """Return rows as a pandas DataFrame, or raise ScoreError if pandas is not installed."""
    try:
        import pandas
    except ImportError as e:
        raise ScoreError(
            f"to_pandas needs pandas, which cannot be imported ({e}). Install it with: pip install pandas"
        ) from None
    return pandas.DataFrame(rows)


_LATEX = str.maketrans(
    {letter: f"\\{letter}" for letter in "{}&%$#_"}
    # At the beginning of a row, LaTeX would parse these characters as an argument.
    | {letter: f"{{{letter}}}" for letter in "[]*"}
    | {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    | {"<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}", '"': "''"}
)


def latex_text(text: str) -> str:
    """Return text with the special characters of LaTeX escaped.

    Examples
    --------
    >>> latex_text("a_b & 5 %")
    'a\\\\_b \\\\& 5 \\\\%'
    """
    return printable(text).translate(_LATEX)


def _latex_cell(text: str) -> str:
    return re.sub(r"^-(?=[0-9])", "$-$", latex_text(text))
