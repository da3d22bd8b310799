"""Grids of square regions, and the regions that they hold, each once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..records.models import RegionRecord, RegionRow

Ints = NDArray[np.int64]


class Grid(NamedTuple):
    """Regions of one side at adjacent positions: base regions, or an anchor's shrinks."""

    group: str
    fraction: float | None
    side: int
    role: Literal["base", "shrink"]
    y0: int
    x0: int
    ny: int
    nx: int
    margin: int
    """How many positions from the border of the block its anchors begin."""


@dataclass(frozen=True)
class Regions:
    """The regions of one image, sorted by side, y and x: arrays of one length."""

    source: str
    """The image's id."""
    grids: Sequence[Grid | RegionRow]
    grid: Ints
    """Which of the grids a region is described by."""
    side: Ints
    y: Ints
    x: Ints
    row: Ints
    col: Ints
    anchor: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.grid)

    def record(self, number: int) -> RegionRecord:
        """Return what samples.jsonl says of a region."""
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
    """Return the regions of an image that grids or rows of regions.jsonl hold.

    A region that several grids hold is described as an anchor if one of them says so, else as a base region, else as a
    shrink; among equals the first grid counts.
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
    # A shrink at offset k of the grid lies in the anchors k - 2 to k, as far as there are any: the first is named.
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
