"""Compute the regions that a recipe defines for an image: all regions, or blocks of regions at random positions.

The random positions depend on the seed and on the image id.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import numpy as np

from ...corruptions.keys import sample_key, stage_key
from ...manifests.records.models import RegionRow
from ...manifests.regions.grids import Grid
from ..recipes.region_table import RegionGroup, RegionTable

REVISION = 1
"""The revision of the random draws. A new revision moves the blocks of every build."""
_WORDS = 64


def grids_of(table: RegionTable, seed: int, sample_id: str, width: int, height: int) -> list[Grid]:
    """Return the regions of an image as grids: blocks of base regions, and the shrunk regions of their anchors.

    For each side of regions, the positions of blocks are drawn uniformly without replacement from all positions in the
    image. The random numbers depend only on the seed, the image id, and the regions' kind, side and block size. Other
    sides, other images and the number of blocks have no effect. The image must be large enough, which
    `RegionTable.problem` checks.
    """
    area, grids = table.area(width, height), []
    for group in table.groups(width, height):
        across, down = (length - group.side + 1 for length in area)
        if table.blocks is None or table.block is None:
            places, ny, nx, margin = [(0, 0)], down, across, 0
        else:
            places = drawn_places(seed, sample_id, table.kind, group.side, (down, across), table.block, table.blocks)
            ny = nx = table.block
            margin = 1
        for y, x in places:
            grids.append(Grid(group.name, group.fraction, group.side, "base", y, x, ny, nx, margin))
            if table.kind == "crop":
                grids.append(_shrinks(group, y + margin, x + margin, ny - 2 * margin + 2, nx - 2 * margin + 2, margin))
    return grids


def _shrinks(group: RegionGroup, y: int, x: int, ny: int, nx: int, margin: int) -> Grid:
    """Return the grid of shrunk regions, which are two pixels smaller than the regions of a group."""
    return Grid(group.name, group.fraction, group.side - 2, "shrink", y, x, ny, nx, margin)


def drawn_places(
    seed: int, sample_id: str, kind: str, side: int, positions: tuple[int, int], block: int, blocks: int
) -> list[tuple[int, int]]:
    """Draw blocks of `block` x `block` regions, and return the sorted (y, x) positions of their first regions.

    `positions` are the numbers of rows and columns of region positions. If there are at most `blocks` positions for a
    block, all of them are returned.
    """
    down, across = (count - block + 1 for count in positions)
    count = down * across
    if blocks >= count:
        chosen = list(range(count))
    else:
        # These are the first steps of a Fisher-Yates shuffle. Only the moved entries are stored.
        moved: dict[int, int] = {}
        words = _words(_key(seed, kind, side, block), sample_key(sample_id))
        chosen = []
        for k in range(blocks):
            other = k + _draw_below(count - k, words)
            chosen.append(moved.get(other, other))
            moved[other] = moved.get(k, k)
    return [divmod(place, across) for place in sorted(chosen)]


@lru_cache(maxsize=64)
def _key(seed: int, kind: str, side: int, block: int) -> np.uint64:
    return stage_key(seed, [(f"regions@{REVISION}", {"kind": kind, "side": side, "block": block})])


def _words(key: np.uint64, sample: np.uint64) -> Iterator[int]:
    """Yield the random 32-bit words of stream 0."""
    from ...corruptions.random.philox import fill_words

    words = np.empty(_WORDS, np.uint32)
    first = 0
    while True:
        fill_words(words, first, key, sample, 0)
        yield from words.tolist()
        first += _WORDS // 4


def _draw_below(count: int, words: Iterator[int]) -> int:
    """Return an integer drawn uniformly from 0 to count - 1. Words beyond the last multiple of `count` are skipped."""
    limit = 2**32 - 2**32 % count
    return next(word for word in words if word < limit) % count


def region_rows(table: RegionTable, seed: int, sample_id: str, width: int, height: int) -> Iterator[RegionRow]:
    """Yield the rows of regions.jsonl for an image."""
    for grid in grids_of(table, seed, sample_id, width, height):
        yield RegionRow(
            sample=sample_id,
            **grid._asdict(),
            step=1,
            fit=table.fit or "embed",
            out=table.size,
            interpolation=table.interpolation,
            channels=table.channels,
        )
