"""Failures: the images that a model has right when they are clean and wrong under a set, by set."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...manifests.records.models import ClassRecord, SampleRecord
from ..outcomes import CLEAN, Predictions
from ..tables import Cell, Column, Table
from .page_pictures import Place

MOST_SETS = 96
"""Sets with pictures; of more, so many spread evenly."""
IMAGES = 2
"""Pictured of a set."""


class FailedImage(NamedTuple):
    """An image that flips for at least one model."""

    place: Place
    sample: str
    """Its id."""
    truth: str
    """Its class."""
    said: Sequence[str]
    """What each model makes of it."""


class Failures:
    """Where the models whose predictions are known flip; predictions are by the model's label, and all have
    ``clean``.
    """

    def __init__(
        self, predictions: Mapping[str, Predictions], samples: Sequence[SampleRecord], classes: Sequence[ClassRecord]
    ) -> None:
        self._samples, self._names = samples, {c.index: c.name for c in classes}
        self._outcomes = {label: one.outcomes for label, one in predictions.items()}
        self.labels = list(predictions)
        names = dict.fromkeys(name for outcomes in self._outcomes.values() for name in outcomes if name != CLEAN)
        self._flips = {name: self._flipping(name) for name in names}
        """In each set that has predictions, of each image: how many models flip."""

    def _flipping(self, set_id: str) -> NDArray[np.int64]:
        counts = np.zeros(len(self._samples), np.int64)
        for outcomes in self._outcomes.values():
            if set_id in outcomes:
                counts += outcomes[CLEAN].correct & ~outcomes[set_id].correct
        return counts

    def table(self) -> Table:
        """Return how many images flip in each set, for each model."""
        columns, rows = [Column("set", "text")], {name: list[Cell]([name]) for name in self._flips}
        for label, outcomes in self._outcomes.items():
            columns += [
                Column(f"{label}: right when clean, wrong here", "whole"),
                Column(f"{label}: of those right when clean"),
                Column(f"{label}: wrong when clean, right here", "whole"),
            ]
            was_right = outcomes[CLEAN].correct
            for name, row in rows.items():
                if name in outcomes:
                    is_right, total = outcomes[name].correct, int(was_right.sum())
                    lost = int((was_right & ~is_right).sum())
                    row += [lost, lost / total if total else None, int((~was_right & is_right).sum())]
                else:
                    row += [None] * 3
        return Table("failures", "Images that flip, by set", columns, list(rows.values()))

    def shown(self, stored: Container[str]) -> dict[str, list[FailedImage]]:
        """Return some of the images that flip, by stored set: those that flip for most models, and of these those least
        often elsewhere.
        """
        often = sum(self._flips.values(), np.zeros(len(self._samples), np.int64))
        flipping = [name for name, models in self._flips.items() if name in stored and models.any()]
        most, found = min(MOST_SETS, len(flipping)), dict[str, list[FailedImage]]()
        for name in (flipping[n * len(flipping) // most] for n in range(most)):
            models = self._flips[name]
            order = np.lexsort((np.arange(len(models)), often, -models))
            found[name] = [self._image(name, index) for index in order[:IMAGES].tolist() if models[index]]
        return found

    def right_when_clean(self) -> NDArray[np.bool_]:
        """Return which images all models have right when they are clean."""
        return np.asarray(np.all([outcomes[CLEAN].correct for outcomes in self._outcomes.values()], axis=0))

    def _image(self, set_id: str, index: int) -> FailedImage:
        sample, said = self._samples[index], []
        for label, outcomes in self._outcomes.items():
            if (outcome := outcomes.get(set_id)) is not None:
                found = None if outcome.predicted is None else int(outcome.predicted[index])
                wrong = "wrong" if found is None else self._names.get(found, str(found))
                before = "" if outcomes[CLEAN].correct[index] else " (wrong when clean too)"
                said.append(f"{label}: right" if outcome.correct[index] else f"{label}: {wrong}{before}")
        truth = self._names.get(sample.class_index, sample.class_ or "")
        return FailedImage(Place(set_id, index), sample.id, truth, said)
