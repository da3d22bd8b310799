"""Fragile pairs: a region and its shifted or shrunk partner, of which a model has one right and the other wrong.

Srivastava, Ben-Yosef & Boix 2019, "Minimal Images in Deep Neural Networks: Fragile Object Recognition in Natural
Images".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from corruptset.errors import StudyError, suggest
from corruptset.manifests.layout import REGIONS
from corruptset.manifests.reader import DataSet
from corruptset.manifests.records.models import RegionRecord
from corruptset.manifests.regions.crops import Crops, RegionIndex
from corruptset.manifests.regions.grids import region_id
from corruptset.scores.outcomes import CLEAN
from corruptset.scores.places import SHIFTS, SHRINKS, Step
from corruptset.scores.prediction_files.reading import read_predictions
from corruptset.scores.set_choice import choose

from .draw import Draw, Pictures
from .study_records import Change

STEPS: dict[Change, tuple[Step, ...]] = {"shift": SHIFTS, "shrink": SHRINKS}
"""From an anchor to its partners."""

Place = tuple[int, int]
"""Numbers of an anchor and of its partner among the regions of an image."""


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
) -> tuple[str | None, Pictures]:
    """Return the model, and the pictures of both groups: nobody sees both of a pair, and half of those that are right go to each group.

    Raises
    ------
    StudyError
        There are fewer pairs, of a source image one at most, or no regions of a size that was asked for; several sets; or predictions
        that do not say which regions are right.
    """
    chosen = choose(data, sets)
    if sets is not None and len(chosen) > 1:
        raise StudyError(f"Pairs are drawn from one set; {', '.join(sets)} means {len(chosen)}: {', '.join(chosen[:5])}, ...")
    set_id = CLEAN if CLEAN in chosen else chosen[0]
    model, right, confidence = None, None, None
    if predictions is not None:
        if data.samples[0].region is None:
            raise StudyError(
                f"{data.path} has a table of regions in place of their images, so predictions of it are of whole images and not of "
                "regions. Build it with --store images, or draw pairs at random, without --predictions."
            )
        read = read_predictions(predictions, data, sets=[set_id], progress=tell)
        model, outcome = read.model, read.outcomes[set_id]
        right, confidence = outcome.top5 if top5 else outcome.correct, outcome.probability
        if right is None:
            raise StudyError(
                "These predictions do not say which five classes are the most likely. Leave out --top5, or give logits or probs."
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
            named = draw.order(f"pair\0{source}", lambda place: "\0".join(f"{r.side} {r.y} {r.x}" for r in (records[i] for i in place)))
            yield source, change, min(found[change][size], key=named), crops

    pairs = draw.taken(count, label_of, drawn)
    if len(pairs) < count:
        for size in sizes or ():
            if size not in groups:
                known = ", ".join(sorted(groups))
                raise StudyError(f"There are no regions of the group {size!r}.{suggest(size, groups)} Known here: {known}.")
        what = "" if right is None else " that is fragile for this model"
        instead = f"--n {len(pairs)} will do." if pairs else "Give another model, set, --change or --sizes."
        raise StudyError(
            f"{data.path} has {len(label_of)} source images, and {len(pairs)} of them have a pair{what}; {count} pairs were "
            f"asked for, each of another image. {instead}"
        )
    pictures = []
    for unit, (source, change, place, crops) in enumerate(sorted(pairs, key=draw.order("groups", lambda pair: pair[0]))):
        of = rows[source]
        members = place if right is None else sorted(place, key=lambda i: not right[of[i]])
        for group, i in zip("AB" if unit < (count + 1) // 2 else "BA", members, strict=True):
            r = crops.region(i)
            trial = draw.trial(
                group,
                set_id,
                region_id(source, r.side, r.y, r.x),
                unit=unit,
                source=source,
                category=draw.choices.of_label[label_of[source]],
                change=change,
                member="anchor" if i == place[0] else "partner",
                right=None if right is None else bool(right[of[i]]),
                confidence=None if confidence is None else float(confidence[of[i]]),
            )
            pictures.append((trial, crops[i]))
    return model, pictures


def candidates(
    records: Sequence[RegionRecord], right: NDArray[np.bool_] | None, changes: Sequence[Change], sizes: Sequence[str] | None
) -> dict[Change, dict[str, list[Place]]]:
    """Return the pairs of an image that may be shown, by change and group of size: with a model, those of which it has one right."""
    number = {(r.side, r.y, r.x): i for i, r in enumerate(records)}
    found: dict[Change, dict[str, list[Place]]] = {}
    for i, r in enumerate(records):
        if not r.anchor or (sizes is not None and r.group not in sizes):
            continue
        for change in changes:
            for side, y, x in STEPS[change]:
                j = number.get((r.side + side, r.y + y, r.x + x))
                if j is not None and (right is None or right[i] != right[j]):
                    found.setdefault(change, {}).setdefault(r.group, []).append((i, j))
    return found
