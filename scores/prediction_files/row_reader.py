"""Rows of a table to the images that they are of, and what they come down to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...manifests.reader import DataSet
from .findings import FEW, RowFindings, few
from .gathering import Gathering
from .reduction import COLUMNS, Reduction
from .set_names import SetNames
from .table import Layout, Table

_NOT_READ, _UNKNOWN = -1, -2
"""In place of a set's number."""


class RowReader:
    """Reads tables into a gathering.

    Parameters
    ----------
    data : DataSet
    names : SetNames
    gathering : Gathering
    tell : callable
        Is told how many rows more were read.
    """

    def __init__(self, data: DataSet, names: SetNames, gathering: Gathering, tell: Callable[[int], None]) -> None:
        samples = data.samples
        self.names, self.classes, self.images = names, len(data.classes), gathering.images
        self._gathering, self._tell = gathering, tell
        self._labels = np.array([sample.label for sample in samples], np.int64)
        self._ids = [sample.id for sample in samples]
        self._row_of: dict[str, int] = {}
        self._numbers = {name: number for number, name in enumerate(gathering.sets)}
        self._reduction = Reduction(self.classes)

    def take(self, table: Table, layout: Layout, set_id: str | None) -> list[str]:
        """Read all rows of a table, of one set or of those that its column `set_id` names; return what is wrong with them."""
        findings, unknown = RowFindings(), dict[str, int]()
        counts = np.zeros(len(self._numbers), np.intp)
        first = 0
        for block in table.blocks(layout.columns if set_id is not None else ("set_id", *layout.columns)):
            size = len(block[COLUMNS[layout.kind][0]])
            numbers = np.full(size, self._numbers[set_id]) if set_id is not None else self._set_numbers(block["set_id"], unknown)
            rows = self._rows(layout.key, block, numbers, counts, findings)
            kept = np.flatnonzero((numbers >= 0) & (rows >= 0))
            arrays = {name: block[name] if len(kept) == size else block[name][kept] for name in COLUMNS[layout.kind]}
            numbers, rows = numbers[kept], rows[kept]
            outcome, faults = self._reduction.outcome(layout.kind, arrays, self._labels[rows])
            for problem, faulty in faults.items():
                at = (first + kept[np.flatnonzero(faulty)[:FEW]]).tolist()
                findings.add(problem, int(faulty.sum()), map(table.place, at))
            self._gathering.put(outcome, numbers, rows, findings, self._shown(numbers, rows, set_id is None))
            first += size
            self._tell(size)
        lines = findings.lines()
        if unknown:
            lines.append(f"has {sum(unknown.values()):,} rows of sets that the data set does not have: {few(unknown)}")
        return lines

    def missing(self, set_id: str | None) -> list[str]:
        """Return which rows of a set are missing; of all that must be there where it is None."""
        required = self.names.required if set_id is None else [set_id]
        absent = [name for name in required if not self._gathering.begun(self._numbers[name])]
        lines = [f"lacks {len(absent):,} of {len(required):,} sets: {few(absent)}"] if absent else []
        for name in sorted({*required} - {*absent}):
            rows = self._gathering.missing(self._numbers[name])
            if len(rows):
                where = "" if set_id is not None else f" of {name}"
                named = few((f"{row} ({self._ids[row]})" for row in rows[:FEW].tolist()), len(rows))
                lines.append(f"lacks {len(rows):,} of {self.images:,} rows{where}: {named}")
        return lines

    def _shown(self, numbers: NDArray[np.intp], rows: NDArray[np.intp], named: bool) -> Callable[[int], str]:
        """Return how the image of a row of the block is called."""

        def shown(at: int) -> str:
            row = int(rows[at])
            where = f"{self._gathering.sets[int(numbers[at])]} " if named else ""
            return f"{where}{row} ({self._ids[row]})"

        return shown

    def _set_numbers(self, given: NDArray[Any], unknown: dict[str, int]) -> NDArray[np.intp]:
        """Return the number of each row's set."""
        if (given == given[0]).all():
            names, places = given[:1], np.zeros(len(given), np.intp)
        else:
            names, places = np.unique(given, return_inverse=True)
        numbers = np.empty(len(names), np.intp)
        for at, name in enumerate(names.tolist()):
            set_id = self.names.id_of(name)
            numbers[at] = _UNKNOWN if set_id is None else self._numbers.get(set_id, _NOT_READ)
            if set_id is None and (name in unknown or len(unknown) <= FEW):
                unknown[name] = unknown.get(name, 0) + int((places == at).sum())
        return numbers[places]

    def _rows(
        self, key: str | None, block: dict[str, NDArray[Any]], numbers: NDArray[np.intp], counts: NDArray[np.intp], findings: RowFindings
    ) -> NDArray[np.intp]:
        """Return the row of samples.jsonl that each row of a block is of; -1 where there is none."""
        images = self.images
        if key == "index":
            given = block["index"]
            rows, problem = given, f"with an index outside 0 to {images - 1:,}"
        elif key == "id":
            self._row_of = self._row_of or {name: row for row, name in enumerate(self._ids)}
            given = block["id"]
            rows, problem = np.array([self._row_of.get(name, -1) for name in given.tolist()], np.intp), "whose id is of no sample"
        else:
            rows = np.empty(len(numbers), np.intp)
            for number in np.unique(numbers).tolist():
                of_set = np.flatnonzero(numbers == number)
                begin = counts[number] if number >= 0 else 0
                rows[of_set] = np.arange(begin, begin + len(of_set))
                if number >= 0:
                    counts[number] += len(of_set)
            given, problem = rows, f"too many: a set has {images:,}"
        outside = ((rows < 0) | (rows >= images)) & (numbers >= 0)
        if outside.any():
            shown = given[np.flatnonzero(outside)[:FEW]].tolist()
            findings.add(problem, int(outside.sum()), map(repr, shown))
        return np.where(outside, -1, rows).astype(np.intp)
