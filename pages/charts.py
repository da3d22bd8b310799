"""Charts of models as shapes: lines against an axis, and points in quadrants. The page of results and the plots of
`compare` have the same.

A model has a colour, a marker and a kind of line by its place among the models, so that charts work in print without
colour and for the colour-blind. On a page, colours come from its style sheet, which has others in the dark.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, NamedTuple

from .curves import axis_ticks
from .document import visible

if TYPE_CHECKING:
    from markupsafe import Markup

LOOKS, DASHES = 8, 4
"""How many colours and markers, and kinds of line, models have."""
MOST_TOLD = 6
"""Models whose values the text of a chart tells; of the others it says that the table has them."""
_MOST_MARKS = 7


def look(model: int) -> tuple[int, int, int]:
    """Return a model's colour, marker and kind of line: the first eight differ in colour and marker, the next eight in
    the line too.
    """
    turned = model + model // LOOKS
    return model % LOOKS, turned % LOOKS, turned % DASHES


def classes(model: int) -> str:
    """Return the classes of a model in the page's style sheet."""
    colour, _, dash = look(model)
    return f"m{colour} d{dash}"


class Shape(NamedTuple):
    """A path, a marker or a text."""

    kind: str
    """Its class in a style sheet."""
    points: Sequence[tuple[float, float]]
    """Of a path; of any other, where it is: of a text, the end, middle or beginning of its foot."""
    model: int | None = None
    """Whose colour it has."""
    text: str = ""

    def svg(self) -> str:
        """Return it as an element of the page."""
        (x, y), *_ = self.points
        own = self.kind if self.model is None else f"{self.kind} {classes(self.model)}"
        place = f'class="{own}" x="{x:.1f}" y="{y:.1f}"'
        if self.text:
            turn = f' transform="rotate(-90 {x:.1f} {y:.1f})"' if self.kind == "turned" else ""
            return f"<text {place}{turn}>{escape(str(visible(self.text)))}</text>"
        if self.kind == "spot":
            return f'<use {place} href="#marker-{look(self.model or 0)[1]}"/>'
        return f'<path class="{own}" d="M{"L".join(f"{x:.1f} {y:.1f}" for x, y in self.points)}"/>'


class Point(NamedTuple):
    """A value of a model with its intervals, up and across."""

    x: float
    y: float
    ends: tuple[float, float] | None = None
    x_ends: tuple[float, float] | None = None


class Line(NamedTuple):
    """The values of one model."""

    model: int
    """Its place among the models."""
    label: str
    points: Sequence[Point]


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
    lines: Sequence[Line]
    middle: tuple[float, float] | None = None
    """Where the lines between the quadrants cross."""

    def at(self, x: float, y: float) -> tuple[float, float]:
        """Return where values lie in the picture."""
        left, right, (low, high) = self.box.left + self.box.inset, self.box.right - self.box.inset, self.y_range
        up = _share(min(max(y, low), high), self.y_range) * (self.box.bottom - self.box.top)
        return left + _share(x, self.x_range) * (right - left), self.box.bottom - up

    def svg(self) -> Markup:
        """Return the chart as an element of a page, which has its title."""
        from markupsafe import Markup

        size, said = f"0 0 {self.box.width} {self.box.height}", escape(str(visible(self.summary)))
        shapes = "\n".join(shape.svg() for shape in self.shapes())
        return Markup(f'<svg class="curve" viewBox="{size}" role="img" aria-label="{said}">\n{shapes}\n</svg>')

    def shapes(self) -> Iterator[Shape]:
        """Yield all that is drawn, what lies below first."""
        left, right, top, bottom = self.box.left, self.box.right, self.box.top, self.box.bottom
        for tick in axis_ticks(*self.y_range):
            y = self.at(0, tick)[1]
            yield Shape("rule", ((left, y), (right, y)))
            yield Shape("y", ((left - 5, y + 4),), text=f"{tick:g}")
        for x, text in self.x_texts.items():
            yield Shape("x", ((self.at(x, 0)[0], bottom + 14),), text=text)
        yield Shape("x", (((left + right) / 2, bottom + 28),), text=self.x_name)
        if self.middle is not None:
            x, y = self.at(*self.middle)
            yield Shape("split", ((x, top), (x, bottom)))
            yield Shape("split", ((left, y), (right, y)))
            for row, names in ((top + 14, ("I", "II")), (bottom - 5, ("III", "IV"))):
                yield Shape("corner", ((left + 4, row),), text=names[0])
                yield Shape("corner end", ((right - 4, row),), text=names[1])
        for line in self.lines:
            if self.middle is None:
                yield Shape("line", [self.at(p.x, p.y) for p in line.points], line.model)
            for p in line.points:
                arms = [[(p.x, end) for end in p.ends or ()], [(end, p.y) for end in p.x_ends or ()]]
                yield from (Shape("arm", [self.at(*end) for end in ends], line.model) for ends in arms if ends)
            for p in line.points[:: max(1, -(-len(line.points) // _MOST_MARKS))]:
                yield Shape("spot", (self.at(p.x, p.y),), line.model)


def legend_mark(model: int) -> Markup:
    """Return a line with a marker, as elements of a page, in a picture of 44 by 14."""
    from markupsafe import Markup

    return Markup(Shape("line", ((2, 7), (42, 7)), model).svg() + Shape("spot", ((22, 7),), model).svg())


def line_chart(
    title: str,
    x_name: str,
    y_name: str,
    lines: Sequence[Line],
    y_range: tuple[float, float],
    x_texts: Mapping[float, str] | None = None,
) -> Chart:
    """Return values of models against a severity, a level or a size; `x_texts` stand below in place of whole
    numbers.
    """
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


def quadrant_chart(
    title: str, x_name: str, y_name: str, lines: Sequence[Line], middle: tuple[float, float], where: Sequence[str]
) -> Chart:
    """Return two scores of models, a point each, with a point that splits the chart in four; `where` is the quadrant of
    each.
    """
    points = [line.points[0] for line in lines]
    x = _widened([middle[0], *(end for p in points for end in (p.x, *(p.x_ends or ())))])
    y = _widened([middle[1], *(end for p in points for end in (p.y, *(p.ends or ())))])
    told = [
        f"{line.label} at {p.x:.2f} and {p.y:.1f}, quadrant {own}"
        for line, p, own in zip(lines, points, where, strict=True)
    ]
    summary = (
        f"{title}: {y_name} against {x_name}. The lines cross at {middle[0]:.2f} and {middle[1]:.1f}; {_few(told)}"
    )
    return Chart(
        title, x_name, y_name, x, y, {tick: f"{tick:g}" for tick in axis_ticks(*x)}, summary, QUADRANTS, lines, middle
    )


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
