"""Rows of a table to the images that they are of, what they come down to, and which images have none yet."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...manifests.reader import DataSet
from ..outcomes import Outcome
from .findings import FEW, RowFindings, few
from .reduction import COLUMNS, Reduction
from .set_names import SetNames
from .table import Layout, Table

_NOT_READ, _UNKNOWN = -1, -2
"""In place of a set's number."""


FIELDS: dict[str, type[np.generic]] = {
    "correct": np.bool_,
    "top5": np.bool_,
    "rank": np.int32,
    "probability": np.float32,
    "predicted": np.int32,
}
"""Of an outcome: 14 bytes an image, and one more says that it is there."""


class Gathering:
    """A place for what a model made of every image of some sets, by their ids."""

    def __init__(self, sets: Sequence[str], images: int) -> None:
        self.sets = list(sets)
        self.images = images
        # an operating system gives pages of memory when they are written: sets and fields that stay empty cost none
        self._fields = {name: np.empty((len(self.sets), images), dtype) for name, dtype in FIELDS.items()}
        self._there = np.zeros((len(self.sets), images), np.bool_)
        self._known: dict[int, Set[str]] = {}

    def put(self, outcome: Outcome, number: int, rows: NDArray[np.intp]) -> None:
        """Take what became of some images of a set: of n rows, the set's number in `sets`, and the n rows of samples.jsonl."""
        self._there[number, rows] = True
        given = {name: values for name in FIELDS if (values := getattr(outcome, name)) is not None}
        for name, values in given.items():
            self._fields[name][number, rows] = values
        self._known[number] = self._known.get(number, given.keys()) & given.keys()

    def again(self, number: int, rows: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Return which of some rows of a set are there already, or stand further ahead in `rows`."""
        again: NDArray[np.bool_] = self._there[number, rows]
        _, first = np.unique(rows, return_index=True)
        if len(first) < len(rows):
            later = np.ones(len(rows), np.bool_)
            later[first] = False
            again |= later
        return again

    def missing(self, number: int) -> NDArray[np.intp]:
        """Return the rows of a set that nothing was said of."""
        return np.flatnonzero(~self._there[number])

    def begun(self, number: int) -> bool:
        """Return whether anything was said of a set."""
        return number in self._known

    def outcomes(self) -> Mapping[str, Outcome]:
        """Return the outcomes by the ids of the sets that have any."""
        return {name: self._outcome(number) for number, name in enumerate(self.sets) if number in self._known}

    def _outcome(self, number: int) -> Outcome:
        parts: dict[str, Any] = {name: values[number] for name, values in self._fields.items() if name in self._known[number]}
        return Outcome(**parts)


class RowReader:
    """Reads tables into a gathering; `tell` is told how many rows were read."""

    def __init__(self, data: DataSet, names: SetNames, gathering: Gathering, tell: Callable[[int], None]) -> None:
        samples = data.samples
        self.names, self.classes, self.images = names, len(data.classes), gathering.images
        self._gathering, self._tell, self._done = gathering, tell, 0
        self._labels = np.array([sample.class_index for sample in samples], np.int64)
        self._ids = [sample.id for sample in samples]
        self._row_of: dict[str, int] = {}
        self._numbers = {name: number for number, name in enumerate(gathering.sets)}
        self._reduction = Reduction(self.classes)

    def take(self, table: Table, layout: Layout, set_id: str | None) -> list[str]:
        """Read all rows of a table, of one set or of those that its column `set_id` names; return what is wrong with them."""
        findings, unknown, columns = RowFindings(), dict[str, int](), COLUMNS[layout.kind]
        counts = np.zeros(len(self._numbers), np.intp)
        first = 0
        for block in table.blocks(layout.columns if set_id is not None else ("set_id", *layout.columns)):
            size = len(block[columns[0]])
            numbers = np.full(size, self._numbers[set_id]) if set_id is not None else self._set_numbers(block["set_id"], unknown)
            # a column of one set's is all of one number
            present = [self._numbers[set_id]] if set_id is not None else np.unique(numbers).tolist()
            rows = self._rows(layout.key, block, numbers, present, counts, findings)
            kept = np.flatnonzero((numbers >= 0) & (rows >= 0))
            if len(kept) < size:
                numbers, rows, block = numbers[kept], rows[kept], {name: block[name][kept] for name in columns}
            outcome, faults = self._reduction.outcome(layout.kind, block, self._labels[rows])
            for problem, faulty in faults.items():
                findings.add(problem, int(faulty.sum()), map(table.place, (first + kept[np.flatnonzero(faulty)[:FEW]]).tolist()))
            for number in present:
                if number >= 0:
                    self._put(outcome, number, rows, numbers == number if len(present) > 1 else None, layout.key, findings)
            first += size
            self._done += size
            self._tell(self._done)
        lines = findings.lines()
        if unknown:
            lines.append(f"has {sum(unknown.values()):,} rows of sets that the data set does not have: {few(unknown)}")
        return lines

    def _put(
        self, outcome: Outcome, number: int, rows: NDArray[np.intp], own: NDArray[np.bool_] | None, key: str | None, findings: RowFindings
    ) -> None:
        """Put the outcome of one set's rows where it belongs: of all rows, or of those that are its `own`."""
        if own is not None:
            outcome, rows = outcome.rows(own), rows[own]
        if key is not None and (again := np.flatnonzero(self._gathering.again(number, rows))).size:
            name = self._gathering.sets[number]
            findings.add("twice", len(again), (f"{name} {row} ({self._ids[row]})" for row in rows[again[:FEW]].tolist()))
        self._gathering.put(outcome, number, rows)

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
        self,
        key: str | None,
        block: Mapping[str, NDArray[Any]],
        numbers: NDArray[np.intp],
        present: list[int],
        counts: NDArray[np.intp],
        findings: RowFindings,
    ) -> NDArray[np.intp]:
        """Return the row of samples.jsonl that each row of a block is of; -1 where there is none."""
        if key == "index":
            given = block["index"]
            rows, problem = given, f"with an index outside 0 to {self.images - 1:,}"
        elif key == "id":
            self._row_of = self._row_of or {name: row for row, name in enumerate(self._ids)}
            given = block["id"]
            rows, problem = np.array([self._row_of.get(name, -1) for name in given.tolist()], np.intp), "whose id is of no sample"
        else:
            rows = given = np.zeros(len(numbers), np.intp)
            for number in present:
                own = np.flatnonzero(numbers == number) if len(present) > 1 else slice(None)
                count = len(rows[own])
                if number >= 0:
                    rows[own] = np.arange(counts[number], counts[number] + count)
                    counts[number] += count
            problem = f"too many: a set has {self.images:,}"
        outside = (rows < 0) | (rows >= self.images)
        if outside.any():
            outside &= numbers >= 0
            findings.add(problem, int(outside.sum()), map(repr, given[np.flatnonzero(outside)[:FEW]].tolist()))
            rows = np.where(outside, -1, rows)
        return rows.astype(np.intp, copy=False)
