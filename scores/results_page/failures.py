"""Failures: the images that a model has right when they are clean and wrong under a set, by set."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...manifests.records.models import ClassRecord, SampleRecord
from ..comparison.tables import Cell, Column, Table
from ..outcomes import CLEAN, Outcome, Predictions
from .page_pictures import Place

MOST_SETS = 96
"""Sets with pictures; of more, so many spread evenly."""
IMAGES = 2
"""Pictured of a set."""


@dataclass(frozen=True)
class FailedImage:
    """An image that flips for at least one model."""

    place: Place
    sample: str
    """Its id."""
    truth: str
    """Its class."""
    said: Sequence[str]
    """What each model makes of it."""


@dataclass(frozen=True)
class FailedSet:
    """A set with some of the images that flip in it."""

    id: str
    images: Sequence[FailedImage]


class Failures:
    """Where the models whose predictions are known flip; predictions are by the model's label, and all have ``clean``."""

    def __init__(self, predictions: Mapping[str, Predictions], samples: Sequence[SampleRecord], classes: Sequence[ClassRecord]) -> None:
        self._predictions, self.labels = predictions, list(predictions)
        self._samples = samples
        self._names = {c.index: c.name for c in classes}
        self._clean = {label: one.outcomes[CLEAN].correct for label, one in predictions.items()}
        self.set_ids = [name for name in dict.fromkeys(name for one in predictions.values() for name in one.outcomes) if name != CLEAN]
        """In which there are predictions."""
        self._often = sum((self._flips(name).sum(axis=0, dtype=np.int64) for name in self.set_ids), np.zeros(len(samples), np.int64))

    def table(self) -> Table:
        """Return how many images flip in each set, for each model."""
        columns, rows = [Column("set", "text")], {name: list[Cell]([name]) for name in self.set_ids}
        for label, predicted in self._predictions.items():
            columns += [
                Column(f"{label}: right when clean, wrong here", "whole"),
                Column(f"{label}: of those right when clean"),
                Column(f"{label}: wrong when clean, right here", "whole"),
            ]
            was_right = self._clean[label]
            for name, row in rows.items():
                if name in predicted.outcomes:
                    is_right, total = predicted.outcomes[name].correct, int(was_right.sum())
                    lost = int((was_right & ~is_right).sum())
                    row += [lost, lost / total if total else None, int((~was_right & is_right).sum())]
                else:
                    row += [None] * 3
        return Table("failures", "Images that flip, by set", columns, list(rows.values()))

    def shown(self, stored: Container[str]) -> list[FailedSet]:
        """Return some of the images that flip, by stored set: those that flip for most models, and of these those least often elsewhere."""
        flipping = [name for name in self.set_ids if name in stored and self._flips(name).any()]
        most = min(MOST_SETS, len(flipping))
        return [self._failed(flipping[n * len(flipping) // most]) for n in range(most)]

    def right_when_clean(self) -> NDArray[np.bool_]:
        """Return which images all models have right when they are clean."""
        return np.asarray(np.all(list(self._clean.values()), axis=0))

    def _flips(self, set_id: str) -> NDArray[np.bool_]:
        """Return (models, images) whether an image flips."""
        rows = [
            was_right & ~predicted.outcomes[set_id].correct if set_id in predicted.outcomes else np.zeros_like(was_right)
            for predicted, was_right in zip(self._predictions.values(), self._clean.values(), strict=True)
        ]
        return np.asarray(rows)

    def _failed(self, set_id: str) -> FailedSet:
        models = self._flips(set_id).sum(axis=0)
        order = np.lexsort((np.arange(len(models)), self._often, -models))
        return FailedSet(set_id, [self._image(set_id, int(index)) for index in order[:IMAGES] if models[index]])

    def _image(self, set_id: str, index: int) -> FailedImage:
        sample = self._samples[index]
        said = [self._said(label, set_id, index) for label, one in self._predictions.items() if set_id in one.outcomes]
        return FailedImage(Place(set_id, index), sample.id, self._names.get(sample.class_index, sample.class_ or ""), said)

    def _said(self, label: str, set_id: str, index: int) -> str:
        outcome: Outcome = self._predictions[label].outcomes[set_id]
        if outcome.correct[index]:
            return f"{label}: right"
        said = "wrong" if outcome.predicted is None else self._names.get(int(outcome.predicted[index]), str(outcome.predicted[index]))
        return f"{label}: {said}" + ("" if self._clean[label][index] else " (wrong when clean too)")


def failed_places(shown: Sequence[FailedSet], with_clean: bool) -> Iterator[Place]:
    """Yield the images that are shown: each under its set, and clean where the data set has it."""
    for failed in shown:
        for image in failed.images:
            if with_clean:
                yield Place(CLEAN, image.place.sample)
            yield image.place
