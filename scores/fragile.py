"""Fragile recognition: how often a small change of a region flips what a model has right.

Srivastava, Ben-Yosef & Boix (ICLR 2019), "Minimal Images in Deep Neural Networks: Fragile Object Recognition in Natural Images".
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import PredictionError, VerificationError
from ..manifests.reader import DataSet
from .estimates import Bootstrap, interval
from .formulas import Estimate
from .outcomes import CLEAN, Outcome
from .places import SHIFTS, SHRINKS, Neighbours, Places, Step
from .records import Fragile, FragileRate

TOP5_CLASSES = 1_000
"""From so many classes on a region is right where the true class is among the five most likely: the paper's measure on ImageNet."""
RATES = tuple(Fragile.model_fields)

Rates = NDArray[np.float64]
"""(3, images): rate, positive, negative; NaN for an image without anchors."""


@dataclass(frozen=True)
class Flips:
    """Of each anchor, what regions near it are."""

    some: NDArray[np.bool_]
    """Whether one of them differs."""
    every: NDArray[np.bool_]
    """Whether all do, also where there are none."""
    count: NDArray[np.int64]
    """How many of them there are."""


@dataclass(frozen=True)
class FragileScores:
    """The fragile rates of a model, and what goes with them."""

    groups: dict[str, Fragile]
    """By group of regions: ``p20``, ``s12``; empty for a data set without regions."""
    notes: list[str] = field(default_factory=list)
    """What to know of them, a sentence each."""
    estimates: dict[str, Estimate] = field(default_factory=dict)
    """Each rate, and in each resample of the source images, by ``fragile.<group>.<score>``; NaN in resamples of one image."""


def measure_fragile(data: DataSet, outcomes: Mapping[str, Outcome], seed: int = 0, *, top5: bool | None = None) -> FragileScores:
    """Score what a model made of the regions of the set ``clean``.

    An anchor is fragile where regions near it differ from it in being right: one of them (loose), or all (strict). *Shift*: its eight
    neighbours, as far as they lie in the image. *Shrink*: the nine regions inside it that are two pixels smaller. A rate is the number of
    fragile anchors over the number of anchors of an image, averaged over images. Anchors that are right (positive) and wrong (negative)
    are counted apart. Label change: the predicted class of a neighbour is another one.

    Parameters
    ----------
    data : DataSet
        Its samples are regions; of any other, nothing is returned but, where regions are stored as a table, a note.
    outcomes : mapping of str to Outcome
        By set id, a row a sample.
    seed : int
        Of the resamples for intervals, which draw source images: all regions of an image together.
    top5 : bool, optional
        Whether right means that the true class is among the five most likely. By default so from 1,000 classes on, where the predictions
        say it: the paper's measure on ImageNet.

    Returns
    -------
    FragileScores

    Raises
    ------
    PredictionError
        Other rows than samples, or `top5` is asked of predictions that do not say it.
    VerificationError
        A shrunk region of an anchor is missing.

    References
    ----------
    Srivastava, Ben-Yosef & Boix 2019, "Minimal Images in Deep Neural Networks: Fragile Object Recognition in Natural Images", ICLR.
    """
    regions = [sample.region for sample in data.samples if sample.region is not None]
    if not regions:
        return FragileScores({}, [TABLE_NOTE] if _recipe(data).get("store") == "table" else [])
    if CLEAN not in outcomes:
        return FragileScores({}, [f"fragile is empty: the rates are of the set {CLEAN!r}, of which there are no predictions."])
    outcome = outcomes[CLEAN]
    if not len(regions) == len(data.samples) == len(outcome):
        raise PredictionError(
            f"There are {len(outcome):,} predictions of {len(data.samples):,} samples, {len(regions):,} of them regions; "
            "fragile rates need one of every region."
        )
    by_top5 = decided_top5(top5, data, [outcome])
    tally = Tally.of(Places.of(regions), outcome, shrunk=has_shrunk(data), top5=by_top5)
    return _scored(tally, data, seed, by_top5)


def crop_scores(data: DataSet, outcome_of: Mapping[str, Outcome], seed: int = 0, *, top5: bool | None = None) -> FragileScores:
    """Score what a model made of ``data.crops(id)``, image by image: for regions that are stored as a table.

    Parameters
    ----------
    data : DataSet
    outcome_of : mapping of str to Outcome
        By the id of a source image; a row a crop, in the order of ``data.crops(id)``. Images that are not in it do not count.
    seed, top5
        As in `measure_fragile`.

    Returns
    -------
    FragileScores

    Raises
    ------
    PredictionError
        No image, other rows than crops, or `top5` is asked of outcomes that do not say it.
    UnknownCorruption
        The data set has no crops of such an image.
    VerificationError
        A shrunk region of an anchor is missing.
    """
    if not outcome_of:
        raise PredictionError("There are no predictions of any image. crop_scores takes those of data.crops(id) for each id.")
    by_top5 = decided_top5(top5, data, outcome_of.values())
    tallies = []
    for name, outcome in outcome_of.items():
        places = Places.of(data.crops(name).regions())
        if len(places) != len(outcome):
            raise PredictionError(f"There are {len(outcome):,} predictions of the {len(places):,} crops of the image {name!r}.")
        tallies.append(Tally.of(places, outcome, shrunk=has_shrunk(data), top5=by_top5))
    return _scored(Tally.joined(tallies), data, seed, by_top5)


@dataclass(frozen=True)
class Tally:
    """Rates image by image: group -> score -> rates, and how many anchors they are of."""

    images: int
    rates: dict[str, dict[str, Rates]]
    anchors: dict[str, dict[str, int]]

    @classmethod
    def of(cls, places: Places, outcome: Outcome, *, shrunk: bool, top5: bool) -> Tally:
        """Count the flips of all anchors; `shrunk`: they have shrunk regions."""
        right = is_right(outcome, top5)
        anchors = np.flatnonzero(places.anchor)
        neighbours = Neighbours(places)
        shifts = flips(neighbours, anchors, right, SHIFTS)
        fragile = {"loose_shift": (shifts.some, shifts.count > 0), "strict_shift": (shifts.every, shifts.count > 0)}
        if shrunk:
            shrinks = flips(neighbours, anchors, right, SHRINKS)
            if (missing := int((shrinks.count < len(SHRINKS)).sum())) > 0:
                raise VerificationError(f"{missing:,} anchors lack shrunk regions. Run `corruptset verify` on the data set.")
            counted = np.ones(len(anchors), bool)
            fragile |= {"loose_shrink": (shrinks.some, counted), "strict_shrink": (shrinks.every, counted)}
        if outcome.predicted is not None:
            fragile["label_change_shift"] = (flips(neighbours, anchors, outcome.predicted, SHIFTS).some, shifts.count > 0)
        rates, counts = dict[str, dict[str, Rates]](), dict[str, dict[str, int]]()
        for number, group in enumerate(places.groups):
            own = places.group[anchors] == number
            rates[group] = {name: _rates(places, anchors, right, some, counted & own) for name, (some, counted) in fragile.items()}
            counts[group] = {name: int((counted & own).sum()) for name, (_, counted) in fragile.items()}
        return cls(len(places.sources), rates, counts)

    @classmethod
    def joined(cls, tallies: list[Tally]) -> Tally:
        """Return the tally of the images of several; a group that an image lacks has no rates there."""
        names = {group: list(scores) for tally in tallies for group, scores in tally.rates.items()}
        rates = {
            group: {name: np.concatenate([t._part(group, name) for t in tallies], axis=1) for name in own} for group, own in names.items()
        }
        anchors = {
            group: {name: sum(t.anchors[group][name] for t in tallies if group in t.anchors) for name in own}
            for group, own in names.items()
        }
        return cls(sum(t.images for t in tallies), rates, anchors)

    def _part(self, group: str, name: str) -> Rates:
        return self.rates[group][name] if group in self.rates else np.full((3, self.images), np.nan)


def flips(neighbours: Neighbours, anchors: NDArray[np.int64], values: NDArray[Any], steps: Iterable[Step]) -> Flips:
    """Compare each anchor's value with those of the regions that lie some steps from it."""
    some, every, count = np.zeros(len(anchors), bool), np.ones(len(anchors), bool), np.zeros(len(anchors), np.int64)
    for step in steps:
        found = neighbours.at(anchors, step)
        there = found >= 0
        other = values[found] != values[anchors]
        some |= there & other
        every &= ~there | other
        count += there
    return Flips(some, every, count)


def _rates(
    places: Places, anchors: NDArray[np.int64], right: NDArray[np.bool_], fragile: NDArray[np.bool_], counted: NDArray[np.bool_]
) -> Rates:
    kinds = (counted, counted & fragile, counted & fragile & right[anchors], counted & fragile & ~right[anchors])
    every, *counts = (np.bincount(places.source[anchors[kind]], minlength=len(places.sources)) for kind in kinds)
    with np.errstate(invalid="ignore"):
        return np.stack(counts) / every


def _scored(tally: Tally, data: DataSet, seed: int, top5: bool) -> FragileScores:
    """Average over images, with intervals over resamples of them."""
    named = {f"fragile.{group}.{name}": rates for group, scores in tally.rates.items() for name, rates in scores.items()}
    known = {name: rates for name, rates in named.items() if not np.isnan(rates[0]).all()}
    bootstrap = Bootstrap(tally.images, seed)
    resampled = np.full((bootstrap.resamples, len(known)), np.nan)
    if known and tally.images > 1:
        resampled = bootstrap.means(np.stack([rates[0] for rates in known.values()], axis=1))
    means = {name: np.nanmean(rates, axis=1) for name, rates in known.items()}
    estimates = {name: np.concatenate([means[name][:1], column]) for name, column in zip(known, resampled.T, strict=True)}
    groups = {}
    for group, anchors in tally.anchors.items():
        rated: dict[str, FragileRate | None] = dict.fromkeys(RATES)
        for name in RATES:
            if (key := f"fragile.{group}.{name}") in known:
                rate, positive, negative = map(float, means[key])
                bounds = interval(estimates[key][1:])
                rated[name] = FragileRate(rate=rate, positive=positive, negative=negative, interval=bounds, anchors=anchors[name])
        groups[group] = Fragile(**rated)
    return FragileScores(groups, _notes(data, tally, top5), estimates)


TABLE_NOTE = (
    "fragile is empty: the regions are stored as a table, and predictions are of whole images. "
    "corruptset.scores.fragile.crop_scores takes predictions of data.crops(id); docs/regions.md shows it."
)


def _notes(data: DataSet, tally: Tally, top5: bool) -> list[str]:
    measure = "the true class is among the five most likely (the paper's measure on ImageNet)" if top5 else "the most likely class is true"
    notes = [f"fragile: a region is right where {measure}."]
    if _recipe(data).get("mode") == "sampled":
        notes.append("fragile: rates are estimates, of positions drawn at random in blocks; none of the anchors is at an image's border.")
    if tally.images == 1:
        notes.append("fragile: the regions are of one image, so that no rate has an interval.")
    return notes


def decided_top5(top5: bool | None, data: DataSet, outcomes: Iterable[Outcome]) -> bool:
    """Return whether the five most likely classes count."""
    said = all(outcome.top5 is not None for outcome in outcomes)
    if top5 and not said:
        raise PredictionError("The predictions do not say whether the true class is among the five most likely.")
    return said and len(data.classes) >= TOP5_CLASSES if top5 is None else top5


def _recipe(data: DataSet) -> dict[str, Any]:
    """Return what the recipe says of regions."""
    record = data.manifest.recipe.get("regions")
    return record if isinstance(record, dict) else {}


def is_right(outcome: Outcome, top5: bool) -> NDArray[np.bool_]:
    """Return (N,) whether the true class is the most likely one, or among the five most likely."""
    return outcome.top5 if top5 and outcome.top5 is not None else outcome.correct


def has_shrunk(data: DataSet) -> bool:
    """Return whether anchors have shrunk regions, which embedded images have not."""
    return _recipe(data).get("kind") != "embed"
