"""The pictures of the page: images that flip, and where a model first falls below.

Panels "first below 90, 50, 10 %": Swingler 2022, "A Suite of Incremental Image Degradation Operators for Testing Image
Classification Algorithms", Figures 7 to 9.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...manifests.reader import DataSet
from ...pages.jpeg import SMALL, Pixels, data_uri, jpeg, resized
from ...pages.rungs import Rung, fitting
from ..comparison.entries import Entry
from ..outcomes import CLEAN, Predictions
from ..profiles import THRESHOLDS
from ..tables import Cell, Column, Table

MOST_SETS = 96
"""Sets with pictures of failures; of more, so many spread evenly."""
IMAGES = 2
"""Failures that are pictured of a set."""
WRAPPER = 420
"""Bytes of a stored picture in the page beside its data."""
RUNGS = [Rung(*one) for one in ((224, 85), (224, 70), (224, 55), (160, 65), (160, 50), (112, 60), (96, 50), (64, 50))]
RUNGS.append(Rung(48, 40))
SMALL_RUNGS = [Rung(*one) for one in ((64, 92), (64, 80), (64, 60), (48, 60), (32, 50))]
"""Of images of at most 64 pixels, which are shown enlarged."""


class PicturePlace(NamedTuple):
    """An image of a data set."""

    set_id: str
    sample: int
    """Its index."""


class FailedImage(NamedTuple):
    """An image that flips for at least one model."""

    place: PicturePlace
    sample: str
    """Its id."""
    truth: str
    """Its class."""
    said: Sequence[str]
    """What each model makes of it."""


class Failures:
    """The images that a model has right when clean, and wrong under a set.

    Predictions are by the model's label, and all have ``clean``.
    """

    def __init__(self, predictions: Mapping[str, Predictions], data: DataSet) -> None:
        self._samples, self._names = data.samples, {c.index: c.name for c in data.classes}
        self._outcomes = {label: one.outcomes for label, one in predictions.items()}
        self.labels = list(predictions)
        self._flips: dict[str, NDArray[np.int64]] = {}
        """In each set that has predictions, of each image: how many models flip."""
        for outcomes in self._outcomes.values():
            for name in [name for name in outcomes if name != CLEAN]:
                flips = self._flips.setdefault(name, np.zeros(len(data.samples), np.int64))
                flips += outcomes[CLEAN].correct & ~outcomes[name].correct

    def table(self) -> Table:
        """Return how many images flip in each set, for each model."""
        columns, rows = [Column("set", "text")], {name: list[Cell]([name]) for name in self._flips}
        for label, outcomes in self._outcomes.items():
            columns.append(Column(f"{label}: right when clean, wrong here", "whole"))
            columns.append(Column(f"{label}: of those right when clean"))
            columns.append(Column(f"{label}: wrong when clean, right here", "whole"))
            was_right = outcomes[CLEAN].correct
            for name, row in rows.items():
                cells: list[Cell] = [None] * 3
                if name in outcomes:
                    is_right, total = outcomes[name].correct, int(was_right.sum())
                    lost = int((was_right & ~is_right).sum())
                    cells = [lost, lost / total if total else None, int((~was_right & is_right).sum())]
                row += cells
        return Table("failures", "Images that flip, by set", columns, list(rows.values()))

    def shown(self, stored: Container[str]) -> dict[str, list[FailedImage]]:
        """Return some of the images that flip, by stored set.

        They are those that flip for most models, and of these those that flip least often elsewhere.
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
                guess = None if outcome.predicted is None else int(outcome.predicted[index])
                wrong = "wrong" if guess is None else self._names.get(guess, str(guess))
                before = "" if outcomes[CLEAN].correct[index] else " (wrong when clean too)"
                said.append(f"{label}: right" if outcome.correct[index] else f"{label}: {wrong}{before}")
        truth = self._names.get(sample.class_index, sample.class_ or "")
        return FailedImage(PicturePlace(set_id, index), sample.id, truth, said)


class PanelPicture(NamedTuple):
    """The image under one degradation."""

    degradation: str
    place: PicturePlace | None
    """None where the data set does not have the image: level 0 of one without clean images."""
    level: int
    accuracy: str
    """At this level."""
    change: str
    """What the level does."""


class Panel(NamedTuple):
    """What stands for one model at one threshold."""

    label: str
    pictures: Sequence[PanelPicture]
    never: Sequence[str]
    """Degradations under which its accuracy never falls below the threshold."""


def panel_rows(entries: Sequence[Entry], data: DataSet, index: int) -> dict[str, list[Panel]]:
    """Return the panels of each threshold: one sample where a model first falls below."""
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
    pictures, never = list[PanelPicture](), list[str]()
    for name, profile in entry.scores.profiles.items():
        if (below := profile.first_below.get(threshold)) is None:
            never.append(name)
            continue
        set_id, accuracy = ids.get((name, below.level)), dict(zip(profile.levels, profile.accuracy, strict=True))
        known = f"{100 * accuracy[below.level]:.1f} %" if below.level in accuracy else "not known"
        changed = "" if below.changed is None else f", {100 * below.changed:.0f} % of pixels changed"
        place = None if set_id is None else PicturePlace(set_id, index)
        pictures.append(PanelPicture(name, place, below.level, known, f"{below.change}{changed}"))
    return Panel(entry.label, pictures, never)


@dataclass(frozen=True)
class StoredPicture:
    """An image in the page, which figures refer to."""

    id: str
    uri: str = ""
    width: int = 1
    height: int = 1
    small: bool = False


Images = Mapping[PicturePlace, Pixels]


def read_picture(data: DataSet, place: PicturePlace) -> Pixels:
    """Return an image of a data set, no larger than a page shows it."""
    return resized(data[place.set_id].single(place.sample), RUNGS[0].side)


def encoded(images: Images, room: int) -> dict[PicturePlace, StoredPicture]:
    """Return pictures in so many bytes of a page, as far as can be."""
    small = all(max(image.shape[:2]) <= SMALL for image in images.values())

    def encode(place: PicturePlace, rung: Rung) -> bytes:
        image = images[place]
        return jpeg(resized(image, rung.side), rung.quality, fine=max(image.shape[:2]) <= SMALL)

    # as text they take a third more
    rung, files = fitting(SMALL_RUNGS if small else RUNGS, list(images), encode, 0.74 * room)
    stored = {}
    for place, image in images.items():
        height, width = resized(image, rung.side).shape[:2]
        stored[place] = StoredPicture(_name(place), data_uri(files[place]), width, height, small)
    return stored


def empty(images: Images) -> dict[PicturePlace, StoredPicture]:
    """Return the pictures without their data, to find out how much room there is."""
    return {place: StoredPicture(_name(place)) for place in images}


def _name(place: PicturePlace) -> str:
    return f"image-{place.set_id}-{place.sample}"
