"""The matrix of a data set: rows of severities and levels, grids of chains.

For its page and its contact sheet.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeVar

from ...corruptions.registry import corruption_names
from ...pages.contact_sheet import BLANK, Cell, Pixels, SheetRow, draw_sheet
from ..sources.selection import spread

K = TypeVar("K", bound=Hashable)
ORDER = "first (down), then (across):"
ALONE = "alone"
"""The column of a grid in which a row's stage stands alone."""
OTHERS_A_LINE, LEVELS_A_LINE = 6, 10
SIDE = 128
"""Pixels of a picture's longer side in a contact sheet."""
_LADDER = re.compile(r"([^+]+)/(\d\d|\d(?:p\d+)?)")
_FEW, _SHOWN = 7, 5
"""Levels that are all shown, and how many of more."""


@dataclass(frozen=True)
class Block:
    """Some sets that are looked at together, by their ids."""

    kind: Literal["severities", "levels", "grid", "others"]
    name: str
    """A corruption, or what the sets are."""
    sets: Sequence[str]
    """Severities and levels upwards."""
    rows: Mapping[str, Mapping[str, str | None]] = field(default_factory=dict)
    """Of a grid: first stage -> last stage -> set; None for a pair that is not there."""
    columns: Sequence[str] = ()
    """Of a grid: the last stages."""

    @property
    def is_ladder(self) -> bool:
        """Whether its sets are one corruption at several severities or levels."""
        return self.kind in ("severities", "levels")

    @property
    def pictured(self) -> Sequence[str]:
        """The sets that are shown: all, or of many levels five."""
        count = len(self.sets)
        if self.kind != "levels" or count <= _FEW:
            return self.sets
        return [self.sets[max(count * part // (_SHOWN - 1) - 1, 0)] for part in range(_SHOWN)]


def blocks_of(sets: Iterable[str]) -> list[Block]:
    """Return all sets but ``clean``, each in one block: by family, then grids.

    A grid has what comes first down and what comes last across (of a chain of three the row is its first two). Rows
    that have a column in common, directly or by way of other rows, are one grid.
    """
    ids = sorted((name for name in sets if name != "clean"), key=_natural)
    chains = {(name.rpartition("+")[0], name.rpartition("+")[2]): name for name in ids if "+" in name}
    alone = {"-".join(name.rsplit("/", 1)): name for name in ids if "+" not in name}
    columns_of: dict[str, list[str]] = {}
    for row, column in chains:
        columns_of.setdefault(row, []).append(column)
    ladders: dict[tuple[str, str], list[str]] = {}
    others: list[str] = []
    for link, name in alone.items():
        if (ladder := _LADDER.fullmatch(name)) is not None:
            ladders.setdefault(("levels" if len(ladder[2]) == 2 else "severities", ladder[1]), []).append(name)
        elif link not in columns_of:
            others.append(name)
    known = {corruption: place for place, corruption in enumerate(corruption_names())}
    blocks = []
    for kind in ("severities", "levels"):
        for name in sorted((n for k, n in ladders if k == kind), key=lambda n: (known.get(n, len(known)), n)):
            own = ladders[kind, name]
            # one that begins chains and has no severity beside it has no curve: it stands in the grid
            if len(own) > 1 or "-".join(own[0].rsplit("/", 1)) not in columns_of:
                blocks.append(Block(kind, name, own))
    placed = {name for block in blocks for name in block.sets}
    grids = [
        _grid(number, {row: columns_of[row] for row in rows}, chains, alone, placed)
        for number, rows in enumerate(joined(columns_of), 1)
    ]
    if others:
        blocks.append(Block("others", "Other sets" if blocks or grids else "Sets", others))
    return blocks + grids


def _grid(
    number: int,
    columns_of: Mapping[str, Sequence[str]],
    chains: Mapping[tuple[str, str], str],
    alone: Mapping[str, str],
    placed: Collection[str],
) -> Block:
    """Return a grid; sets that are `placed` elsewhere are only named in it."""
    every = sorted({column for columns in columns_of.values() for column in columns}, key=_natural)
    # What is a row and a column has the same place in both, so that the two orders of a pair lie across the diagonal.
    columns = [*(row for row in columns_of if row in every), *(column for column in every if column not in columns_of)]
    rows: dict[str, dict[str, str | None]] = {row: {c: chains.get((row, c)) for c in columns} for row in columns_of}
    if any(row in alone for row in rows):
        rows = {row: {ALONE: alone.get(row), **cells} for row, cells in rows.items()}
        columns = [ALONE, *columns]
    sets = [name for cells in rows.values() for name in cells.values() if name is not None and name not in placed]
    return Block("grid", f"grid {number}", sets, rows, columns)


def _natural(name: str) -> list[str | int]:
    """Return what ids are sorted by: ``fog-2`` before ``fog-10``."""
    return [int(part) if part.isdecimal() else part for part in re.split(r"(\d+)", name)]


def joined(keys_of: Mapping[K, Collection[str]]) -> list[list[K]]:
    """Return things in groups that have no key in common, directly or by others.

    Groups and things are in their order.

    Examples
    --------
    >>> joined({1: "ab", 2: "cd", 3: "ef", 4: "be"})
    [[1, 3, 4], [2]]
    """
    groups: list[tuple[set[str], list[K]]] = []
    for one, keys in keys_of.items():
        met = [group for group in groups if not group[0].isdisjoint(keys)]
        groups = [group for group in groups if group not in met]
        groups.append(
            (set(keys).union(*(known for known, _ in met)), [*(other for _, own in met for other in own), one])
        )
    place = {one: number for number, one in enumerate(keys_of)}
    return sorted((sorted(own, key=place.__getitem__) for _, own in groups), key=lambda own: place[own[0]])


def thinned(ids: Sequence[str], most: int) -> list[str]:
    """Return at most so many set ids, spread evenly.

    Of chains, those between stages that are spread evenly.

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


def contact_sheet(
    pictures: Mapping[str, Pixels], *, clean: Pixels | None = None, title: str = "", side: int = SIDE
) -> bytes:
    """Return the matrix of sets' images as a PNG sheet, `clean` first in every row.

    No picture's longer side has more than `side` pixels.
    """
    return draw_sheet(sheet_rows(pictures, clean), title=title, side=side)


def sheet_rows(pictures: Mapping[str, Pixels], clean: Pixels | None = None) -> list[SheetRow]:
    """Return sets' images as the lines of a sheet, with columns named where they change."""
    first: list[Cell] = [] if clean is None else [("", clean)]
    blocks, lines, above = blocks_of(pictures), list[SheetRow](), list[str]()
    if first and not any(block.is_ladder for block in blocks):
        lines.append(SheetRow("clean", first))
    for block in blocks:
        if block.kind == "grid":
            grid = [
                [("", None if name is None else pictures[name]) for name in row.values()] for row in block.rows.values()
            ]
            lines += [SheetRow(ORDER), *map(SheetRow, block.rows, grid, [block.columns, *[()] * len(grid)])]
            continue
        wide = LEVELS_A_LINE if block.is_ladder else OTHERS_A_LINE
        for at in range(0, len(block.sets), wide):
            shown = block.sets[at : at + wide]
            cells: list[Cell] = [("", pictures[name]) for name in shown]
            heads = list(shown)
            if block.is_ladder:
                cells = [*(first if at == 0 else [("", BLANK)] * len(first)), *cells]
                heads = ["clean" if at == 0 else ""] * len(first) + [f"{number_of(name):g}" for name in shown]
            lines.append(
                SheetRow(block.name if block.is_ladder and at == 0 else "", cells, heads if heads != above else ())
            )
            above = heads
    return lines


def number_of(set_id: str) -> float:
    """Return the severity or level of a set of a ladder.

    Examples
    --------
    >>> number_of("fog/2p25"), number_of("fade_black/07")
    (2.25, 7.0)
    """
    return float(set_id.rpartition("/")[2].replace("p", "."))
