"""The contact sheet: one picture under every set, in labelled lines and grids."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ...pages.sheets.sheet import Line, Picture, sheet
from ...pages.sheets.style import LARGEST
from ..sources.selection import spread
from .blocks import Block, Staged, blocks_of

SEVERITIES_A_LINE = 6
LEVELS_A_LINE = 10
ORDER = "first (down), then (across):"


def contact_sheet(
    sets: Iterable[Staged],
    pictures: Mapping[str, Picture],
    *,
    clean: Picture | None = None,
    title: str = "",
    side: int = LARGEST,
) -> bytes:
    """Return a PNG sheet of the sets that have a picture, block below block.

    Parameters
    ----------
    sets : iterable of sets, of a recipe or of a data set
    pictures : mapping
        Set id -> (H, W, C) picture, RGB or grey.
    clean : (H, W, C) ndarray of uint8, optional
        Stands first, on a line of its own.
    title : str
        Stands above.
    side : int
        Pixels of the longer side of a picture at most.
    """
    lines = [] if clean is None else [Line("", [("clean", clean)])]
    for block in blocks_of(one for one in sets if one.id in pictures):
        lines += _grid(block, pictures) if block.kind == "grid" else _rows(block, pictures)
    return sheet(lines, title=title, side=side)


def _rows(block: Block[Staged], pictures: Mapping[str, Picture]) -> list[Line]:
    """Return severities, levels or other sets as lines of so many, the label once."""
    width = LEVELS_A_LINE if block.kind == "levels" else SEVERITIES_A_LINE
    named = block.kind == "others"
    cells = [(one.id if named else one.id.rpartition("/")[2], pictures[one.id]) for one in block.sets]
    return [
        Line("" if named or start else block.name, cells[start : start + width])
        for start in range(0, len(cells), width)
    ]


def _grid(block: Block[Staged], pictures: Mapping[str, Picture]) -> list[Line]:
    """Return chains as a grid of what comes first x what comes last, the columns' names above the first row."""
    return [Line(ORDER)] + [
        Line(row, [("", None if one is None else pictures[one.id]) for one in cells.values()], heads)
        for (row, cells), heads in zip(block.rows.items(), [block.columns, *[()] * len(block.rows)], strict=False)
    ]


def thinned(ids: Sequence[str], most: int) -> list[str]:
    """Return at most so many set ids for a sheet, spread evenly; of chains, those between stages that are spread
    evenly.

    Examples
    --------
    >>> thinned([f"fog/{n}" for n in range(1, 6)], 3)
    ['fog/1', 'fog/2', 'fog/4']
    >>> thinned([f"{a}-1+{b}-1" for a in "pqrs" for b in "pqrs"], 4)
    ['p-1+p-1', 'p-1+r-1', 'r-1+p-1', 'r-1+r-1']
    """
    if len(ids) <= most:
        return list(ids)
    stages = list(dict.fromkeys(stage for name in ids if "+" in name for stage in name.split("+")))
    for count in range(len(stages), 1, -1):
        kept = set(spread(stages, count))
        shown = [name for name in ids if "+" not in name or kept.issuperset(name.split("+"))]
        if len(shown) <= most and any("+" in name for name in shown):
            return shown
    return spread(ids, most)
