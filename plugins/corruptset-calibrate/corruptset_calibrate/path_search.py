"""Where on the path through a table's rows a quality lies."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

GRAIN = 32
"""Parts of a severity that a place on the path is found to."""
FARTHEST = 10
"""Severities from 0 to which the path is followed; above the last row it is a line."""


class Search:
    """Finds places on a path by their quality; each place is measured once.

    Parameters
    ----------
    measure : callable
        A place above 0, in severities -> its quality; at 0 it is 1.
    """

    def __init__(self, measure: Callable[[Fraction], float]) -> None:
        self.measured: dict[Fraction, float] = {Fraction(0): 1.0}
        """Place -> quality."""
        self._measure = measure

    def at(self, place: Fraction) -> float:
        """Return the quality at a place."""
        if place not in self.measured:
            self.measured[place] = self._measure(place)
        return self.measured[place]

    def find(self, target: float, start: int) -> tuple[Fraction, bool]:
        """Return the place whose quality is nearest to a target, and whether the path passes the target.

        From a severity on outwards, the first stretch between two whole severities whose qualities lie on both sides of the target is
        halved until it is one grain long; so of several places with one quality the one near to the severity is found.
        """
        for low in sorted(range(FARTHEST), key=lambda low: (abs(low - start + 0.5), -low)):
            ends = Fraction(low), Fraction(low + 1)
            if (self.at(ends[0]) - target) * (self.at(ends[1]) - target) <= 0:
                return self._halved(target, *ends), True
        return min((place for place in self.measured if place), key=lambda place: (abs(self.measured[place] - target), place)), False

    def _halved(self, target: float, low: Fraction, high: Fraction) -> Fraction:
        falls = self.at(low) >= self.at(high)
        while high - low > Fraction(1, GRAIN):
            middle = (low + high) / 2
            if (self.at(middle) >= target) == falls:
                low = middle
            else:
                high = middle
        return min((place for place in (low, high) if place), key=lambda place: (abs(self.at(place) - target), place))
