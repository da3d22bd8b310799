"""Outcomes of several sets as they are gathered from files, and which images have none yet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..outcomes import Outcome

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
