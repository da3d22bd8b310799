"""Measure how often a small change to a region makes a correct prediction wrong, or the reverse.

The rates are defined by Srivastava, Ben-Yosef & Boix 2019, "Minimal Images in Deep Neural Networks: Fragile Object
Recognition in Natural Images" (ICLR).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import PredictionError, VerificationError
from ..manifests.reader import Dataset
from .bootstrap import Bootstrap
from .outcomes import CLEAN, Outcome
from .places import SHIFTS, SHRINKS, Neighbours, Places, Step
from .records import RATES, ScoreValue
from .score_values import Measured, score_value, without_resamples
from .tables import Cell, Table, columns

TOP5_CLASSES = 1_000
"""The minimum number of classes for which top-5 accuracy decides whether a region is correct, as in the paper."""

Counts = dict[tuple[str, str], NDArray[np.int64]]
"""Counts of anchors per image, (4, images), by (size, rate).

The rows count all anchors, fragile anchors, correct fragile anchors, and wrong fragile anchors.
"""


@dataclass(frozen=True)
class Flips:
    """The comparison of each anchor with the regions near it, as arrays with one value per anchor."""

    any_differ: NDArray[np.bool_]
    """Whether at least one region differs from the anchor."""
    all_differ: NDArray[np.bool_]
    """Whether all regions differ from the anchor. This is also true if there are no regions near the anchor."""
    n_neighbours: NDArray[np.int64]
    """The number of regions near the anchor."""


NO_IMAGES = Table(
    "minimal_images",
    "Minimal images of each image",
    columns("text", "image", "regions", "change") + columns("whole", "anchors", "minimal", "wrong and fragile"),
    [],
)


@dataclass(frozen=True)
class FragileScores:
    """A model's rates of fragile recognition."""

    measures: dict[str, Measured] = field(default_factory=dict)
    """The scores by name, for example ``fragile.p20.loose_shift``. A dataset without regions has none."""
    notes: list[str] = field(default_factory=list)
    """Remarks about the rates, one sentence each."""
    units: int = 0
    """The number of source images."""
    images: Table = NO_IMAGES
    """A table of the number of anchors, minimal images, and wrong fragile anchors in each source image."""

    @property
    def scores(self) -> dict[str, ScoreValue]:
        """The rates with their confidence intervals, by name."""
        return {name: score_value(name, one, self.units) for name, one in self.measures.items()}


def measure_fragile(data: Dataset, outcomes: Mapping[str, Outcome], seed: int = 0) -> FragileScores:
    """Compute a model's fragile rates from its outcomes on the set ``clean``.

    An anchor is a region that is compared with the regions near it. For a *shift*, these are its eight neighbours
    within the image. For a *shrink*, they are the nine regions inside the anchor that are two pixels smaller.

    The anchor is fragile to a change if the model is correct on the anchor and wrong on regions near it, or the
    reverse. For a loose rate, one such region is enough. For a strict rate, all of the regions must differ. For a
    label change, the predicted class must differ. A rate is the fraction of fragile anchors in an image, averaged over
    images.

    With at least 1,000 classes, top-5 accuracy decides whether a region is correct, if the predictions contain it.

    Parameters
    ----------
    data : Dataset
        A dataset whose samples are regions. Other datasets have no rates.
    outcomes : mapping of str to Outcome
        A mapping from set ids to outcomes, which have one row per sample.
    seed : int
        The random seed of the bootstrap, which draws source images with all of their regions.

    Returns
    -------
    FragileScores

    Raises
    ------
    PredictionError
        If the number of outcomes differs from the number of samples.
    VerificationError
        If a shrunk region of an anchor is missing.

    References
    ----------
    Srivastava, Ben-Yosef & Boix 2019, "Minimal Images in Deep Neural Networks: Fragile Object Recognition in Natural
    Images", ICLR.
    """
    regions = [sample.region for sample in data.samples if sample.region is not None]
    if not regions:
        return FragileScores(notes=[TABLE_NOTE] if _recipe(data).get("store") == "table" else [])
    if CLEAN not in outcomes:
        return FragileScores(notes=[f"There are no fragile rates, because they need predictions of the set {CLEAN!r}."])
    outcome = outcomes[CLEAN]
    if not len(regions) == len(data.samples) == len(outcome):
        raise PredictionError(
            f"There are {len(outcome):,} predictions for {len(data.samples):,} samples, {len(regions):,} of them "
            "regions. Fragile rates need one prediction per region."
        )
    return _score_parts(data, [(Places.of(regions), outcome)], seed, counts_top5(data, [outcome]))


def crop_scores(data: Dataset, outcome_of: Mapping[str, Outcome], seed: int = 0) -> FragileScores:
    """Compute the fragile rates for regions that are stored as a table, from predictions for ``data.crops(id)``.

    Parameters
    ----------
    data : Dataset
    outcome_of : mapping of str to Outcome
        A mapping from ids of source images to outcomes. Each outcome has one row per crop, in the order of
        ``data.crops(id)``. Images without outcomes are excluded.
    seed : int
        The random seed of the bootstrap.

    Returns
    -------
    FragileScores

    Raises
    ------
    PredictionError
        If there are no images, or if the number of outcomes differs from the number of crops.
    UnknownCorruption
        If the dataset has no crops of one of the images.
    VerificationError
        If a shrunk region of an anchor is missing.
    """
    if not outcome_of:
        raise PredictionError("There are no predictions. Pass the predictions for data.crops(id), for each id.")
    parts = ((crop_places(data, name, outcome), outcome) for name, outcome in outcome_of.items())
    return _score_parts(data, parts, seed, counts_top5(data, outcome_of.values()))


def crop_places(data: Dataset, sample_id: str, outcome: Outcome) -> Places:
    """Return the positions of an image's crops. Raise PredictionError if `outcome` has a different number of rows."""
    places = Places.of(data.crops(sample_id).regions())
    if len(places) != len(outcome):
        raise PredictionError(
            f"There are {len(outcome):,} predictions for the {len(places):,} crops of the image {sample_id!r}. Pass "
            "one prediction per crop."
        )
    return places


def _counts(places: Places, outcome: Outcome, *, shrunk: bool, top5: bool) -> Counts:
    """Count the anchors of each image, by size and rate."""
    correct = is_correct(outcome, top5)
    anchors = np.flatnonzero(places.anchor)
    neighbours = Neighbours(places)
    by_change = {"shift": flips(neighbours, anchors, correct, SHIFTS)}
    if shrunk:
        by_change["shrink"] = flips(neighbours, anchors, correct, SHRINKS)
        if (missing := int((by_change["shrink"].n_neighbours < len(SHRINKS)).sum())) > 0:
            raise VerificationError(f"{missing:,} anchors lack shrunk regions. Run `corruptset verify` on the dataset.")
    fragile = {f"loose_{change}": (f.any_differ, f.n_neighbours > 0) for change, f in by_change.items()}
    fragile |= {f"strict_{change}": (f.all_differ, f.n_neighbours > 0) for change, f in by_change.items()}
    if outcome.predicted is not None:
        fragile["label_change_shift"] = (
            flips(neighbours, anchors, outcome.predicted, SHIFTS).any_differ,
            by_change["shift"].n_neighbours > 0,
        )
    counts: Counts = {}
    for number, group in enumerate(places.groups):
        for name in [name for name in RATES if name in fragile]:
            is_fragile, has_neighbours = fragile[name]
            counted = has_neighbours & (places.group[anchors] == number)
            flipped = counted & is_fragile
            kinds = (counted, flipped, flipped & correct[anchors], flipped & ~correct[anchors])
            counts[group, name] = np.stack(
                [np.bincount(places.source[anchors[k]], minlength=len(places.sources)) for k in kinds]
            )
    return counts


def flips(neighbours: Neighbours, anchors: NDArray[np.int64], values: NDArray[Any], steps: Iterable[Step]) -> Flips:
    """Compare the value of each anchor with the values of the regions at the given offsets from it."""
    any_differ, all_differ = np.zeros(len(anchors), bool), np.ones(len(anchors), bool)
    count = np.zeros(len(anchors), np.int64)
    for step in steps:
        regions = neighbours.at(anchors, step)
        exists = regions >= 0
        differs = values[regions] != values[anchors]
        any_differ |= exists & differs
        all_differ &= ~exists | differs
        count += exists
    return Flips(any_differ, all_differ, count)


def _score_parts(data: Dataset, parts: Iterable[tuple[Places, Outcome]], seed: int, top5: bool) -> FragileScores:
    """Return the rates over the images of all parts together, with resamples of the images."""
    shrunk = has_shrunk(data)
    counts = [(places.sources, _counts(places, outcome, shrunk=shrunk, top5=top5)) for places, outcome in parts]
    sources = [source for names, _ in counts for source in names]
    # If a part has no anchors of a size, it contributes zeros.
    joined = {
        key: np.concatenate([part.get(key, np.zeros((4, len(names)), np.int64)) for names, part in counts], axis=1)
        for key in dict.fromkeys(key for _, part in counts for key in part)
    }
    known = {key: rows for key, rows in joined.items() if rows[0].any()}
    with np.errstate(invalid="ignore"):
        rates = {key: rows[1:] / rows[0] for key, rows in known.items()}
    bootstrap = Bootstrap(len(sources), seed)
    resampled = np.empty((bootstrap.resamples, 0))
    if known:
        resampled = bootstrap.means(np.stack([rows[0] for rows in rates.values()], axis=1))
    measures, cells = dict[str, Measured](), list[list[Cell]]()
    for ((group, kind), rows), column in zip(rates.items(), resampled.T, strict=True):
        per_image, name = known[group, kind], f"fragile.{group}.{kind}"
        rate, positive, negative = np.nanmean(rows, axis=1).tolist()
        measures[name] = Measured(np.array([rate, *column]), count=int(per_image[0].sum()))
        minimal = float(per_image[2, per_image[0] > 0].mean())
        parts_of = {"positive": positive, "negative": negative, "minimal": minimal}
        measures |= {f"{name}.{part}": Measured(without_resamples(number)) for part, number in parts_of.items()}
        cells += [
            [source, group, kind.replace("_", " "), *of_image]
            for source, of_image in zip(sources, per_image[[0, 2, 3]].T.tolist(), strict=True)
            if of_image[0]
        ]
    return FragileScores(measures, _notes(data, top5), bootstrap.units, replace(NO_IMAGES, rows=cells))


TABLE_NOTE = (
    "There are no fragile rates, because the regions are stored as a table and these predictions are of whole images. "
    "Pass predictions of data.crops(id) to corruptset.scores.fragile.crop_scores (docs/regions.md)."
)


def _notes(data: Dataset, top5: bool) -> list[str]:
    measure = (
        "the true class is among the five most likely ones, as in the paper's measure on ImageNet"
        if top5
        else "the most likely class is the true one"
    )
    notes = [f"For fragile rates, a region counts as correct if {measure}."]
    if _recipe(data).get("mode") == "sampled":
        notes.append(
            "The fragile rates are estimates from randomly drawn positions, none of which is at the border of an image."
        )
    return notes


def counts_top5(data: Dataset, outcomes: Iterable[Outcome]) -> bool:
    """Return whether top-5 accuracy, not top-1 accuracy, decides whether a region is correct."""
    return len(data.classes) >= TOP5_CLASSES and all(outcome.top5 is not None for outcome in outcomes)


def _recipe(data: Dataset) -> dict[str, Any]:
    """Return the part of the recipe that describes regions."""
    record = data.manifest.recipe.get("regions")
    return record if isinstance(record, dict) else {}


def is_correct(outcome: Outcome, top5: bool) -> NDArray[np.bool_]:
    """Return whether the model classifies each region correctly, by top-5 or by top-1 accuracy."""
    return outcome.top5 if top5 and outcome.top5 is not None else outcome.correct


def has_shrunk(data: Dataset) -> bool:
    """Return whether the anchors of a dataset have shrunk regions. Embedded images have none."""
    return _recipe(data).get("kind") != "embed"
