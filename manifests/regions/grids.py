"""Grids of square regions, and the distinct regions that they contain."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..records.models import RegionRecord, RegionRow

Ints = NDArray[np.int64]


class Grid(NamedTuple):
    """A grid of regions with the same side at adjacent positions: base regions, or ``shrink`` regions inside anchors.

    Anchors are the base regions that are not in the `margin` of their grid. ``shrink`` regions are smaller by two
    pixels.
    """

    group: str
    fraction: float | None
    side: int
    role: Literal["base", "shrink"]
    y0: int
    x0: int
    ny: int
    nx: int
    margin: int
    """The number of rows and columns at each border of the grid that contain no anchors."""


@dataclass(frozen=True)
class Regions:
    """The regions of one image, sorted by side, y and x, as arrays of equal length."""

    source: str
    """The id of the image."""
    grids: Sequence[Grid | RegionRow]
    grid: Ints
    """The index of the grid to which a region belongs."""
    side: Ints
    y: Ints
    x: Ints
    row: Ints
    col: Ints
    anchor: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.grid)

    def record(self, number: int) -> RegionRecord:
        """Return the record of a region in samples.jsonl."""
        grid = self.grids[int(self.grid[number])]
        return RegionRecord(
            source=self.source,
            group=grid.group,
            fraction=grid.fraction,
            side=grid.side,
            y=int(self.y[number]),
            x=int(self.x[number]),
            role=grid.role,
            row=int(self.row[number]),
            col=int(self.col[number]),
            anchor=bool(self.anchor[number]),
        )


def regions_of(source: str, grids: Sequence[Grid | RegionRow]) -> Regions:
    """Return the distinct regions of an image that grids, or rows of regions.jsonl, describe.

    If several grids contain a region, it is described as an anchor if possible, or else as a base region. Among equal
    descriptions, the one from the first grid is used.
    """
    fields = (
        np.array([(g.side, g.y0, g.x0, g.ny, g.nx, g.margin, g.role == "shrink") for g in grids], np.int64)
        .reshape(-1, 7)
        .T
    )
    sizes = fields[3] * fields[4]
    grid = np.repeat(np.arange(len(grids)), sizes)
    side, y0, x0, ny, nx, margin, shrink = fields[:, grid]
    number = np.arange(len(grid)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    row, col = number // nx, number % nx
    y, x = y0 + row, x0 + col
    inside = (margin <= row) & (row < ny - margin) & (margin <= col) & (col < nx - margin)
    anchor = inside & (shrink == 0)
    # A shrink region at offset k of the grid is inside the anchors k - 2 to k. The first of these anchors that exists
    # is recorded.
    row = np.where(shrink, margin + np.maximum(row - 2, 0), row)
    col = np.where(shrink, margin + np.maximum(col - 2, 0), col)
    order = np.lexsort((grid, np.where(anchor, 0, 1 + shrink), x, y, side))
    place = np.stack([side, y, x])[:, order]
    first = np.ones(len(order), bool)
    first[1:] = (place[:, 1:] != place[:, :-1]).any(axis=0)
    kept = order[first]
    return Regions(source, grids, grid[kept], side[kept], y[kept], x[kept], row[kept], col[kept], anchor[kept])


def region_id(source: str, side: int, y: int, x: int) -> str:
    """Return the sample id of a region.

    Examples
    --------
    >>> region_id("n01440764/cat", 75, 3, 12)
    'n01440764/cat@s0075/y0003x0012'
    """
    return f"{source}@s{side:04d}/y{y:04d}x{x:04d}"
