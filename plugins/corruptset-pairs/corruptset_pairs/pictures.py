"""The pictures of a study: fragile pairs of regions, or gradual degradations, drawn from a data set.

A *pair* is a region and its shifted or shrunk partner, of which a model has one right and the other wrong (Srivastava,
Ben-Yosef & Boix 2019, "Minimal Images in Deep Neural Networks: Fragile Object Recognition in Natural Images"). What is
drawn follows from a seed and from what is ordered: it is the same on every machine, with every numpy.
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
from corruptset.manifests.layout import REGIONS
from corruptset.manifests.reader import DataSet
from corruptset.manifests.records.models import RegionRecord
from corruptset.manifests.regions.crops import Crops, RegionIndex
from corruptset.manifests.regions.grids import region_id
from corruptset.quantities import spans
from corruptset.scores.outcomes import CLEAN
from corruptset.scores.places import SHIFTS, SHRINKS, Neighbours, Places, Step
from corruptset.scores.prediction_files.reading import read_predictions
from corruptset.scores.records import Scores
from corruptset.scores.scores_file import load_scores
from corruptset.scores.set_choice import choose

from .study_records import Change, Trial

T = TypeVar("T")
Pictures = list[tuple[Trial, NDArray[np.uint8]]]
"""What is shown: (H, W, C) images, C 1 or 3, with what they are."""
Accuracy = dict[str, dict[str, float]]
"""Of a model: degradation -> level -> accuracy."""
Place = tuple[int, int]
"""Numbers of an anchor and of its partner among the regions of an image."""
STEPS: dict[Change, tuple[Step, ...]] = {"shift": SHIFTS, "shrink": SHRINKS}
"""From an anchor to its partners."""


def hash_of(*words: str) -> bytes:
    """Return 16 bytes that follow from words."""
    return hashlib.blake2b("\0".join(words).encode(), digest_size=16).digest()


@dataclass(frozen=True)
class Draw:
    """What every draw of a study follows from."""

    digest: str
    """Of the data set."""
    seed: int
    answer_of: Mapping[int, str]
    """Class index -> answer. Images of other classes are not shown."""

    def order(self, purpose: str, name: Callable[[Any], str] = str) -> Callable[[Any], bytes]:
        """Return the key of a random order, for `sorted` and `min`: it follows from the seed, the purpose, and the
        items' names alone.

        Examples
        --------
        >>> draw = Draw("", 0, {})
        >>> sorted("abcdef", key=draw.order("example")), sorted("fedcba", key=draw.order("example"))
        (['f', 'd', 'b', 'c', 'e', 'a'], ['f', 'd', 'b', 'c', 'e', 'a'])
        """
        return lambda item: hash_of(str(self.seed), purpose, name(item))

    def taken(self, count: int, label_of: Mapping[str, int], make: Callable[[str], Iterable[T]]) -> list[T]:
        """Return so many of what `make` makes of source images, of each category in turn; those without an answer are
        left out.
        """
        by_category: dict[str, list[str]] = {}
        for source in sorted(label_of, key=self.order("sources")):
            if label_of[source] in self.answer_of:
                by_category.setdefault(self.answer_of[label_of[source]], []).append(source)
        categories = sorted(by_category, key=self.order("categories"))
        rounds = zip_longest(*(chain.from_iterable(map(make, by_category[category])) for category in categories))
        return list(islice(filter(None, chain.from_iterable(rounds)), count))

    def trial(self, group: str, set_id: str, sample: str, label: int, **known: Any) -> Trial:
        """Return a picture's record. From its name in the page nobody reads what it is."""
        name = hash_of(self.digest, str(self.seed), group, set_id, sample).hex()[:16]
        known |= {"id": name, "group": group, "set": set_id, "sample": sample, "category": self.answer_of[label]}
        return Trial.model_validate(known)


def region_pairs(
    data: DataSet,
    draw: Draw,
    count: int,
    sets: Sequence[str] | None,
    changes: Sequence[Change],
    sizes: Sequence[str] | None,
    predictions: str | Path | None,
    top5: bool,
    tell: Callable[..., None],
) -> tuple[str | None, Accuracy, Pictures]:
    """Return the model, no accuracy, and the pictures of both groups.

    Nobody sees both of a pair, and of the members that are right half go to each group.

    Raises
    ------
    StudyError
        There are fewer pairs, of a source image one at most, or no regions of a size that was asked for; several sets;
        or predictions that do not say which regions are right.
    """
    chosen = choose(data, sets)
    if sets is not None and len(chosen) > 1:
        raise StudyError(
            f"Pairs are drawn from one set; {', '.join(sets)} means {len(chosen)}: {', '.join(chosen[:5])}, ..."
        )
    set_id = CLEAN if CLEAN in chosen else chosen[0]
    model, right, confidence = None, None, None
    if predictions is not None:
        if data.samples[0].region is None:
            raise StudyError(
                f"{data.path} has a table of regions in place of their images, so predictions of it are of whole "
                "images and not of regions. Build it with --store images, or draw pairs at random, without "
                "--predictions."
            )
        read = read_predictions(predictions, data, sets=[set_id], progress=tell)
        model, outcome = read.model, read.outcomes[set_id]
        right, confidence = outcome.top5 if top5 else outcome.correct, outcome.probability
        if right is None:
            raise StudyError(
                "These predictions do not say which five classes are the most likely. Leave out --top5, or give "
                "logits or probs."
            )
    tell("drawing pairs", 0, 0)
    rows: dict[str, list[int]] = {}
    for sample in data.samples:
        rows.setdefault(sample.id if sample.region is None else sample.region.source, []).append(sample.index)
    label_of = {source: data.samples[of[0]].class_index for source, of in rows.items()}
    index = RegionIndex(data.record_file(REGIONS), data.manifest, data.samples)
    groups: set[str] = set()

    def drawn(source: str) -> Iterator[tuple[str, Change, Place, Crops]]:
        crops = index.crops(source, None, data[set_id].image)
        records = list(crops.regions())
        groups.update(r.group for r in records)
        if found := candidates(records, None if right is None else right[rows[source]], changes, sizes):
            change = min(found, key=draw.order(f"change {source}"))
            size = min(found[change], key=draw.order(f"size {source}"))
            named = draw.order(
                f"pair\0{source}", lambda place: "\0".join(f"{r.side} {r.y} {r.x}" for r in (records[i] for i in place))
            )
            yield source, change, min(found[change][size], key=named), crops

    pairs = draw.taken(count, label_of, drawn)
    if len(pairs) < count:
        for size in sizes or ():
            if size not in groups:
                known = ", ".join(sorted(groups))
                raise StudyError(
                    f"There are no regions of the group {size!r}.{suggest(size, groups)} Known here: {known}."
                )
        what = "" if right is None else " that is fragile for this model"
        instead = f"--n {len(pairs)} will do." if pairs else "Give another model, set, --change or --sizes."
        raise StudyError(
            f"{data.path} has {len(label_of)} source images, and {len(pairs)} of them have a pair{what}; {count} "
            f"pairs were asked for, each of another image. {instead}"
        )
    pictures = []
    for unit, (source, change, place, crops) in enumerate(
        sorted(pairs, key=draw.order("groups", lambda pair: pair[0]))
    ):
        of = rows[source]
        members = place if right is None else sorted(place, key=lambda i: not right[of[i]])
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
                right=None if right is None else bool(right[of[i]]),
                confidence=None if confidence is None else float(confidence[of[i]]),
            )
            pictures.append((trial, crops[i]))
    return model, {}, pictures


def candidates(
    records: Sequence[RegionRecord],
    right: NDArray[np.bool_] | None,
    changes: Sequence[Change],
    sizes: Sequence[str] | None,
) -> dict[Change, dict[str, list[Place]]]:
    """Return the pairs of an image that may be shown, by change and group of size: with a model, those of which it has
    one right.
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


def level_pictures(
    data: DataSet,
    draw: Draw,
    count: int,
    sets: Sequence[str] | None,
    levels: Sequence[int] | None,
    scores: str | Path | Scores | None,
) -> tuple[str | None, Accuracy, Pictures]:
    """Return the model, its accuracy, and the pictures of both groups: levels as often as each other, and degradations
    of a level in turn.

    Raises
    ------
    StudyError
        There are no such levels, or fewer source images; the scores are of another data set.
    """
    corruption_of: dict[str, str | None] = {}
    at: dict[int, list[str]] = {}
    for set_id in choose(data, sets):
        stages = data[set_id].record.stages
        level = 0 if set_id == CLEAN else stages[0].level if len(stages) == 1 else None
        if level is not None:
            at.setdefault(level, []).append(set_id)
            corruption_of[set_id] = stages[0].corruption if stages else None
    absent = sorted(set(levels or ()) - at.keys())
    if absent and at:
        raise StudyError(
            f"{data.path} has no set at level {', '.join(map(str, absent))}; there are levels {spans(sorted(at))}."
        )
    at = {level: ids for level, ids in sorted(at.items()) if levels is None or level in levels}
    if not any(at):
        raise StudyError(
            f"{data.path} has neither regions nor levels of a gradual degradation among the chosen sets. A sheet is "
            "made of a build of a recipe with regions (fragile-imagenet, ...) or of image-degrade-30."
        )
    model, accuracy = None, Accuracy()
    if scores is not None:
        read = scores if isinstance(scores, Scores) else load_scores(scores)
        if read.digest != data.digest:
            raise StudyError(
                f"The scores are of another data set: {read.name}, {read.digest}; {data.path} is {data.digest}."
            )
        model = read.model
        for level, ids in at.items():
            for set_id in ids:
                if set_id in read.sets:
                    accuracy.setdefault(corruption_of[set_id] or CLEAN, {})[str(level)] = read.sets[set_id].accuracy
    samples = {sample.id: sample for sample in data.samples}
    sources = draw.taken(count, {name: sample.class_index for name, sample in samples.items()}, lambda source: [source])
    if len(sources) < count:
        raise StudyError(
            f"{data.path} has {len(sources)} images with one of the answers, and {count} were asked for: people see "
            f"each image at one level. --n {len(sources)} will do."
        )
    order = sorted(at, key=draw.order("levels"))
    turns = {level: sorted(ids, key=draw.order(f"sets {level}")) for level, ids in at.items()}
    pictures = []
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
            pictures.append((trial, data[set_id].image(sample.index)))
    return model, accuracy, pictures
