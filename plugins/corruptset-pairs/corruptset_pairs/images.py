"""Select the images of a study: fragile pairs of regions, or images at the levels of gradual degradations.

A *pair* consists of a region, the anchor, and the same region after a small shift or shrink, its partner. In a fragile
pair, a model classifies one of the two correctly and the other incorrectly (Srivastava, Ben-Yosef & Boix 2019, "Minimal
Images in Deep Neural Networks: Fragile Object Recognition in Natural Images"). Random choices depend only on the seed
and on the names of the items to choose from. They are therefore the same on all machines and with all versions of
NumPy.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice, zip_longest
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from corruptset.errors import StudyError, suggest
from corruptset.manifests.paths import REGIONS
from corruptset.manifests.reader import Dataset
from corruptset.manifests.records.models import RegionRecord
from corruptset.manifests.regions.crops import Crops, RegionIndex
from corruptset.manifests.regions.grids import region_id
from corruptset.quantities import spans
from corruptset.scores.outcomes import CLEAN
from corruptset.scores.places import SHIFTS, SHRINKS, Neighbours, Places, Step
from corruptset.scores.prediction_files.reading import read_predictions
from corruptset.scores.records import Scores
from corruptset.scores.scores_file import load_scores
from corruptset.scores.set_choice import choose_scored_sets

from .study_records import Change, Trial

T = TypeVar("T")
TrialImages = list[tuple[Trial, NDArray[np.uint8]]]
"""Images (H, W, C) with 1 or 3 channels, each with the record that describes it."""
Accuracy = dict[str, dict[str, float]]
"""The accuracy of a model, by degradation and level."""
Place = tuple[int, int]
"""The indices of an anchor and of its partner among the regions in their image."""
STEPS: dict[Change, tuple[Step, ...]] = {"shift": SHIFTS, "shrink": SHRINKS}
"""For each kind of change, the steps that lead from an anchor to its partners."""


def hash_of(*words: str) -> bytes:
    """Return a 16-byte hash of a sequence of strings."""
    return hashlib.blake2b("\0".join(words).encode(), digest_size=16).digest()


@dataclass(frozen=True)
class Draw:
    """The values that determine every random choice of a study."""

    digest: str
    """The digest of the dataset."""
    seed: int
    answer_of: Mapping[int, str]
    """The right answer for each class index. Images of classes without an answer are not shown."""

    def order(self, purpose: str, name: Callable[[Any], str] = str) -> Callable[[Any], bytes]:
        """Return a key function that puts items into a random order when it is passed to `sorted` or `min`.

        The order depends only on the seed, the purpose and the names of the items.

        Examples
        --------
        >>> draw = Draw("", 0, {})
        >>> sorted("abcdef", key=draw.order("example")), sorted("fedcba", key=draw.order("example"))
        (['f', 'd', 'b', 'c', 'e', 'a'], ['f', 'd', 'b', 'c', 'e', 'a'])
        """
        return lambda item: hash_of(str(self.seed), purpose, name(item))

    def select(self, count: int, label_of: Mapping[str, int], make: Callable[[str], Iterable[T]]) -> list[T]:
        """Return up to `count` of the items that `make` returns for source images, from each category in turn.

        Source images whose class has no answer are excluded.
        """
        by_category: dict[str, list[str]] = {}
        for source in sorted(label_of, key=self.order("sources")):
            if label_of[source] in self.answer_of:
                by_category.setdefault(self.answer_of[label_of[source]], []).append(source)
        categories = sorted(by_category, key=self.order("categories"))
        rounds = zip_longest(*(chain.from_iterable(map(make, by_category[category])) for category in categories))
        return list(islice(filter(None, chain.from_iterable(rounds)), count))

    def trial(self, group: str, set_id: str, sample: str, label: int, **known: Any) -> Trial:
        """Return the record of an image to show. The hash that names the record does not reveal the image."""
        name = hash_of(self.digest, str(self.seed), group, set_id, sample).hex()[:16]
        known |= {"id": name, "group": group, "set": set_id, "sample": sample, "category": self.answer_of[label]}
        return Trial.model_validate(known)


def region_pairs(
    data: Dataset,
    draw: Draw,
    count: int,
    sets: Sequence[str] | None,
    changes: Sequence[Change],
    sizes: Sequence[str] | None,
    predictions: str | Path | None,
    top5: bool,
    progress: Callable[..., None],
) -> tuple[str | None, Accuracy, TrialImages]:
    """Return the model's name, an empty mapping in place of its accuracies, and the images for both groups.

    Each group sees one member of every pair. Each group also sees half of the members that the model classifies
    correctly.

    Raises
    ------
    StudyError
        If fewer than `count` source images have a suitable pair, if a requested size does not exist, if `sets` matches
        several sets, or if the predictions do not show which regions are classified correctly.
    """
    chosen = choose_scored_sets(data, sets)
    if sets is not None and len(chosen) > 1:
        raise StudyError(
            f"--sets {','.join(sets)} matches {len(chosen)} sets ({', '.join(chosen[:5])}, ...), but pairs are drawn "
            "from a single set. Name one set."
        )
    set_id = CLEAN if CLEAN in chosen else chosen[0]
    model, right, confidence = None, None, None
    if predictions is not None:
        if data.samples[0].region is None:
            raise StudyError(
                f"{data.path} stores a table of regions instead of their images, so its predictions are for whole "
                "images and not for regions. Build it with --store images, or leave out --predictions to draw pairs at "
                "random."
            )
        read = read_predictions(predictions, data, sets=[set_id], progress=progress)
        model, outcome = read.model, read.outcomes[set_id]
        right, confidence = outcome.top5 if top5 else outcome.correct, outcome.probability
        if right is None:
            raise StudyError(
                f"The predictions {predictions} do not contain the five most likely classes. Use --correct top1, or "
                "predictions with logits or probs."
            )
    progress("drawing pairs", 0, 0)
    rows: dict[str, list[int]] = {}
    for sample in data.samples:
        rows.setdefault(sample.id if sample.region is None else sample.region.source, []).append(sample.index)
    label_of = {source: data.samples[indices[0]].class_index for source, indices in rows.items()}
    index = RegionIndex(data.record_file(REGIONS), data.manifest, data.samples)
    groups: set[str] = set()

    def draw_pair(source: str) -> Iterator[tuple[str, Change, Place, Crops]]:
        crops = index.crops(source, None, data[set_id].image)
        records = list(crops.regions())
        groups.update(r.group for r in records)
        if pairs := candidates(records, None if right is None else right[rows[source]], changes, sizes):
            change = min(pairs, key=draw.order(f"change {source}"))
            size = min(pairs[change], key=draw.order(f"size {source}"))
            by_position = draw.order(
                f"pair\0{source}", lambda place: "\0".join(f"{r.side} {r.y} {r.x}" for r in (records[i] for i in place))
            )
            yield source, change, min(pairs[change][size], key=by_position), crops

    selected = draw.select(count, label_of, draw_pair)
    if len(selected) < count:
        for size in sizes or ():
            if size not in groups:
                known = ", ".join(sorted(groups))
                raise StudyError(
                    f"{data.path} has no regions of the group {size!r}.{suggest(size, groups)} Its groups are {known}."
                )
        kind = "suitable" if right is None else "fragile"
        advice = f"Use --n {len(selected)}." if selected else "Choose another model, set, --change or --sizes."
        raise StudyError(
            f"{data.path} has too few pairs. Each pair comes from a different source image, and only {len(selected)} "
            f"of the {len(label_of)} source images have a {kind} pair, but {count} were requested. {advice}"
        )
    trial_images = []
    for unit, (source, change, place, crops) in enumerate(
        sorted(selected, key=draw.order("groups", lambda pair: pair[0]))
    ):
        indices = rows[source]
        members = place if right is None else sorted(place, key=lambda i: not right[indices[i]])
        for group, i in zip("AB" if unit < (count + 1) // 2 else "BA", members, strict=True):
            r = crops.region(i)
            trial = draw.trial(
                group,
                set_id,
                region_id(source, r.side, r.y, r.x),
                label_of[source],
                unit=unit,
                source=source,
                change=change,
                member="anchor" if i == place[0] else "partner",
                right=None if right is None else bool(right[indices[i]]),
                confidence=None if confidence is None else float(confidence[indices[i]]),
            )
            trial_images.append((trial, crops[i]))
    return model, {}, trial_images


def candidates(
    records: Sequence[RegionRecord],
    right: NDArray[np.bool_] | None,
    changes: Sequence[Change],
    sizes: Sequence[str] | None,
) -> dict[Change, dict[str, list[Place]]]:
    """Return the pairs from an image that a study may show, by change and by group of sizes.

    If `right` states which regions a model classifies correctly, only pairs with exactly one such region are returned.
    """
    places = Places.of(records)
    neighbours, anchors = Neighbours(places), np.flatnonzero(places.anchor)
    found: dict[Change, dict[str, list[Place]]] = {}
    for change in changes:
        for step in STEPS[change]:
            for i, j in zip(anchors.tolist(), neighbours.at(anchors, step).tolist(), strict=True):
                group = records[i].group
                if j >= 0 and (sizes is None or group in sizes) and (right is None or right[i] != right[j]):
                    found.setdefault(change, {}).setdefault(group, []).append((i, j))
    return found


def level_images(
    data: Dataset,
    draw: Draw,
    count: int,
    sets: Sequence[str] | None,
    levels: Sequence[int] | None,
    scores: str | Path | Scores | None,
) -> tuple[str | None, Accuracy, TrialImages]:
    """Return the model's name, its accuracy at each level, and the images for both groups.

    All levels are shown about equally often. At each level, all degradations are shown about equally often.

    Raises
    ------
    StudyError
        If a requested level does not exist, if there are fewer than `count` source images, or if the scores belong to
        another dataset.
    """
    corruption_of: dict[str, str | None] = {}
    at: dict[int, list[str]] = {}
    for set_id in choose_scored_sets(data, sets):
        stages = data[set_id].record.stages
        level = 0 if set_id == CLEAN else stages[0].level if len(stages) == 1 else None
        if level is not None:
            at.setdefault(level, []).append(set_id)
            corruption_of[set_id] = stages[0].corruption if stages else None
    absent = sorted(set(levels or ()) - at.keys())
    if absent and at:
        raise StudyError(
            f"{data.path} has no set at level {', '.join(map(str, absent))}. Choose from levels {spans(sorted(at))}."
        )
    at = {level: ids for level, ids in sorted(at.items()) if levels is None or level in levels}
    if not any(at):
        raise StudyError(
            f"{data.path} has neither regions nor levels of a gradual degradation in the selected sets. Build a recipe "
            "with regions, such as fragile-imagenet, or the recipe image-degrade-30."
        )
    model, accuracy = None, Accuracy()
    if scores is not None:
        read = scores if isinstance(scores, Scores) else load_scores(scores)
        if read.digest != data.digest:
            raise StudyError(
                f"The scores belong to another dataset, {read.name} with digest {read.digest}. The digest of "
                f"{data.path} is {data.digest}. Use scores of this dataset."
            )
        model = read.model
        for level, ids in at.items():
            for set_id in ids:
                if set_id in read.sets:
                    accuracy.setdefault(corruption_of[set_id] or CLEAN, {})[str(level)] = read.sets[set_id].accuracy
    samples = {sample.id: sample for sample in data.samples}
    sources = draw.select(
        count, {name: sample.class_index for name, sample in samples.items()}, lambda source: [source]
    )
    if len(sources) < count:
        raise StudyError(
            f"{data.path} has only {len(sources)} images whose class has an answer, but {count} were requested. Each "
            f"participant sees an image at a single level. Use --n {len(sources)}."
        )
    order = sorted(at, key=draw.order("levels"))
    turns = {level: sorted(ids, key=draw.order(f"sets {level}")) for level, ids in at.items()}
    trial_images = []
    for unit, source in enumerate(sorted(sources, key=draw.order("units"))):
        sample = samples[source]
        for group, ahead in (("A", 0), ("B", (len(order) + 1) // 2)):
            level = order[(unit + ahead) % len(order)]
            set_id = turns[level][(2 * (unit // len(order)) + (ahead > 0)) % len(turns[level])]
            trial = draw.trial(
                group,
                set_id,
                source,
                sample.class_index,
                unit=unit,
                source=source,
                level=level,
                corruption=corruption_of[set_id],
            )
            trial_images.append((trial, data[set_id].image(sample.index)))
    return model, accuracy, trial_images
