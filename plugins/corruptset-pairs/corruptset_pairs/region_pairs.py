"""Fragile pairs: a region and its shifted or shrunk partner, of which a model has one right and the other wrong.

Srivastava, Ben-Yosef & Boix 2019, "Minimal Images in Deep Neural Networks: Fragile Object Recognition in Natural
Images".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from corruptset.errors import StudyError, suggest
from corruptset.manifests.reader import DataSet
from corruptset.manifests.records.models import RegionRecord
from corruptset.manifests.regions.grids import region_id
from corruptset.scores.places import SHIFTS, SHRINKS, Step

from .draw import Draw, Pixels
from .study_records import Change, Trial

STEPS: dict[Change, tuple[Step, ...]] = {"shift": SHIFTS, "shrink": SHRINKS}
"""From an anchor to its partners."""

Place = tuple[int, int]
"""Numbers of an anchor and of its partner among the regions of an image."""


@dataclass(frozen=True)
class SourceRegions:
    """The regions of one source image."""

    records: Sequence[RegionRecord]
    image: Callable[[int], Pixels]
    right: NDArray[np.bool_] | None = None
    """Which of them the model has right."""
    confidence: NDArray[np.float32] | None = None
    """The model's probability of the true class of each."""

    def candidates(self, changes: Sequence[Change], sizes: Sequence[str] | None) -> dict[tuple[Change, str], list[Place]]:
        """Return the pairs that may be shown, by change and group of size: with a model, those of which it has one right."""
        number = {(r.side, r.y, r.x): i for i, r in enumerate(self.records)}
        found: dict[tuple[Change, str], list[Place]] = {}
        for i, r in enumerate(self.records):
            if not r.anchor or (sizes is not None and r.group not in sizes):
                continue
            for change in changes:
                for side, y, x in STEPS[change]:
                    j = number.get((r.side + side, r.y + y, r.x + x))
                    if j is not None and (self.right is None or self.right[i] != self.right[j]):
                        found.setdefault((change, r.group), []).append((i, j))
        return found

    def named(self, place: Place) -> str:
        """Return the words of a pair that the draw goes by."""
        return "\0".join(f"{r.side} {r.y} {r.x}" for r in (self.records[i] for i in place))


@dataclass(frozen=True)
class RegionPairs:
    """The pairs of a data set of regions, shown as a set has them."""

    data: DataSet
    set_id: str
    table: bool
    """Whether the data set has a table in place of the regions' images."""
    changes: Sequence[Change]
    sizes: Sequence[str] | None
    """Groups such as ``p40``; None is all."""
    right: NDArray[np.bool_] | None = None
    """(N,): which samples the model has right."""
    confidence: NDArray[np.float32] | None = None

    def trials(self, count: int, draw: Draw) -> Iterator[tuple[Trial, Pixels]]:
        """Yield the pictures of both groups: nobody sees both of a pair, and half of the members that are right go to each group.

        Raises
        ------
        StudyError
            There are fewer pairs, of a source image one at most, or no regions of a size that was asked for.
        """
        rows: dict[str, list[int]] = {}
        for sample in self.data.samples:
            rows.setdefault(sample.id if sample.region is None else sample.region.source, []).append(sample.index)
        label_of = {source: self.data.samples[of[0]].class_index for source, of in rows.items()}

        def drawn(source: str) -> Iterator[tuple[str, Change, Place, SourceRegions]]:
            regions = self._regions(source, rows[source])
            if found := regions.candidates(self.changes, self.sizes):
                change = min({change for change, _ in found}, key=draw.order(f"change {source}"))
                size = min((size for c, size in found if c == change), key=draw.order(f"size {source}"))
                yield source, change, min(found[change, size], key=draw.order(f"pair\0{source}", regions.named)), regions

        pairs = draw.taken(count, label_of, drawn)
        if len(pairs) < count:
            self._refuse(count, len(pairs), len(label_of))
        for unit, (source, change, place, regions) in enumerate(sorted(pairs, key=draw.order("groups", lambda pair: pair[0]))):
            right, confidence = regions.right, regions.confidence
            members = place if right is None else sorted(place, key=lambda i: not right[i])
            for group, member in zip("AB" if unit < (count + 1) // 2 else "BA", members, strict=True):
                r = regions.records[member]
                trial = draw.trial(
                    group,
                    self.set_id,
                    region_id(source, r.side, r.y, r.x),
                    unit=unit,
                    source=source,
                    category=draw.choices.of_label[label_of[source]],
                    change=change,
                    member="anchor" if member == place[0] else "partner",
                    right=None if right is None else bool(right[member]),
                    confidence=None if confidence is None else float(confidence[member]),
                )
                yield trial, regions.image(member)

    def _regions(self, source: str, rows: list[int]) -> SourceRegions:
        if self.table:
            crops = self.data.crops(source)
            return SourceRegions(list(crops.regions()), crops.__getitem__)
        rows = [row for row in rows if self.data.samples[row].region is not None]
        records = [region for row in rows if (region := self.data.samples[row].region) is not None]
        right = None if self.right is None else self.right[rows]
        confidence = None if self.confidence is None else self.confidence[rows]
        return SourceRegions(records, lambda i: self.data[self.set_id].image(rows[i]), right, confidence)

    def _refuse(self, count: int, there: int, sources: int) -> None:
        known = sorted({sample.region.group for sample in self.data.samples if sample.region is not None})
        for size in () if self.table else self.sizes or ():
            if size not in known:
                raise StudyError(f"There are no regions of the group {size!r}.{suggest(size, known)} Known here: {', '.join(known)}.")
        what = " that is fragile for this model" if self.right is not None else ""
        instead = f"--n {there} will do." if there else "Give another model, set, --change or --sizes."
        raise StudyError(
            f"{self.data.path} has {sources} source images, and {there} of them have a pair{what}; {count} pairs were "
            f"asked for, each of another image. {instead}"
        )
