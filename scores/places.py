"""Where the regions of a data set lie, and which lie beside or inside which."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import VerificationError
from ..manifests.records.models import RegionRecord

Ints = NDArray[np.int64]


class Step(NamedTuple):
    """From a region to another of the same image."""

    side: int
    """Pixels that the side grows by."""
    y: int
    x: int


SHIFTS = tuple(Step(0, y, x) for y in (-1, 0, 1) for x in (-1, 0, 1) if (y, x) != (0, 0))
"""To the eight neighbours."""
SHRINKS = tuple(Step(-2, y, x) for y in range(3) for x in range(3))
"""To the nine regions inside that are two pixels smaller."""


@dataclass(frozen=True)
class Places:
    """Regions of some images: arrays of one length, a value a region, in any order."""

    sources: tuple[str, ...]
    """The ids of the images."""
    source: Ints
    """Which of them."""
    groups: tuple[str, ...]
    """Their names, smallest regions first."""
    group: Ints
    side: Ints
    y: Ints
    x: Ints
    anchor: NDArray[np.bool_]

    @classmethod
    def of(cls, records: Iterable[RegionRecord]) -> Places:
        """Return the places of regions as their records have them."""
        sources: dict[str, int] = {}
        groups: dict[str, int] = {}
        rows = (
            (
                sources.setdefault(r.source, len(sources)),
                groups.setdefault(r.group, len(groups)),
                r.side,
                r.y,
                r.x,
                r.anchor,
            )
            for r in records
        )
        source, group, side, y, x, anchor = np.fromiter(rows, np.dtype((np.int64, 6))).T.copy()
        names = sorted(groups, key=lambda name: (int(name[1:]) if name[1:].isdecimal() else 0, name))
        place = np.array([names.index(name) for name in groups], np.int64)
        return cls(tuple(sources), source, tuple(names), place[group], side, y, x, anchor.astype(bool))

    def __len__(self) -> int:
        return len(self.source)


class Neighbours:
    """Finds regions by their place: sorts once, then looks up by bisection.

    Memory: 24 bytes a region, and 16 bytes for each place that is looked up at once.

    Raises
    ------
    VerificationError
        Two regions have one place.
    """

    def __init__(self, places: Places) -> None:
        self._places = places
        self._sides = np.unique(places.side)
        # one number of 63 bits a place: positions are counted from -1, so that steps out of the image meet no other
        # row's regions
        self._width = int(places.x.max(initial=0)) + 4
        self._height = int(places.y.max(initial=0)) + 4
        if len(places.sources) * len(self._sides) * self._width * self._height >= 2**63:
            raise VerificationError("Regions lie beyond any image. Run `corruptset verify` on the data set.")
        keys = self._keys(places.source, np.searchsorted(self._sides, places.side), places.y, places.x)
        self._order = np.argsort(keys, kind="stable")
        self._keys_in_order = keys[self._order]
        if (self._keys_in_order[1:] == self._keys_in_order[:-1]).any():
            raise VerificationError("A region is a sample twice. Run `corruptset verify` on the data set.")

    def at(self, regions: Ints, step: Step) -> Ints:
        """Return for each region which one lies a step from it, -1 where none does."""
        places = self._places
        side = places.side[regions] + step.side
        code = np.minimum(np.searchsorted(self._sides, side), len(self._sides) - 1)
        wanted = self._keys(places.source[regions], code, places.y[regions] + step.y, places.x[regions] + step.x)
        found = np.minimum(np.searchsorted(self._keys_in_order, wanted), len(self._order) - 1)
        there = (self._keys_in_order[found] == wanted) & (self._sides[code] == side)
        return np.where(there, self._order[found], -1)

    def _keys(self, source: Ints, side: Ints, y: Ints, x: Ints) -> Ints:
        return ((source * len(self._sides) + side) * self._height + y + 1) * self._width + x + 1
