"""Draw SVG charts: line charts of models or of a metric, and scatter charts of two scores in four quadrants.

Pages and the plots of `compare` share these charts. A model's position in the list of models determines its colour,
marker and dashes, so models differ in more than colour. Colours come from the style sheet of the page or of the SVG
file. Every chart on a page is accompanied by a table of the same numbers.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

from .svg import Shape, svg_element

if TYPE_CHECKING:
    from markupsafe import Markup

MAX_DESCRIBED = 6
"""The largest number of models whose values are part of a chart's description."""
_MAX_MARKERS = 7
_ROUND_STEPS = (1, 2, 2.5, 5, 10)
_TICKS = 4


class Point(NamedTuple):
    """A point with optional confidence intervals, which are `ends` in y and `x_ends` in x."""

    x: float
    y: float
    ends: tuple[float, float] | None = None
    x_ends: tuple[float, float] | None = None


class Line(NamedTuple):
    """The values of one model, or of a metric.

    Attributes
    ----------
    model : int
        The position of the model among all models.
    label : str
    points : sequence of Point
    is_metric : bool
        Whether the line shows a metric. Such a line has a band instead of intervals, and does not have a model's
        colour.
    """

    model: int
    label: str
    points: Sequence[Point]
    is_metric: bool = False


class Mark(NamedTuple):
    """A horizontal line at a reference value."""

    value: float
    name: str


class Box(NamedTuple):
    """The size of a chart and the position of its axes.

    `inset` is the distance from each end of the x axis to the nearest value.
    """

    width: int
    height: int
    left: int
    right: int
    top: int
    bottom: int
    inset: int


LINES, QUADRANTS = Box(260, 170, 38, 250, 10, 138, 10), Box(360, 300, 44, 350, 10, 262, 0)
SPARKLINE = Box(132, 96, 16, 128, 8, 76, 8)


@dataclass(frozen=True)
class Chart:
    """A chart of several models, or of a metric.

    Attributes
    ----------
    title, x_name, y_name : str
    x_range, y_range : (float, float)
    x_texts : mapping of float to str
        The labels of the x axis.
    summary : str
        A description for readers who cannot see the chart.
    box : Box
    lines : sequence of Line
    middle : (float, float), optional
        The point at which the lines between the quadrants cross.
    marks : sequence of Mark
    """

    title: str
    x_name: str
    y_name: str
    x_range: tuple[float, float]
    y_range: tuple[float, float]
    x_texts: Mapping[float, str]
    summary: str
    box: Box
    lines: Sequence[Line]
    middle: tuple[float, float] | None = None
    marks: Sequence[Mark] = ()

    def at(self, x: float, y: float) -> tuple[float, float]:
        """Return the position of a value in the chart."""
        left, right, (low, high) = self.box.left + self.box.inset, self.box.right - self.box.inset, self.y_range
        up = _share(min(max(y, low), high), self.y_range) * (self.box.bottom - self.box.top)
        return left + _share(x, self.x_range) * (right - left), self.box.bottom - up

    def svg(self) -> Markup:
        """Return the chart as an SVG element of a page."""
        return svg_element("curve", self.box.width, self.box.height, self.summary, self.shapes())

    def sparkline(self) -> Markup:
        """Return a small version of the chart as an SVG element, with labels only at the ends of both axes."""
        ends = {x: f"{x:g}" for x in self.x_range}
        small = replace(self, box=SPARKLINE, x_name="", x_texts=ends, marks=())
        shapes = small._with_axes(self.y_range)
        return svg_element("curve spark", small.box.width, small.box.height, self.summary, shapes)

    def shapes(self) -> Iterator[Shape]:
        """Yield all shapes of the chart, from the background to the foreground."""
        return self._with_axes(axis_ticks(*self.y_range))

    def _with_axes(self, y_ticks: Sequence[float]) -> Iterator[Shape]:
        left, right, top, bottom = self.box.left, self.box.right, self.box.top, self.box.bottom
        for tick in y_ticks:
            y = self.at(0, tick)[1]
            yield Shape("rule", ((left, y), (right, y)))
            yield Shape("y", ((left - 5, y + 4),), text=f"{tick:g}")
        for x, text in self.x_texts.items():
            yield Shape("x", ((self.at(x, 0)[0], bottom + 14),), text=text)
        if self.x_name:
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
            yield from self._line_shapes(line)

    def _line_shapes(self, line: Line) -> Iterator[Shape]:
        """Yield the shapes of a line, its intervals and its markers."""
        places = [self.at(p.x, p.y) for p in line.points]
        if line.is_metric:
            low, high = ([self.at(p.x, p.ends[end]) for p in line.points if p.ends] for end in (0, 1))
            yield Shape("band", [*high, *low[::-1]])
            yield Shape("line", places)
            # A path of length zero is drawn as a dot, because its line caps are round.
            yield from (Shape("dot", (place, place)) for place in places if len(places) <= _MAX_MARKERS)
            return
        if self.middle is None:
            yield Shape("line", places, line.model)
        for p in line.points:
            arms = [[(p.x, end) for end in p.ends or ()], [(end, p.y) for end in p.x_ends or ()]]
            yield from (Shape("arm", [self.at(*end) for end in ends], line.model) for ends in arms if ends)
        for place in places[:: max(1, -(-len(places) // _MAX_MARKERS))]:
            yield Shape("spot", (place,), line.model)


def axis_ticks(low: float, high: float) -> list[float]:
    """Return at most five round values for an axis.

    Examples
    --------
    >>> axis_ticks(0, 1)
    [0.0, 0.25, 0.5, 0.75, 1.0]
    >>> axis_ticks(11.3, 32)
    [20.0, 30.0]
    """
    rough = (high - low) / _TICKS
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in _ROUND_STEPS if factor * power >= rough * (1 - 1e-9))
    numbers = range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)
    return [round(number * step, 10) for number in numbers]


def line_chart(
    title: str,
    x_name: str,
    y_name: str,
    lines: Sequence[Line],
    y_range: tuple[float, float],
    x_texts: Mapping[float, str] | None = None,
) -> Chart:
    """Return a chart of models' values against a severity, level or size.

    `x_texts` are the labels of the x axis. By default, the x values themselves are the labels.
    """
    texts = x_texts or {}
    courses = [f"{line.label} {_course(line.points, texts)}" for line in lines]
    summary = f"{title}: {y_name} against {x_name}. {_first_models(courses)}"
    known = sorted(texts or {point.x for line in lines for point in line.points})
    return Chart(
        title, x_name, y_name, (known[0], known[-1]), y_range, texts or _x_labels(known), summary, LINES, lines
    )


def metric_chart(
    title: str,
    x_name: str,
    x: Sequence[float],
    values: Sequence[float | None],
    spread: Sequence[float | None],
    y_range: tuple[float, float],
    marks: Sequence[Mark] = (),
) -> Chart:
    """Return a chart of a metric against a severity or level.

    `spread` is half the width of the band around each value. A value of None is a gap in the line.
    """
    lines = []
    for is_known, run in groupby(zip(x, values, spread, strict=True), key=lambda point: point[1] is not None):
        if is_known:
            points = [(at, y or 0.0, half_width or 0.0) for at, y, half_width in run]
            values_with_band = [Point(at, y, (y - half_width, y + half_width)) for at, y, half_width in points]
            lines.append(Line(0, title, values_with_band, is_metric=True))
    course = _course([point for line in lines for point in line.points], {}) if lines else "has no values"
    across = "".join(f"; a line at {mark.value:.4g}, {mark.name}" for mark in marks)
    summary = f"{title} against {x_name} {course}{across}."
    return Chart(title, x_name, title, (x[0], x[-1]), y_range, _x_labels(x), summary, LINES, lines, None, marks)


def quadrant_chart(
    title: str, x_name: str, y_name: str, lines: Sequence[Line], middle: tuple[float, float], quadrants: Sequence[str]
) -> Chart:
    """Return a scatter chart of two scores, with one point per model, divided into four quadrants.

    `quadrants` contains the name of each model's quadrant.
    """
    points = [line.points[0] for line in lines]
    x = _widen([middle[0], *(end for p in points for end in (p.x, *(p.x_ends or ())))])
    y = _widen([middle[1], *(end for p in points for end in (p.y, *(p.ends or ())))])
    descriptions = [
        f"{line.label} at {p.x:.2f} and {p.y:.1f}, quadrant {quadrant}"
        for line, p, quadrant in zip(lines, points, quadrants, strict=True)
    ]
    crossing = f"The lines cross at {middle[0]:.2f} and {middle[1]:.1f}"
    summary = f"{title}: {y_name} against {x_name}. {crossing}; {_first_models(descriptions)}"
    labels = {tick: f"{tick:g}" for tick in axis_ticks(*x)}
    return Chart(title, x_name, y_name, x, y, labels, summary, QUADRANTS, lines, middle)


def _course(points: Sequence[Point], texts: Mapping[float, str]) -> str:
    """Return a description of a line that states its first and last values."""
    first, last = points[0], points[-1]
    verb = "stays at" if first.y == last.y else "falls to" if last.y < first.y else "rises to"
    start, stop = (texts.get(round(p.x), f"{p.x:g}") for p in (first, last))
    return f"begins at {first.y:.4g} at {start} and {verb} {last.y:.4g} at {stop}"


def _x_labels(known: Sequence[float]) -> dict[float, str]:
    """Return labels for all values on the x axis, or only for round values if there are more than seven."""
    step = 10 if known[-1] > 10 else 1
    return {x: f"{x:g}" for x in known if len(known) <= _MAX_MARKERS or x % step == 0}


def _first_models(descriptions: Sequence[str]) -> str:
    more = len(descriptions) - MAX_DESCRIBED
    rest = f"; {more} more model{'s' * (more > 1)} in the table" if more > 0 else ""
    return f"{'; '.join(descriptions[:MAX_DESCRIBED])}{rest}."


def _share(value: float, ends: tuple[float, float]) -> float:
    low, high = ends
    return (value - low) / (high - low) if high > low else 0.5


def _widen(values: Sequence[float]) -> tuple[float, float]:
    low, high = min(values), max(values)
    more = 0.12 * (high - low) or 0.5
    return low - more, high + more
