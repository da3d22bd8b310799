"""Outcomes of several sets as they are gathered from files, and which images have none yet."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..outcomes import Outcome
from .findings import FEW, RowFindings

FIELDS: dict[str, type[np.generic]] = {
    "correct": np.bool_,
    "top5": np.bool_,
    "rank": np.int32,
    "probability": np.float32,
    "predicted": np.int32,
}
"""Of an outcome: 14 bytes an image."""


class Gathering:
    """A place for what a model made of every image of some sets.

    Parameters
    ----------
    sets : sequence of str
        Their ids.
    images : int
        Of each set.
    """

    def __init__(self, sets: Sequence[str], images: int) -> None:
        self.sets = list(sets)
        self.images = images
        # an operating system gives pages of memory when they are written: sets and fields that stay empty cost none
        self._fields = {name: np.empty((len(self.sets), images), dtype) for name, dtype in FIELDS.items()}
        self._there = np.zeros((len(self.sets), images), np.bool_)
        self._known: dict[int, set[str]] = {}

    def put(
        self, outcome: Outcome, numbers: NDArray[np.intp], rows: NDArray[np.intp], findings: RowFindings, shown: Callable[[int], str]
    ) -> None:
        """Take what became of some rows.

        Parameters
        ----------
        outcome : Outcome
            Of n rows.
        numbers : (n,) ndarray of int
            Of the sets, in `sets`.
        rows : (n,) ndarray of int
            Of the images, 0..images-1.
        findings : RowFindings
            Is told of rows that were there before.
        shown : callable
            Place in the block -> how the row is called.
        """
        places = numbers * self.images + rows
        there = self._there.reshape(-1)
        _, first = np.unique(places, return_index=True)
        again = there[places]
        if len(first) < len(places):
            again[np.setdiff1d(np.arange(len(places)), first)] = True
        if again.any():
            at = np.flatnonzero(again)
            findings.add("twice", len(at), map(shown, at[:FEW].tolist()))
        there[places] = True
        given = {name for name in FIELDS if getattr(outcome, name) is not None}
        for name in given:
            self._fields[name].reshape(-1)[places] = getattr(outcome, name)
        for number in np.unique(numbers).tolist():
            self._known[number] = self._known.get(number, given) & given

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
