"""Charts of models: where lines and points lie, in the units of an SVG picture. Templates write them out.

A model has a colour, a marker and a kind of line by its place among the models, as in the plots of a comparison. The colours are the
page's: it has others in the dark.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ...pages.curves import axis_ticks
from ..comparison.curves import Area, Point, Spot, look_of

MOST_TOLD = 6
"""Models whose values the text of a chart tells; of the others it says that the table has them."""
_MOST_MARKS = 7


def look(model: int) -> str:
    """Return the classes of a model's place."""
    colour, _, dash = look_of(model)
    return f"m{colour} d{dash}"


def marker(model: int) -> str:
    """Return the id of a model's marker."""
    return f"marker-{look_of(model)[1]}"


class Line(NamedTuple):
    """The values of one model."""

    model: int
    """Its place among the models."""
    label: str
    points: Sequence[Point]

    @property
    def marks(self) -> Sequence[Point]:
        """The points that have a marker."""
        return self.points[:: max(1, -(-len(self.points) // _MOST_MARKS))]


class Box(NamedTuple):
    """A picture, and where its axes are."""

    width: int
    height: int
    left: int
    right: int
    top: int
    bottom: int
    inset: int
    """Between the ends of the x axis and the first and last value."""


LINES, QUADRANTS = Box(260, 170, 38, 250, 10, 138, 10), Box(360, 300, 44, 350, 10, 262, 0)


@dataclass(frozen=True)
class Chart:
    """Values of several models, and where they lie."""

    title: str
    x_name: str
    y_name: str
    x_range: tuple[float, float]
    y_range: tuple[float, float]
    x_texts: Mapping[float, str]
    """What stands below the chart."""
    summary: str
    """What is seen, in a few words a model, for those who do not see it."""
    box: Box
    lines: Sequence[Line] = ()
    spots: Sequence[Spot] = ()
    middle: tuple[float, float] | None = None
    """Where the lines between the quadrants cross."""

    def x(self, value: float) -> str:
        """Return how far right a value lies."""
        left, right = self.box.left + self.box.inset, self.box.right - self.box.inset
        return f"{left + _share(value, self.x_range) * (right - left):.1f}"

    def y(self, value: float) -> str:
        """Return how far down a value lies."""
        low, high = self.y_range
        return f"{self.box.bottom - _share(min(max(value, low), high), self.y_range) * (self.box.bottom - self.box.top):.1f}"

    @property
    def y_ticks(self) -> list[tuple[str, str]]:
        """Heights and texts beside the chart."""
        return [(self.y(tick), f"{tick:g}") for tick in axis_ticks(*self.y_range)]


def line_chart(
    title: str, x_name: str, y_name: str, lines: Sequence[Line], y_range: tuple[float, float], x_texts: Mapping[float, str] | None = None
) -> Chart:
    """Return values of models against a severity, a level or a size; `x_texts` stand below in place of whole numbers."""
    known = sorted(x_texts or {point.x for line in lines for point in line.points})
    texts = x_texts or {x: f"{x:g}" for x in known if len(known) <= _MOST_MARKS or x % 10 == 0}
    told = []
    for line in lines:
        first, last = line.points[0], line.points[-1]
        way = "stays at" if first.y == last.y else "falls to" if last.y < first.y else "rises to"
        at = [(x_texts or {}).get(round(p.x), f"{p.x:g}") for p in (first, last)]
        told.append(f"{line.label} begins at {first.y:.1f} at {at[0]} and {way} {last.y:.1f} at {at[1]}")
    summary = f"{title}: {y_name} against {x_name}. {_few(told)}"
    return Chart(title, x_name, y_name, (known[0], known[-1]), y_range, texts, summary, LINES, lines)


def quadrant_chart(title: str, x_name: str, y_name: str, spots: Sequence[Spot], middle: tuple[float, float]) -> Chart:
    """Return two scores of models, with a point that splits the chart in four."""
    x = _widened([middle[0], *(end for s in spots for end in (s.x, *(s.x_ends or ())))])
    y = _widened([middle[1], *(end for s in spots for end in (s.y, *(s.y_ends or ())))])
    told = [f"{s.label} at {s.x:.2f} and {s.y:.1f}, quadrant {s.where}" for s in spots]
    summary = f"{title}: {y_name} against {x_name}. The lines cross at {middle[0]:.2f} and {middle[1]:.1f}; {_few(told)}"
    texts = {tick: f"{tick:g}" for tick in axis_ticks(*x)}
    return Chart(title, x_name, y_name, x, y, texts, summary, QUADRANTS, spots=spots, middle=middle)


def _few(told: Sequence[str]) -> str:
    more = len(told) - MOST_TOLD
    rest = f"; {more} more model{'s' * (more > 1)} in the table" if more > 0 else ""
    return f"{'; '.join(told[:MOST_TOLD])}{rest}."


def _share(value: float, ends: tuple[float, float]) -> float:
    low, high = ends
    return (value - low) / (high - low) if high > low else 0.5


def _widened(values: Sequence[float]) -> tuple[float, float]:
    low, high = min(values), max(values)
    more = 0.12 * (high - low) or 0.5
    return low - more, high + more


class Bars(NamedTuple):
    """mAUDE as lengths, with the clean error as a mark."""

    areas: Sequence[Area]

    def at(self, value: float) -> str:
        """Return a value as a share of the longest length, in thousandths."""
        most = max(end for a in self.areas for end in (a.value, *(a.ends or ()), a.clean or 0.0)) or 1.0
        return f"{1000 * min(max(value / most, 0.0), 1.0):.1f}"
