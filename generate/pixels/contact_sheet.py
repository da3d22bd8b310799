"""The contact sheet: one picture under every set, in labelled lines and grids."""

from __future__ import annotations

import re
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from typing import TypeVar

from ...pages.sheets.sheet import Cell, Line, Picture, sheet
from ...pages.sheets.style import LARGEST
from ..sources.selection import spread

K = TypeVar("K", bound=Hashable)
SEVERITIES_A_LINE = 6
LEVELS_A_LINE = 10
ORDER = "first (down), then (across):"
ALONE = "alone"
_LEVEL = re.compile(r"[0-9]{2}")
_NUMBERED = re.compile(r"(.*?)([0-9]*)")


def sheet_lines(cells: Iterable[tuple[str, Picture]]) -> list[Line]:
    """Return sets' images, given as (set id, image), as the lines of a sheet.

    Block below block, in each of them in the order of `cells`, and what differs in a number alone by that number:
    corruptions with their severities, six a line; gradual degradations with their levels, ten a line; single sets with
    names of their own, six a line; and chains, as grids of what comes first x what comes last (of a chain of three the
    row is its first two).

    Rows that have a column in common, directly or by way of other rows, are one grid: fog and snow before two noises
    are one, the noises before fog and snow another, and fifteen corruptions before each other a single one. A set that
    is the first stage of a row alone stands in that row, in a column of its own; it stands in its corruption's line too
    where others of that line are no rows.
    """
    given = dict(cells)
    named = {name: given[name] for name in _by_number(given)}
    chains = {(name.rpartition("+")[0], name.rpartition("+")[2]): image for name, image in named.items() if "+" in name}
    columns_of: dict[str, list[str]] = {}
    for row, column in chains:
        columns_of.setdefault(row, []).append(column)
    families: dict[str, list[tuple[str, str]]] = {}
    for name in named:
        if "+" not in name:
            corruption, _, number = name.rpartition("/")
            families.setdefault(corruption, []).append((number, name))
    alone = {link(name): named[name] for family in families.values() for _, name in family if link(name) in columns_of}
    severities: list[Line] = []
    levels: list[Line] = []
    for corruption, family in families.items():
        if corruption and not all(link(name) in alone for _, name in family):
            gradual = all(_LEVEL.fullmatch(number) for number, _ in family)
            shown = [(number, named[name]) for number, name in family]
            (levels if gradual else severities).extend(
                _wrapped(corruption, shown, LEVELS_A_LINE if gradual else SEVERITIES_A_LINE)
            )
    others = _wrapped(
        "", [(name, named[name]) for _, name in families.get("", []) if name not in alone], SEVERITIES_A_LINE
    )
    grids = [
        line for rows in joined(columns_of) for line in _grid({row: columns_of[row] for row in rows}, chains, alone)
    ]
    return [*severities, *levels, *others, *grids]


def _by_number(names: Iterable[str]) -> list[str]:
    """Return names in their order, but those whose stages differ in their numbers alone by these numbers: 2 before 10.

    Examples
    --------
    >>> _by_number(["snow/10", "fog/1", "snow/2"])
    ['snow/2', 'snow/10', 'fog/1']
    """
    place: dict[tuple[int, int, str], int] = {}
    order: dict[str, list[tuple[int, int]]] = {}
    for name in names:
        parts = [match.groups() for match in map(_NUMBERED.fullmatch, name.split("+")) if match]
        order[name] = [
            (place.setdefault((len(parts), i, stem), len(place)), int(number or 0))
            for i, (stem, number) in enumerate(parts)
        ]
    return sorted(order, key=order.__getitem__)


def link(name: str) -> str:
    """Return what a single set is called in a chain."""
    return "-".join(name.rsplit("/", 1))


def _wrapped(label: str, cells: Sequence[Cell], width: int) -> list[Line]:
    """Return cells as lines of so many, the label once."""
    return [Line("" if start else label, cells[start : start + width]) for start in range(0, len(cells), width)]


def joined(keys_of: Mapping[K, Collection[str]]) -> list[list[K]]:
    """Return things in groups that have no key in common, directly or by way of others; groups and things in their
    order.

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


def _grid(
    rows: Mapping[str, Sequence[str]], chains: Mapping[tuple[str, str], Picture], alone: Mapping[str, Picture]
) -> list[Line]:
    """Return the lines of a grid, with what its columns are above the first."""
    all_columns = _by_number(dict.fromkeys(c for columns in rows.values() for c in columns))
    # What is a row and a column has the same place in both, so that the two orders of a pair lie across the diagonal.
    columns = [*(r for r in rows if r in all_columns), *(c for c in all_columns if c not in rows)]
    lines = [Line(ORDER)]
    with_alone = any(row in alone for row in rows)
    heads = [ALONE, *columns] if with_alone else columns
    for number, row in enumerate(rows):
        cells: list[Cell] = [("", chains.get((row, column))) for column in columns]
        if with_alone:
            cells.insert(0, ("", alone.get(row)))
        lines.append(Line(row, cells, () if number else heads))
    return lines


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


def contact_sheet(
    cells: Iterable[tuple[str, Picture]], *, clean: Picture | None = None, title: str = "", side: int = LARGEST
) -> bytes:
    """Return sets' images, given as (set id, image), as a PNG sheet: `title` above, and `clean` first, on a line of its
    own.

    No picture's longer side has more than `side` pixels.
    """
    first = [] if clean is None else [Line("", [("clean", clean)])]
    return sheet([*first, *sheet_lines(cells)], title=title, side=side)
