"""The sets of a data set in blocks, as sheets and pages show them: severities, levels, two orders of two factors,
others.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, Protocol, TypeVar

from ...corruptions.registry import corruption_names
from ...corruptions.rows import severity_text

Kind = Literal["severities", "levels", "grid", "others"]
_NAMED = 4
"""Corruptions that a grid is called by; one of more has a number."""
_LEVELS = 5
ALONE = "alone"
"""The row and the column of a grid in which the other stage stands alone."""


class Staged(Protocol):
    """A set with its stages, of a recipe or of a data set."""

    @property
    def id(self) -> str: ...

    @property
    def stages(self) -> Sequence[Any]: ...


S = TypeVar("S", bound=Staged)
Pair = tuple[str, str]
"""What comes first in a chain, and its last stage."""


@dataclass(frozen=True)
class Block(Generic[S]):
    """Some sets that are looked at together.

    Attributes
    ----------
    kind : str
    name : str
        A corruption, or what the sets are.
    sets : sequence of sets
        Of severities and levels, upwards.
    rows : mapping
        Of a grid: first stage -> last stage -> set; None for a pair that is not there.
    columns : sequence of str
        Of a grid: the last stages.
    """

    kind: Kind
    name: str
    sets: Sequence[S]
    rows: Mapping[str, Mapping[str, S | None]] = field(default_factory=dict)
    columns: Sequence[str] = ()

    @property
    def corruptions(self) -> list[str]:
        """Every corruption of its sets, once."""
        return list(dict.fromkeys(stage.corruption for record in self.sets for stage in record.stages))

    @property
    def pictured(self) -> Sequence[S]:
        """The sets that a page has pictures of: all, or of many levels the first, the last and three between them."""
        last = len(self.sets) - 1
        if self.kind != "levels" or last < _LEVELS:
            return self.sets
        return [self.sets[max(len(self.sets) * part // (_LEVELS - 1) - 1, 0)] for part in range(_LEVELS)]

    def number(self, record: S) -> float | None:
        """Return the severity or level of one of its sets."""
        return _number(record) if len(record.stages) == 1 else None


def blocks_of(sets: Iterable[S]) -> list[Block[S]]:
    """Return all sets but ``clean`` in blocks: corruptions in the order of their families, then grids."""
    named = {s.id: s for s in sets if s.stages}
    severities: dict[str, list[S]] = {}
    levels: dict[str, list[S]] = {}
    chains: dict[Pair, S] = {}
    others: list[S] = []
    for set_id, record in named.items():
        stage, alone = record.stages[0], len(record.stages) == 1
        if alone and stage.severity and set_id == f"{stage.corruption}/{severity_text(stage.severity)}":
            severities.setdefault(stage.corruption, []).append(record)
        elif alone and stage.level is not None and set_id == f"{stage.corruption}/{stage.level:02d}":
            levels.setdefault(stage.corruption, []).append(record)
        elif "+" in set_id:
            chains[set_id.rpartition("+")[0], set_id.rpartition("+")[2]] = record
        else:
            others.append(record)
    stages = {name for pair in chains for name in pair}
    # it has no curve of its own
    for name in [n for n, own in severities.items() if len(own) == 1 and _link(own[0].id) in stages]:
        others += severities.pop(name)
    kinds: list[tuple[Kind, dict[str, list[S]]]] = [("severities", severities), ("levels", levels)]
    blocks = [
        Block(kind, name, sorted(own[name], key=lambda s: _number(s) or 0))
        for kind, own in kinds
        for name in sorted(own, key=_order)
    ]
    single = {_link(s.id): s for s in named.values() if "+" not in s.id}
    pairs = _grid_blocks(chains, single, {s.id for block in blocks for s in block.sets})
    placed = {s.id for block in pairs for s in block.sets}
    if left := [s for s in others if s.id not in placed]:
        blocks.append(Block("others", "Other sets" if blocks or pairs else "Sets", left))
    return blocks + pairs


def _link(name: str) -> str:
    """Return what a single set is called in a chain."""
    return "-".join(name.rsplit("/", 1))


def _number(record: Staged) -> float | None:
    stage = record.stages[0]
    number: float | None = stage.severity if stage.severity is not None else stage.level
    return number


def _order(name: str) -> tuple[int, str]:
    """Sort known corruptions by family and file; what this release does not know comes last."""
    known = {corruption: n for n, corruption in enumerate(corruption_names())}
    return known.get(name, len(known)), name


def _joined(pairs: Sequence[Pair]) -> list[list[Pair]]:
    """Return pairs in groups that have no stage in common, directly or by way of others; all in their order.

    Examples
    --------
    >>> _joined([("a", "b"), ("c", "d"), ("b", "e")])
    [[('a', 'b'), ('b', 'e')], [('c', 'd')]]
    """
    groups: list[tuple[set[str], list[Pair]]] = []
    for pair in pairs:
        met = [group for group in groups if not group[0].isdisjoint(pair)]
        groups = [group for group in groups if group not in met]
        groups.append((set(pair).union(*(names for names, _ in met)), [*(p for _, own in met for p in own), pair]))
    place = {pair: number for number, pair in enumerate(pairs)}
    return sorted((sorted(own, key=place.__getitem__) for _, own in groups), key=lambda own: place[own[0]])


def _grid_blocks(chains: Mapping[Pair, S], others: Mapping[str, S], placed: Collection[str]) -> list[Block[S]]:
    """Return the chains as grids of what comes first x what comes last; a stage alone has the first row and the first
    column.

    Sets that are `placed` in another block stay there, and are only named.
    """
    blocks = []
    for number, pairs in enumerate(_joined(list(chains)), 1):
        firsts, lasts = dict.fromkeys(row for row, _ in pairs), dict.fromkeys(column for _, column in pairs)
        # What is a row and a column has the same place in both, so that the two orders of a pair lie across the
        # diagonal.
        columns = [*(row for row in firsts if row in lasts), *(column for column in lasts if column not in firsts)]
        rows: dict[str, dict[str, S | None]] = {row: {c: chains.get((row, c)) for c in columns} for row in firsts}
        if any(name in others for name in (*firsts, *lasts)):
            alone: dict[str, S | None] = {c: others.get(c) for c in columns}
            rows = {ALONE: {ALONE: None, **alone}} | {
                row: {ALONE: others.get(row), **cells} for row, cells in rows.items()
            }
            columns = [ALONE, *columns]
        cells_of_all = [record for cells in rows.values() for record in cells.values() if record is not None]
        sets = {record.id: record for record in cells_of_all if record.id not in placed}
        names = dict.fromkeys(stage.corruption for record in sets.values() for stage in record.stages)
        what = ", ".join(names) if len(names) <= _NAMED else f"grid {number}"
        blocks.append(Block("grid", f"Two factors: {what}", list(sets.values()), rows, columns))
    return blocks
