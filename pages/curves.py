"""Curves of a page: small line charts as SVG, each a polyline with a band for the spread. The same numbers stand in a
table beside them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from itertools import groupby
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markupsafe import Markup

WIDTH, HEIGHT = 260, 150
_LEFT, _RIGHT, _TOP, _BOTTOM = 40, 8, 10, 28
_NICE = (1, 2, 2.5, 5, 10)
_TICKS = 4


@dataclass(frozen=True)
class Mark:
    """A line across a chart, at a value that means something."""

    value: float
    name: str


@dataclass(frozen=True)
class Curve:
    """One line chart."""

    title: str
    """What is measured, with its unit."""
    x_name: str
    x: Sequence[float]
    """Severities or levels, upwards."""
    y: Sequence[float | None]
    """The value at each; None where there is none."""
    spread: Sequence[float | None]
    """How far the band goes to both sides of it."""
    bounds: tuple[float | None, float | None] = (None, None)
    """Of the axis; None follows from the values."""
    marks: Sequence[Mark] = ()

    def summary(self) -> str:
        """Return what is seen, in a sentence, for those who do not see it."""
        known = [(x, y) for x, y in zip(self.x, self.y, strict=True) if y is not None]
        if not known:
            return f"{self.title}: no values."
        (first, start), (last, stop) = known[0], known[-1]
        way = "stays at" if start == stop else "falls to" if stop < start else "rises to"
        marks = "".join(f"; a line at {_number(mark.value)}, {mark.name}" for mark in self.marks)
        return (
            f"{self.title} against {self.x_name}: {_number(start)} at {first}, {way} {_number(stop)} at {last}{marks}."
        )

    def svg(self) -> Markup:
        """Return the chart."""
        from markupsafe import Markup

        low, high = self._range()
        ticks = axis_ticks(low, high)
        parts = [f'<svg class="curve" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(self.summary())}">']
        for tick in ticks:
            y = self._at(tick, low, high)
            parts.append(f'<path class="rule" d="M{_LEFT} {y}H{WIDTH - _RIGHT}"/>')
            parts.append(f'<text class="y" x="{_LEFT - 5}" y="{y}">{_number(tick)}</text>')
        step = 10 if all(isinstance(x, int) for x in self.x) else 1
        for x in self.x if len(self.x) <= 6 else [x for x in self.x if x % step == 0] or self.x[:1]:
            parts.append(f'<text class="x" x="{self._across(x)}" y="{HEIGHT - _BOTTOM + 14}">{x:g}</text>')
        parts.append(
            f'<text class="x" x="{(_LEFT + WIDTH - _RIGHT) / 2:g}" y="{HEIGHT - 3}">{escape(self.x_name)}</text>'
        )
        for mark in self.marks:
            y = self._at(mark.value, low, high)
            parts.append(f'<path class="mark" d="M{_LEFT} {y}H{WIDTH - _RIGHT}"/>')
        parts += self._lines(low, high)
        return Markup("".join([*parts, "</svg>"]))

    def spark(self) -> Markup:
        """Return the line alone, for a place that is too small for axes."""
        from markupsafe import Markup

        frame = f"{_LEFT} 0 {WIDTH - _LEFT} {HEIGHT - _BOTTOM + 4}"
        lines = "".join(self._lines(*self._range()))
        return Markup(f'<svg viewBox="{frame}" role="img" aria-label="{escape(self.summary())}">{lines}</svg>')

    def _lines(self, low: float, high: float) -> list[str]:
        """Return the band, the line and the points of each run of values without a gap."""
        points = list(zip(self.x, self.y, self.spread, strict=True))
        parts = []
        for known, run in groupby(points, key=lambda point: point[1] is not None):
            if not known:
                continue
            values = [(self._across(x), y, spread or 0.0) for x, y, spread in run if y is not None]
            band = [f"{x} {self._at(y + s, low, high)}" for x, y, s in values]
            band += [f"{x} {self._at(y - s, low, high)}" for x, y, s in reversed(values)]
            parts.append(f'<path class="band" d="M{"L".join(band)}Z"/>')
            parts.append(
                f'<polyline class="line" points="{" ".join(f"{x} {self._at(y, low, high)}" for x, y, _ in values)}"/>'
            )
            if len(values) <= 6:
                parts += [f'<circle class="dot" cx="{x}" cy="{self._at(y, low, high)}" r="3"/>' for x, y, _ in values]
        return parts

    def _range(self) -> tuple[float, float]:
        known = [(y, s or 0.0) for y, s in zip(self.y, self.spread, strict=True) if y is not None]
        low, high = self.bounds
        low = min((y - s for y, s in known), default=0.0) if low is None else low
        high = max((y + s for y, s in known), default=1.0) if high is None else high
        low, high = min([low, *(m.value for m in self.marks)]), max([high, *(m.value for m in self.marks)])
        return (low, high) if high > low else (low - 0.5, low + 0.5)

    def _at(self, value: float, low: float, high: float) -> str:
        share = (min(max(value, low), high) - low) / (high - low)
        return f"{HEIGHT - _BOTTOM - share * (HEIGHT - _TOP - _BOTTOM):.1f}"

    def _across(self, x: float) -> str:
        first, last = self.x[0], self.x[-1]
        share = (x - first) / (last - first) if last > first else 0.5
        return f"{_LEFT + 8 + share * (WIDTH - _RIGHT - _LEFT - 16):.1f}"


def axis_ticks(low: float, high: float) -> list[float]:
    """Return round values for an axis, at most five.

    Examples
    --------
    >>> axis_ticks(0, 1)
    [0.0, 0.25, 0.5, 0.75, 1.0]
    >>> axis_ticks(11.3, 32)
    [20.0, 30.0]
    """
    span, power = high - low, 0
    while span / _TICKS < 10.0**power:
        power -= 1
    while span / _TICKS >= 10.0 ** (power + 1):
        power += 1
    step = next(nice for nice in _NICE if nice * 10.0**power >= span / _TICKS * (1 - 1e-9)) * 10.0**power
    first = -(-(low / step - 1e-9) // 1)
    ticks: list[float] = []
    while (first + len(ticks)) * step <= high + step * 1e-9:
        ticks.append(round((first + len(ticks)) * step, 10) + 0.0)
    return ticks


def _number(value: float) -> str:
    return f"{value:.4g}"
