"""The sets of a data set in blocks, as a page shows them: severities, levels, two orders of two factors, others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from ...corruptions.registry import corruption_names
from ...manifests.records.models import SetRecord
from ..pixels.contact_sheet import chain_grids

Kind = Literal["severities", "levels", "grid", "others"]
ALONE = "alone"
"""The row and the column of a grid in which the other stage stands alone."""


@dataclass(frozen=True)
class Block:
    """Some sets that are looked at together.

    Attributes
    ----------
    kind : str
    name : str
        A corruption, or what the sets are.
    sets : sequence of SetRecord
        Of severities and levels, upwards.
    rows : mapping
        Of a grid: first stage -> last stage -> set; None for a pair that is not there.
    columns : sequence of str
        Of a grid: the last stages.
    """

    kind: Kind
    name: str
    sets: Sequence[SetRecord]
    rows: Mapping[str, Mapping[str, SetRecord | None]] = field(default_factory=dict)
    columns: Sequence[str] = ()

    @property
    def corruptions(self) -> list[str]:
        """Every corruption of its sets, once."""
        return list(dict.fromkeys(stage.corruption for record in self.sets for stage in record.stages))

    def number(self, record: SetRecord) -> int | None:
        """Return the severity or level of one of its sets."""
        stage = record.stages[0] if len(record.stages) == 1 else None
        return None if stage is None else stage.severity if stage.severity is not None else stage.level


def blocks_of(sets: Iterable[SetRecord]) -> list[Block]:
    """Return all sets but ``clean``, each in one block: corruptions in the order of their families, grids after them."""
    named = {s.id: s for s in sets if s.stages}
    severities: dict[str, list[SetRecord]] = {}
    levels: dict[str, list[SetRecord]] = {}
    chains: dict[tuple[str, str], SetRecord] = {}
    others: list[SetRecord] = []
    for set_id, record in named.items():
        stage = record.stages[0]
        if len(record.stages) == 1 and set_id == f"{stage.corruption}/{stage.severity}":
            severities.setdefault(stage.corruption, []).append(record)
        elif len(record.stages) == 1 and stage.level is not None and set_id == f"{stage.corruption}/{stage.level:02d}":
            levels.setdefault(stage.corruption, []).append(record)
        elif "+" in set_id:
            chains[set_id.rpartition("+")[0], set_id.rpartition("+")[2]] = record
        else:
            others.append(record)
    blocks = [Block("severities", name, sorted(severities[name], key=_number)) for name in sorted(severities, key=_order)]
    blocks += [Block("levels", name, sorted(levels[name], key=_number)) for name in sorted(levels, key=_order)]
    pairs = _grid_blocks(chains, {s.id: s for s in others})
    placed = {s.id for block in pairs for s in block.sets}
    if left := [s for s in others if s.id not in placed]:
        blocks.append(Block("others", "Other sets" if blocks or pairs else "Sets", left))
    return blocks + pairs


def _number(record: SetRecord) -> int:
    stage = record.stages[0]
    return stage.severity if stage.severity is not None else stage.level or 0


def _order(name: str) -> tuple[int, str]:
    """Sort known corruptions by family and file; what this release does not know comes last."""
    known = {corruption: n for n, corruption in enumerate(corruption_names())}
    return known.get(name, len(known)), name


def _grid_blocks(chains: Mapping[tuple[str, str], SetRecord], others: Mapping[str, SetRecord]) -> list[Block]:
    """Return the chains as grids of what comes first x what comes last; the first stage alone is a column of its own."""
    columns_of: dict[str, list[str]] = {}
    for row, column in chains:
        columns_of.setdefault(row, []).append(column)
    blocks = []
    for number, grid in enumerate(chain_grids(columns_of), 1):
        known = dict.fromkeys(column for columns in grid.values() for column in columns)
        columns = [*(row for row in grid if row in known), *(column for column in known if column not in grid)]
        alone = {name: others[name] for name in [*grid, *columns] if name in others}
        rows: dict[str, dict[str, SetRecord | None]] = {}
        if any(column in alone for column in columns):
            rows[ALONE] = {column: alone.get(column) for column in columns}
        for row in grid:
            rows[row] = {column: chains.get((row, column)) for column in columns}
        if any(row in alone for row in grid):
            rows = {row: {ALONE: alone.get(row), **cells} for row, cells in rows.items()}
            columns = [ALONE, *columns]
        sets = {record.id: record for cells in rows.values() for record in cells.values() if record is not None}
        blocks.append(Block("grid", f"Two factors, grid {number}", list(sets.values()), rows, columns))
    return blocks
