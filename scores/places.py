"""The positions of the regions of a dataset, and their neighbours."""

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
    """The offset of another region in the same image from a region."""

    side: int
    """The change of the side in pixels."""
    y: int
    x: int


SHIFTS = tuple(Step(0, y, x) for y in (-1, 0, 1) for x in (-1, 0, 1) if (y, x) != (0, 0))
"""The offsets of the eight neighbours."""
SHRINKS = tuple(Step(-2, y, x) for y in range(3) for x in range(3))
"""The offsets of the nine regions inside a region that are two pixels smaller."""


@dataclass(frozen=True)
class Places:
    """The positions of regions in some images, as arrays with one value per region, in any order."""

    sources: tuple[str, ...]
    """The ids of the images."""
    source: Ints
    """The index in `sources` of the image of each region."""
    groups: tuple[str, ...]
    """The names of the region sizes, from the smallest to the largest."""
    group: Ints
    side: Ints
    y: Ints
    x: Ints
    anchor: NDArray[np.bool_]

    @classmethod
    def of(cls, records: Iterable[RegionRecord]) -> Places:
        """Return the positions that the records of regions contain."""
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
    """An index of regions by position. The positions are sorted once and then searched by bisection.

    Raises
    ------
    VerificationError
        If two regions have the same position.
    """

    def __init__(self, places: Places) -> None:
        self._places = places
        self._sides = np.unique(places.side)
        # Each position is encoded as a 63-bit number. Positions are counted from -1, so that a step out of the image
        # does not lead to a region in another row.
        self._width = int(places.x.max(initial=0)) + 4
        self._height = int(places.y.max(initial=0)) + 4
        if len(places.sources) * len(self._sides) * self._width * self._height >= 2**63:
            raise VerificationError(
                "Regions are outside the largest possible image. Run `corruptset verify` on the dataset."
            )
        keys = self._keys(places.source, np.searchsorted(self._sides, places.side), places.y, places.x)
        self._order = np.argsort(keys, kind="stable")
        self._keys_in_order = keys[self._order]
        if (self._keys_in_order[1:] == self._keys_in_order[:-1]).any():
            raise VerificationError("A region occurs twice in the samples. Run `corruptset verify` on the dataset.")

    def at(self, regions: Ints, step: Step) -> Ints:
        """Return, for each region, the number of the region at the given offset, or -1 if there is none."""
        places = self._places
        side = places.side[regions] + step.side
        code = np.minimum(np.searchsorted(self._sides, side), len(self._sides) - 1)
        wanted = self._keys(places.source[regions], code, places.y[regions] + step.y, places.x[regions] + step.x)
        places_in_order = np.minimum(np.searchsorted(self._keys_in_order, wanted), len(self._order) - 1)
        exists = (self._keys_in_order[places_in_order] == wanted) & (self._sides[code] == side)
        return np.where(exists, self._order[places_in_order], -1)

    def _keys(self, source: Ints, side: Ints, y: Ints, x: Ints) -> Ints:
        return ((source * len(self._sides) + side) * self._height + y + 1) * self._width + x + 1
