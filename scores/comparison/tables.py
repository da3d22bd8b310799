"""Tables, and how they are written: CSV for programs, Markdown and LaTeX for people."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from ...manifests.records.markdown import markdown_text
from ...manifests.records.report import printable
from ..records import data_frame

Kind = Literal["text", "whole", "percent", "points", "number"]
Cell = str | int | float | None
"""None is a score that cannot be had."""

MISSING = "-"
DIGITS = {"percent": 2, "points": 2, "number": 3}
"""After the point, for people; a CSV has twelve significant ones."""


@dataclass(frozen=True)
class Column:
    """A column of a table."""

    title: str
    kind: Kind = "percent"
    """``percent``: a fraction, which is shown times 100. ``points``: a difference of fractions, times 100, with its
    sign.
    """
    end: Literal["low", "high"] | None = None
    """Which end of the interval of the column before it, where it is one: the low end comes first."""

    @property
    def heading(self) -> str:
        """The title with its unit."""
        return (
            f"{self.title} %"
            if self.kind == "percent"
            else f"{self.title}, points"
            if self.kind == "points"
            else self.title
        )

    def shown(self, cell: Cell) -> str:
        """Return a cell for people."""
        if cell is None:
            return MISSING
        if isinstance(cell, str) or self.kind in ("text", "whole"):
            return str(cell)
        text = f"{self._factor * cell:{'+' if self.kind == 'points' else ''}.{DIGITS[self.kind]}f}"
        return text.replace("-0.00", "0.00") if float(text) == 0 else text

    def exact(self, cell: Cell) -> str:
        """Return a cell for programs: empty where there is no value."""
        if cell is None or isinstance(cell, str) or self.kind in ("text", "whole"):
            return "" if cell is None else str(cell)
        return f"{self._factor * cell:.12g}"

    @property
    def _factor(self) -> int:
        return 100 if self.kind in ("percent", "points") else 1


def texts(*titles: str) -> list[Column]:
    """Return columns of text."""
    return [Column(title, "text") for title in titles]


def with_ends(*columns: Column) -> list[Column]:
    """Return columns, each with those of the ends of its interval behind it."""
    return [
        own
        for c in columns
        for own in (c, Column(f"{c.title}, low", c.kind, "low"), Column(f"{c.title}, high", c.kind, "high"))
    ]


@dataclass(frozen=True)
class Table:
    """A table with a name, which its files have too."""

    name: str
    title: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Cell]]
    notes: Sequence[str] = field(default=())

    def csv(self) -> str:
        """Return the table as CSV: one line of headings, a comma between cells, empty where there is no value."""
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow([printable(column.heading) for column in self.columns])
        for row in self.rows:
            writer.writerow([printable(column.exact(cell)) for column, cell in zip(self.columns, row, strict=True)])
        return out.getvalue()

    def markdown(self) -> str:
        """Return the table for a page in Markdown (GitHub's), numbers aligned to the right."""
        marks = ["---" if column.kind == "text" else "---:" for column in self.columns]
        lines = [[markdown_text(column.heading) for column in self.columns], marks, *self._body(markdown_text)]
        notes = "".join(f"\n{markdown_text(note)}\n" for note in self.notes)
        return "".join(f"| {' | '.join(line)} |\n" for line in lines) + notes

    def latex(self) -> str:
        """Return the table as LaTeX's ``tabular``, which needs no package; its title is a comment."""
        columns = "".join("l" if column.kind == "text" else "r" for column in self.columns)
        headings = [latex_text(column.heading) for column in self.columns]
        head, *body = (" & ".join(line) + r" \\" for line in [headings, *self._body(_latex_cell)])
        comments = "".join(f"% {line}\n" for text in (self.title, *self.notes) for line in printable(text).splitlines())
        rows = "".join(f"{line}\n" for line in body)
        return f"{comments}\\begin{{tabular}}{{{columns}}}\n\\hline\n{head}\n\\hline\n{rows}\\hline\n\\end{{tabular}}\n"

    def to_pandas(self) -> Any:
        """Return the table as a pandas DataFrame, its columns by their titles; fractions are 0..1.

        Raises
        ------
        ScoreError
            pandas is not installed.
        """
        titles = [column.title for column in self.columns]
        return data_frame([dict(zip(titles, row, strict=True)) for row in self.rows])

    def _body(self, escape: Callable[[str], str]) -> list[list[str]]:
        return [
            [escape(column.shown(cell)) for column, cell in zip(self.columns, row, strict=True)] for row in self.rows
        ]


_LATEX = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "{": r"\{",
        "}": r"\}",
        "&": r"\&",
        "%": r"\%",
        "$": r"\$",
        "#": r"\#",
        "_": r"\_",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "|": r"\textbar{}",
        '"': "''",
        # after the end of a row, LaTeX takes these for an argument and a variant of it
        "[": "{[}",
        "]": "{]}",
        "*": "{*}",
    }
)


def latex_text(text: str) -> str:
    """Return text as LaTeX takes it.

    Examples
    --------
    >>> latex_text("a_b & 5 %")
    'a\\\\_b \\\\& 5 \\\\%'
    """
    return printable(text).translate(_LATEX)


def _latex_cell(text: str) -> str:
    return re.sub(r"^-(?=[0-9])", "$-$", latex_text(text))
