"""Arrange the sets of a dataset for its page and its contact sheet, in rows of severities and grids of chains."""

from __future__ import annotations

import re
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeVar

from ...corruptions.registry import corruption_names
from ...pages.contact_sheet import BLANK, Cell, Pixels, SheetRow, draw_sheet
from ..sources.selection import spread

K = TypeVar("K", bound=Hashable)
ORDER = "first corruption in rows, second in columns:"
ALONE = "alone"
"""The name of the grid column that contains the sets with only the first stage."""
OTHERS_PER_LINE, LEVELS_PER_LINE = 6, 10
SIDE = 128
"""The length of the longer side of an image in a contact sheet, in pixels."""
_LADDER = re.compile(r"([^+]+)/(\d\d|\d(?:p\d+)?)")
MAX_LEVELS_SHOWN, LEVELS_SHOWN = 7, 5
"""If a degradation has at most `MAX_LEVELS_SHOWN` levels, all levels are shown. Otherwise, `LEVELS_SHOWN` are."""


@dataclass(frozen=True)
class Block:
    """A block of sets that are shown together."""

    kind: Literal["severities", "levels", "grid", "others"]
    name: str
    """Name of the corruption, or a description of the sets."""
    sets: Sequence[str]
    """Ids of the sets, by increasing severity or level."""
    rows: Mapping[str, Mapping[str, str | None]] = field(default_factory=dict)
    """For grids: the ids of the sets, by first stage and then by last stage. The id of a missing pair is None."""
    columns: Sequence[str] = ()
    """For grids: the last stages."""

    @property
    def is_ladder(self) -> bool:
        """True if the sets contain one corruption at several severities or levels."""
        return self.kind in ("severities", "levels")

    @property
    def shown(self) -> Sequence[str]:
        """The sets whose images are shown: all sets, or five of them if there are many levels."""
        count = len(self.sets)
        if self.kind != "levels" or count <= MAX_LEVELS_SHOWN:
            return self.sets
        return [self.sets[max(count * part // (LEVELS_SHOWN - 1) - 1, 0)] for part in range(LEVELS_SHOWN)]


def blocks_of(sets: Iterable[str]) -> list[Block]:
    """Return all sets except ``clean`` in blocks: severities, levels, other sets, and grids of chains.

    The rows of a grid are the first stages of chains, and its columns are the last stages. For a chain of three stages,
    the row is the first two stages. Rows that share a column, directly or through other rows, are in one grid.
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
            members = ladders[kind, name]
            # A single severity that is also the first stage of chains is shown in their grid.
            if len(members) > 1 or "-".join(members[0].rsplit("/", 1)) not in columns_of:
                blocks.append(Block(kind, name, members))
    placed = {name for block in blocks for name in block.sets}
    grids = [
        _grid(number, {row: columns_of[row] for row in rows}, chains, alone, placed)
        for number, rows in enumerate(connected_components(columns_of), 1)
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
    """Return a grid. Sets that are `placed` in another block are in its rows, but not in its `sets`."""
    every = sorted({column for columns in columns_of.values() for column in columns}, key=_natural)
    # A stage that is both a row and a column has the same position in both, so the diagonal separates the two orders.
    columns = [*(row for row in columns_of if row in every), *(column for column in every if column not in columns_of)]
    rows: dict[str, dict[str, str | None]] = {row: {c: chains.get((row, c)) for c in columns} for row in columns_of}
    if any(row in alone for row in rows):
        rows = {row: {ALONE: alone.get(row), **cells} for row, cells in rows.items()}
        columns = [ALONE, *columns]
    sets = [name for cells in rows.values() for name in cells.values() if name is not None and name not in placed]
    return Block("grid", f"grid {number}", sets, rows, columns)


def _natural(name: str) -> list[str | int]:
    """Return the natural sort key of an id, so that ``fog-2`` comes before ``fog-10``."""
    return [int(part) if part.isdecimal() else part for part in re.split(r"(\d+)", name)]


def connected_components(keys_of: Mapping[K, Collection[str]]) -> list[list[K]]:
    """Partition the keys of a mapping into groups, so that keys of different groups have no elements in common.

    The elements of a key are the elements of its value. The groups and their members keep the order of the mapping.

    Examples
    --------
    >>> connected_components({1: "ab", 2: "cd", 3: "ef", 4: "be"})
    [[1, 3, 4], [2]]
    """
    groups: list[tuple[set[str], list[K]]] = []
    for key, keys in keys_of.items():
        touching = [group for group in groups if not group[0].isdisjoint(keys)]
        groups = [group for group in groups if group not in touching]
        elements = set(keys).union(*(known for known, _ in touching))
        groups.append((elements, [*(other for _, members in touching for other in members), key]))
    position = {key: number for number, key in enumerate(keys_of)}
    return sorted(
        (sorted(members, key=position.__getitem__) for _, members in groups), key=lambda members: position[members[0]]
    )


def thin_out(ids: Sequence[str], limit: int) -> list[str]:
    """Return at most `limit` evenly spaced set ids.

    For chains, evenly spaced stages are chosen, and all chains that consist of these stages are returned.

    Examples
    --------
    >>> thin_out([f"fog/{n}" for n in range(1, 6)], 3)
    ['fog/1', 'fog/2', 'fog/4']
    >>> thin_out([f"{a}-1+{b}-1" for a in "pqrs" for b in "pqrs"], 4)
    ['p-1+p-1', 'p-1+r-1', 'r-1+p-1', 'r-1+r-1']
    """
    if len(ids) <= limit:
        return list(ids)
    stages = list(dict.fromkeys(stage for name in ids if "+" in name for stage in name.split("+")))
    for count in range(len(stages), 1, -1):
        kept = set(spread(stages, count))
        shown = [name for name in ids if "+" not in name or kept.issuperset(name.split("+"))]
        if len(shown) <= limit and any("+" in name for name in shown):
            return shown
    return spread(ids, limit)


def contact_sheet(
    images: Mapping[str, Pixels], *, clean: Pixels | None = None, title: str = "", side: int = SIDE
) -> bytes:
    """Return a contact sheet of sets as a PNG, with the clean image first in every row.

    The longer side of each image has at most `side` pixels.
    """
    return draw_sheet(sheet_rows(images, clean), title=title, side=side)


def sheet_rows(images: Mapping[str, Pixels], clean: Pixels | None = None) -> list[SheetRow]:
    """Return the rows of a contact sheet. Column heads are repeated only where they change."""
    first: list[Cell] = [] if clean is None else [("", clean)]
    blocks, lines, above = blocks_of(images), list[SheetRow](), list[str]()
    if first and not any(block.is_ladder for block in blocks):
        lines.append(SheetRow("clean", first))
    for block in blocks:
        if block.kind == "grid":
            grid = [
                [("", None if name is None else images[name]) for name in row.values()] for row in block.rows.values()
            ]
            lines += [SheetRow(ORDER), *map(SheetRow, block.rows, grid, [block.columns, *[()] * len(grid)])]
            continue
        wide = LEVELS_PER_LINE if block.is_ladder else OTHERS_PER_LINE
        for at in range(0, len(block.sets), wide):
            shown = block.sets[at : at + wide]
            cells: list[Cell] = [("", images[name]) for name in shown]
            heads = list(shown)
            if block.is_ladder:
                cells = [*(first if at == 0 else [("", BLANK)] * len(first)), *cells]
                heads = ["clean" if at == 0 else ""] * len(first) + [f"{severity_or_level(name):g}" for name in shown]
            lines.append(
                SheetRow(block.name if block.is_ladder and at == 0 else "", cells, heads if heads != above else ())
            )
            above = heads
    return lines


def severity_or_level(set_id: str) -> float:
    """Return the severity or level of a set with one corruption.

    Examples
    --------
    >>> severity_or_level("fog/2p25"), severity_or_level("fade_black/07")
    (2.25, 7.0)
    """
    return float(set_id.rpartition("/")[2].replace("p", "."))
