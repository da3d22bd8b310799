"""Charts as shapes: curves of models, points in quadrants, metrics with their spread.

Pages and the plots of `compare` have the same. A model has a colour, a marker and a kind of line by its place among the
models, so that charts work in print without colour and for the colour-blind. On a page, colours come from its style
sheet, which has others in the dark. The same numbers stand in a table beside a chart.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

from .document import visible

if TYPE_CHECKING:
    from markupsafe import Markup

LOOKS, DASHES = 8, 4
"""How many colours and markers, and kinds of line, models have."""
MOST_TOLD = 6
"""Models whose values the text of a chart tells; of the others it says that the table has them."""
_MOST_MARKS = 7
_NICE = (1, 2, 2.5, 5, 10)
_TICKS = 4


def look(model: int) -> tuple[int, int, int]:
    """Return a model's colour, marker and kind of line.

    The first eight models differ in colour and marker, the next eight in the line too.
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


def rectangle(kind: str, left: float, top: float, right: float, bottom: float, model: int | None = None) -> Shape:
    """Return an area with upright sides."""
    return Shape(kind, ((left, top), (right, top), (right, bottom), (left, bottom)), model)


class Point(NamedTuple):
    """A value with its intervals, up and across."""

    x: float
    y: float
    ends: tuple[float, float] | None = None
    x_ends: tuple[float, float] | None = None


class Line(NamedTuple):
    """The values of one model, or of a metric."""

    model: int
    """Its place among the models."""
    label: str
    points: Sequence[Point]
    is_metric: bool = False
    """Whether it has no model's colour, and a band in place of intervals."""


class Mark(NamedTuple):
    """A line across a chart, at a value that means something."""

    value: float
    name: str


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
    """Values of several models, or of a metric, and where they lie."""

    title: str
    x_name: str
    y_name: str
    x_range: tuple[float, float]
    y_range: tuple[float, float]
    x_texts: Mapping[float, str]
    """What stands below the chart."""
    summary: str
    """What is seen, in a few words a line, for those who do not see it."""
    box: Box
    lines: Sequence[Line]
    middle: tuple[float, float] | None = None
    """Where the lines between the quadrants cross."""
    marks: Sequence[Mark] = ()

    def at(self, x: float, y: float) -> tuple[float, float]:
        """Return where values lie in the picture."""
        left, right, (low, high) = self.box.left + self.box.inset, self.box.right - self.box.inset, self.y_range
        up = _share(min(max(y, low), high), self.y_range) * (self.box.bottom - self.box.top)
        return left + _share(x, self.x_range) * (right - left), self.box.bottom - up

    def svg(self) -> Markup:
        """Return the chart as an element of a page, which has its title."""
        return element("curve", f"0 0 {self.box.width} {self.box.height}", self.summary, self.shapes())

    def spark(self) -> Markup:
        """Return the lines alone, for a place that is too small for axes."""
        box = self.box
        frame = f"{box.left} 0 {box.right - box.left} {box.bottom + box.top}"
        return element("spark", frame, self.summary, (shape for line in self.lines for shape in self._drawn(line)))

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
        for mark in self.marks:
            y = self.at(0, mark.value)[1]
            yield Shape("mark", ((left, y), (right, y)))
        for line in self.lines:
            yield from self._drawn(line)

    def _drawn(self, line: Line) -> Iterator[Shape]:
        """Yield a line with its intervals and markers."""
        places = [self.at(p.x, p.y) for p in line.points]
        if line.is_metric:
            low, high = ([self.at(p.x, p.ends[end]) for p in line.points if p.ends] for end in (0, 1))
            yield Shape("band", [*high, *low[::-1]])
            yield Shape("line", places)
            # a path without a length, with round ends
            yield from (Shape("dot", (place, place)) for place in places if len(places) <= _MOST_MARKS)
            return
        if self.middle is None:
            yield Shape("line", places, line.model)
        for p in line.points:
            arms = [[(p.x, end) for end in p.ends or ()], [(end, p.y) for end in p.x_ends or ()]]
            yield from (Shape("arm", [self.at(*end) for end in ends], line.model) for ends in arms if ends)
        for place in places[:: max(1, -(-len(places) // _MOST_MARKS))]:
            yield Shape("spot", (place,), line.model)


def element(kind: str, frame: str, said: str, shapes: Iterable[Shape]) -> Markup:
    """Return shapes as a picture of a page, with what is seen in words."""
    from markupsafe import Markup

    label, drawn = escape(str(visible(said))), "\n".join(shape.svg() for shape in shapes)
    return Markup(f'<svg class="{kind}" viewBox="{frame}" role="img" aria-label="{label}">\n{drawn}\n</svg>')


def axis_ticks(low: float, high: float) -> list[float]:
    """Return round values for an axis, at most five.

    Examples
    --------
    >>> axis_ticks(0, 1)
    [0.0, 0.25, 0.5, 0.75, 1.0]
    >>> axis_ticks(11.3, 32)
    [20.0, 30.0]
    """
    rough = (high - low) / _TICKS
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(nice * power for nice in _NICE if nice * power >= rough * (1 - 1e-9))
    numbers = range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)
    return [round(number * step, 10) for number in numbers]


def legend_mark(model: int) -> Markup:
    """Return a model's line and marker, in a picture of 44 by 14."""
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
    """Return models' values against a severity, level or size; `x_texts` replace its numbers."""
    texts = x_texts or {}
    told = [f"{line.label} {_course(line.points, texts)}" for line in lines]
    summary = f"{title}: {y_name} against {x_name}. {_few(told)}"
    known = sorted(texts or {point.x for line in lines for point in line.points})
    below = texts or _below(known)
    return Chart(title, x_name, y_name, (known[0], known[-1]), y_range, below, summary, LINES, lines)


def metric_chart(
    title: str,
    x_name: str,
    x: Sequence[float],
    values: Sequence[float | None],
    spread: Sequence[float | None],
    y_range: tuple[float, float],
    marks: Sequence[Mark] = (),
) -> Chart:
    """Return a metric against a severity or level, with a band; None is a gap."""
    lines = []
    for is_known, run in groupby(zip(x, values, spread, strict=True), key=lambda point: point[1] is not None):
        if is_known:
            points = [(at, y or 0.0, some or 0.0) for at, y, some in run]
            values_with_band = [Point(at, y, (y - some, y + some)) for at, y, some in points]
            lines.append(Line(0, title, values_with_band, is_metric=True))
    course = _course([point for line in lines for point in line.points], {}) if lines else "has no values"
    across = "".join(f"; a line at {mark.value:.4g}, {mark.name}" for mark in marks)
    summary = f"{title} against {x_name} {course}{across}."
    return Chart(title, x_name, title, (x[0], x[-1]), y_range, _below(x), summary, LINES, lines, None, marks)


def quadrant_chart(
    title: str, x_name: str, y_name: str, lines: Sequence[Line], middle: tuple[float, float], where: Sequence[str]
) -> Chart:
    """Return two scores of models as points, in a chart split in four.

    `where` is the quadrant of each model.
    """
    points = [line.points[0] for line in lines]
    x = _widened([middle[0], *(end for p in points for end in (p.x, *(p.x_ends or ())))])
    y = _widened([middle[1], *(end for p in points for end in (p.y, *(p.ends or ())))])
    told = [
        f"{line.label} at {p.x:.2f} and {p.y:.1f}, quadrant {own}"
        for line, p, own in zip(lines, points, where, strict=True)
    ]
    crossing = f"The lines cross at {middle[0]:.2f} and {middle[1]:.1f}"
    summary = f"{title}: {y_name} against {x_name}. {crossing}; {_few(told)}"
    below = {tick: f"{tick:g}" for tick in axis_ticks(*x)}
    return Chart(title, x_name, y_name, x, y, below, summary, QUADRANTS, lines, middle)


def _course(points: Sequence[Point], texts: Mapping[float, str]) -> str:
    """Return where values begin and end, in words."""
    first, last = points[0], points[-1]
    way = "stays at" if first.y == last.y else "falls to" if last.y < first.y else "rises to"
    start, stop = (texts.get(round(p.x), f"{p.x:g}") for p in (first, last))
    return f"begins at {first.y:.4g} at {start} and {way} {last.y:.4g} at {stop}"


def _below(known: Sequence[float]) -> dict[float, str]:
    """Return what stands below an axis: all values, or round ones of many."""
    step = 10 if known[-1] > 10 else 1
    return {x: f"{x:g}" for x in known if len(known) <= _MOST_MARKS or x % step == 0}


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
