"""Example images on a results page: failures, and levels at which accuracy first falls below a threshold.

The panels "first below 90, 50 and 10 %" follow Figures 7 to 9 of Swingler 2022, "A Suite of Incremental Image
Degradation Operators for Testing Image Classification Algorithms".
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...manifests.reader import Dataset
from ...pages.thumbnails import SMALL, Pixels, data_uri, shrunk, thumbnail_side
from ..comparison.entries import Entry
from ..outcomes import CLEAN, Predictions
from ..profiles import THRESHOLDS
from ..tables import Cell, Column, Table

MAX_SETS = 96
"""The maximum number of sets whose failures are shown. If there are more sets, evenly spaced ones are chosen."""
FAILURES_PER_SET = 2


class ImagePlace(NamedTuple):
    """The set and the index of an image in a dataset."""

    set_id: str
    sample: int


class FailedImage(NamedTuple):
    """An image that at least one model classifies correctly when clean, but incorrectly in a corrupted set.

    Attributes
    ----------
    place : ImagePlace
    sample : str
        The id of the sample.
    truth : str
        The name of the true class.
    answers : sequence of str
        For each model, text that states the name of the model and how it classifies the image.
    """

    place: ImagePlace
    sample: str
    truth: str
    answers: Sequence[str]


class Failures:
    """The images that models classify correctly when clean, but incorrectly in a corrupted set.

    Parameters
    ----------
    predictions : mapping of str to Predictions
        A mapping from model labels to predictions. All predictions must include the set ``clean``.
    data : Dataset
    """

    def __init__(self, predictions: Mapping[str, Predictions], data: Dataset) -> None:
        self._samples, self._names = data.samples, {c.index: c.name for c in data.classes}
        self._outcomes = {label: one.outcomes for label, one in predictions.items()}
        self.labels = list(predictions)
        self._failing_models: dict[str, NDArray[np.int64]] = {}
        """For each set, the number of models that fail on each image."""
        for outcomes in self._outcomes.values():
            for name in [name for name in outcomes if name != CLEAN]:
                models = self._failing_models.setdefault(name, np.zeros(len(data.samples), np.int64))
                models += outcomes[CLEAN].correct & ~outcomes[name].correct

    def table(self) -> Table:
        """Return a table of the number of failures in each set for each model."""
        columns, rows = [Column("set", "text")], {name: list[Cell]([name]) for name in self._failing_models}
        for label, outcomes in self._outcomes.items():
            columns.append(Column(f"{label}: correct when clean, wrong here", "whole"))
            columns.append(Column(f"{label}: share of those correct when clean"))
            columns.append(Column(f"{label}: wrong when clean, correct here", "whole"))
            was_correct = outcomes[CLEAN].correct
            for name, row in rows.items():
                cells: list[Cell] = [None] * 3
                if name in outcomes:
                    is_correct, total = outcomes[name].correct, int(was_correct.sum())
                    lost = int((was_correct & ~is_correct).sum())
                    cells = [lost, lost / total if total else None, int((~was_correct & is_correct).sum())]
                row += cells
        return Table("failures", "Failures by set", columns, list(rows.values()))

    def examples(self, stored: Container[str]) -> dict[str, list[FailedImage]]:
        """Return the worst failures in each stored set.

        Images that are misclassified by the most models come first. Among equal images, those with the fewest errors
        over all sets come first.
        """
        every = sum(self._failing_models.values(), np.zeros(len(self._samples), np.int64))
        failing = [name for name, models in self._failing_models.items() if name in stored and models.any()]
        count, found = min(MAX_SETS, len(failing)), dict[str, list[FailedImage]]()
        for name in (failing[n * len(failing) // count] for n in range(count)):
            models = self._failing_models[name]
            order = np.lexsort((np.arange(len(models)), every, -models))
            found[name] = [self._image(name, index) for index in order[:FAILURES_PER_SET].tolist() if models[index]]
        return found

    def correct_when_clean(self) -> NDArray[np.bool_]:
        """Return, for each clean image, whether all models classify it correctly."""
        return np.asarray(np.all([outcomes[CLEAN].correct for outcomes in self._outcomes.values()], axis=0))

    def _image(self, set_id: str, index: int) -> FailedImage:
        sample, answers = self._samples[index], []
        for label, outcomes in self._outcomes.items():
            if (outcome := outcomes.get(set_id)) is not None:
                guess = None if outcome.predicted is None else int(outcome.predicted[index])
                wrong = "wrong" if guess is None else self._names.get(guess, str(guess))
                before = "" if outcomes[CLEAN].correct[index] else " (also wrong when clean)"
                answers.append(f"{label}: correct" if outcome.correct[index] else f"{label}: {wrong}{before}")
        truth = self._names.get(sample.class_index, sample.class_ or "")
        return FailedImage(ImagePlace(set_id, index), sample.id, truth, answers)


class PanelImage(NamedTuple):
    """An image at the level of a degradation at which a model's accuracy first falls below a threshold.

    Attributes
    ----------
    degradation : str
    place : ImagePlace, optional
        None if the dataset does not contain the image. For example, a dataset without clean images has no level 0.
    level : int
    accuracy : str
        The accuracy of the model at this level.
    change : str
        A description of the level's effect.
    """

    degradation: str
    place: ImagePlace | None
    level: int
    accuracy: str
    change: str


class Panel(NamedTuple):
    """The images of one model at one threshold.

    `never` contains the degradations under which the accuracy never falls below the threshold.
    """

    label: str
    images: Sequence[PanelImage]
    never: Sequence[str]


def threshold_panels(entries: Sequence[Entry], data: Dataset, index: int) -> dict[str, list[Panel]]:
    """Return one panel per model for each threshold. The panels show the sample at `index`."""
    ids: dict[tuple[str, int], str] = {}
    for s in data.manifest.sets:
        if s.id in data and len(s.stages) == 1 and (level := s.stages[0].level) is not None:
            ids[s.stages[0].corruption, level] = s.id
            if CLEAN in data:
                ids[s.stages[0].corruption, 0] = CLEAN
    shown = [entry for entry in entries if entry.scores.profiles]
    return {
        f"{100 * threshold:.0f} %": [_panel(entry, str(threshold), ids, index) for entry in shown]
        for threshold in (THRESHOLDS if shown else ())
    }


def _panel(entry: Entry, threshold: str, ids: Mapping[tuple[str, int], str], index: int) -> Panel:
    images, never = list[PanelImage](), list[str]()
    for name, profile in entry.scores.profiles.items():
        if (below := profile.first_below.get(threshold)) is None:
            never.append(name)
            continue
        set_id, accuracy = ids.get((name, below.level)), dict(zip(profile.levels, profile.accuracy, strict=True))
        known = f"{100 * accuracy[below.level]:.1f} %" if below.level in accuracy else "unknown"
        changed = "" if below.changed is None else f", {100 * below.changed:.0f} % of pixels changed"
        place = None if set_id is None else ImagePlace(set_id, index)
        images.append(PanelImage(name, place, below.level, known, f"{below.change}{changed}"))
    return Panel(entry.label, images, never)


@dataclass(frozen=True)
class StoredImage:
    """An image that is stored once on a page and shown in several places."""

    id: str
    uri: str = ""
    width: int = 1
    height: int = 1
    small: bool = False


def stored_images(data: Dataset, places: Sequence[ImagePlace], max_bytes: float) -> dict[ImagePlace, StoredImage]:
    """Return images from a dataset, reduced in size so that they have about `max_bytes` bytes together."""
    found: dict[ImagePlace, StoredImage] = {}
    for place in dict.fromkeys(places):
        image: Pixels = data[place.set_id].single(place.sample)
        small = max(image.shape[:2]) <= SMALL
        side = thumbnail_side(len(set(places)), small=small, max_bytes=max_bytes)
        reduced = shrunk(image, side, side)
        uri = data_uri(reduced, small=small)
        found[place] = StoredImage(image_id(place), uri, reduced.width, reduced.height, small)
    return found


def image_id(place: ImagePlace) -> str:
    """Return the HTML id of an image."""
    return f"image-{place.set_id}-{place.sample}"
