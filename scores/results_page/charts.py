"""Charts of models: where lines, points and bars lie, in the units of an SVG picture. Templates write them out.

A model has a colour, a marker and a kind of line by its place among the models, as in the plots of a comparison. The colours are the
page's: it has others in the dark.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ...pages.curves import axis_ticks

WIDTH, HEIGHT = 260, 170
"""Of a chart of lines."""
_LEFT, _RIGHT, _TOP, _BOTTOM = 38, 10, 10, 32
LOOKS, DASHES = 8, 4
"""How many colours and markers, and kinds of line, the page's style has."""
MOST_TOLD = 6
"""Models whose values the text of a chart tells; of the others it says that the table has them."""
_MOST_MARKS = 7


def look(model: int) -> str:
    """Return the classes of a model's place: the first eight differ in colour and marker, the next eight also in the line, and so on."""
    turn = model // LOOKS
    return f"m{model % LOOKS} d{(model + turn) % DASHES}"


def marker(model: int) -> str:
    """Return the id of a model's marker."""
    return f"marker-{(model + model // LOOKS) % LOOKS}"


class Point(NamedTuple):
    """A value of a model with its interval."""

    x: float
    y: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Line:
    """The values of one model."""

    model: int
    """Its place among the models."""
    label: str
    points: Sequence[Point]


@dataclass(frozen=True)
class DrawnLine:
    """A line in the units of the picture."""

    look: str
    marker: str
    path: str
    marks: Sequence[tuple[str, str]]
    arms: Sequence[str]
    """Paths of intervals."""


@dataclass(frozen=True)
class LineChart:
    """Values of several models against a severity, a level or a size."""

    title: str
    x_name: str
    y_name: str
    lines: Sequence[Line]
    bounds: tuple[float, float]
    """Of the y axis, the same for charts that stand side by side."""
    x_labels: Mapping[float, str] = field(default_factory=dict)
    """Value on the x axis -> what stands there; where it is empty, whole numbers are chosen."""
    width, height = WIDTH, HEIGHT
    left, right, top, bottom = _LEFT, WIDTH - _RIGHT, _TOP, HEIGHT - _BOTTOM

    @property
    def summary(self) -> str:
        """What is seen, in a sentence a model, for those who do not see it."""
        told = []
        for line in self.lines[:MOST_TOLD]:
            first, last = line.points[0], line.points[-1]
            way = "stays at" if first.y == last.y else "falls to" if last.y < first.y else "rises to"
            told.append(f"{line.label} begins at {first.y:.1f} at {self._x_text(first.x)} and {way} {last.y:.1f} at {self._x_text(last.x)}")
        more = len(self.lines) - MOST_TOLD
        rest = f"; {more} more model{'s' * (more > 1)} in the table" if more > 0 else ""
        return f"{self.title}: {self.y_name} against {self.x_name}. {'; '.join(told)}{rest}."

    @property
    def y_ticks(self) -> list[tuple[str, str]]:
        """Heights and texts of the rules across the chart."""
        return [(self._y(tick), f"{tick:g}") for tick in axis_ticks(*self.bounds)]

    @property
    def x_ticks(self) -> list[tuple[str, str]]:
        """Places and texts below the chart."""
        if self.x_labels:
            return [(self._x(x), text) for x, text in self.x_labels.items()]
        known = sorted({point.x for line in self.lines for point in line.points})
        return [(self._x(x), f"{x:g}") for x in known if len(known) <= _MOST_MARKS or x % 10 == 0]

    @property
    def drawn(self) -> list[DrawnLine]:
        """The lines."""
        return [self._drawn(line) for line in self.lines]

    def _drawn(self, line: Line) -> DrawnLine:
        places = [(self._x(p.x), self._y(p.y)) for p in line.points]
        step = max(1, -(-len(places) // _MOST_MARKS))
        arms = [
            f"M{x} {self._y(p.low)}V{self._y(p.high)}"
            for (x, _), p in zip(places, line.points, strict=True)
            if p.low is not None and p.high is not None
        ]
        path = "M" + "L".join(f"{x} {y}" for x, y in places)
        return DrawnLine(look(line.model), marker(line.model), path, places[::step], arms)

    def _x(self, value: float) -> str:
        known = [*self.x_labels] or [point.x for line in self.lines for point in line.points]
        low, high = min(known), max(known)
        share = (value - low) / (high - low) if high > low else 0.5
        return _unit(self.left + 10 + share * (self.right - self.left - 20))

    def _y(self, value: float) -> str:
        low, high = self.bounds
        share = (min(max(value, low), high) - low) / (high - low) if high > low else 0.5
        return _unit(self.bottom - share * (self.bottom - self.top))

    def _x_text(self, x: float) -> str:
        return next((text for place, text in self.x_labels.items() if abs(place - x) < 0.5), f"{x:g}")


@dataclass(frozen=True)
class Spot:
    """A model in a chart of two scores."""

    model: int
    label: str
    x: float
    y: float
    x_ends: tuple[float, float] | None
    y_ends: tuple[float, float] | None
    where: str
    """The quadrant."""


@dataclass(frozen=True)
class DrawnSpot:
    """A model in the units of the picture."""

    look: str
    marker: str
    x: str
    y: str
    arms: str
    """The path of both intervals."""


@dataclass(frozen=True)
class QuadrantChart:
    """Two scores of models, with a point that splits the chart in four."""

    title: str
    x_name: str
    y_name: str
    spots: Sequence[Spot]
    reference: tuple[float, float]
    corners: Sequence[str] = ("I", "II", "III", "IV")
    """Upper left, upper right, lower left, lower right."""
    width, height = 360, 300
    left, right, top, bottom = 44, 350, 10, 262

    @property
    def summary(self) -> str:
        """What is seen, for those who do not see it."""
        told = [f"{s.label} at {s.x:.2f} and {s.y:.1f}, quadrant {s.where}" for s in self.spots[:MOST_TOLD]]
        more = len(self.spots) - MOST_TOLD
        rest = f"; {more} more model{'s' * (more > 1)} in the table" if more > 0 else ""
        split = f"The lines cross at {self.reference[0]:.2f} and {self.reference[1]:.1f}"
        return f"{self.title}: {self.y_name} against {self.x_name}. {split}; {'; '.join(told)}{rest}."

    @property
    def middle(self) -> tuple[str, str]:
        """Where the lines cross."""
        return self._at(*self.reference)

    @property
    def x_ticks(self) -> list[tuple[str, str]]:
        """Places and texts below the chart."""
        return [(self._at(tick, self.reference[1])[0], f"{tick:g}") for tick in axis_ticks(*self._ranges[0])]

    @property
    def y_ticks(self) -> list[tuple[str, str]]:
        """Heights and texts beside the chart."""
        return [(self._at(self.reference[0], tick)[1], f"{tick:g}") for tick in axis_ticks(*self._ranges[1])]

    @property
    def drawn(self) -> list[DrawnSpot]:
        """The models."""
        found = []
        for spot in self.spots:
            x, y = self._at(spot.x, spot.y)
            arms = ""
            if spot.x_ends is not None:
                arms += f"M{self._at(spot.x_ends[0], spot.y)[0]} {y}H{self._at(spot.x_ends[1], spot.y)[0]}"
            if spot.y_ends is not None:
                arms += f"M{x} {self._at(spot.x, spot.y_ends[0])[1]}V{self._at(spot.x, spot.y_ends[1])[1]}"
            found.append(DrawnSpot(look(spot.model), marker(spot.model), x, y, arms))
        return found

    @property
    def _ranges(self) -> tuple[tuple[float, float], tuple[float, float]]:
        x = [self.reference[0], *(end for s in self.spots for end in (s.x, *(s.x_ends or ())))]
        y = [self.reference[1], *(end for s in self.spots for end in (s.y, *(s.y_ends or ())))]
        return _widened(x), _widened(y)

    def _at(self, x: float, y: float) -> tuple[str, str]:
        (left, right), (low, high) = self._ranges
        across = (x - left) / (right - left)
        up = (y - low) / (high - low)
        return _unit(self.left + across * (self.right - self.left)), _unit(self.bottom - up * (self.bottom - self.top))


@dataclass(frozen=True)
class Bar:
    """A score of a model as a length: shares of the longest one's, in thousandths."""

    label: str
    look: str
    length: str
    clean: str | None
    """The clean error."""
    arm: str | None
    """The path of the interval."""
    texts: Sequence[str]
    """What the cells beside the bar say."""


def apart(models: int) -> list[float]:
    """Return how far the points of models at one place of an axis of whole numbers stand beside each other.

    Examples
    --------
    >>> apart(3)
    [-0.08, 0.0, 0.08]
    """
    step = 0.08 * min(1, 8 / models)
    return [round(step * (n - (models - 1) / 2), 6) + 0.0 for n in range(models)]


def _widened(values: Sequence[float]) -> tuple[float, float]:
    low, high = min(values), max(values)
    more = 0.12 * (high - low) or 0.5
    return low - more, high + more


def _unit(value: float) -> str:
    return f"{value:.1f}"
