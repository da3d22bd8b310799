"""Fragile pairs: a region and its shifted or shrunk partner, of which a model has one right and the other wrong.

Srivastava, Ben-Yosef & Boix 2019, "Minimal Images in Deep Neural Networks: Fragile Object Recognition in Natural
Images".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from corruptset.errors import StudyError, suggest
from corruptset.manifests.layout import REGIONS
from corruptset.manifests.reader import DataSet
from corruptset.manifests.records.models import RegionRecord
from corruptset.manifests.regions.grids import region_id
from corruptset.scores.places import SHIFTS, SHRINKS, Step

from .draw import Draw, Pixels, hash_of, in_turn, shuffled
from .study_records import Change, Group, Trial

STEPS: dict[Change, tuple[Step, ...]] = {"shift": SHIFTS, "shrink": SHRINKS}
"""From an anchor to its partners."""

Place = tuple[int, int]
"""Numbers of an anchor and of its partner among the regions of an image."""


@dataclass(frozen=True)
class SourceRegions:
    """The regions of one source image."""

    records: Sequence[RegionRecord]
    image: Callable[[int], Pixels]
    right: NDArray[np.bool_] | None
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


@dataclass(frozen=True)
class Pair:
    """An anchor and its partner."""

    source: str
    category: str
    change: Change
    regions: SourceRegions
    place: Place

    def members(self) -> list[int]:
        """Return the numbers of both, the one that the model has right before the other; without a model, the anchor first."""
        right = self.regions.right
        return sorted(self.place, key=lambda i: not right[i]) if right is not None else list(self.place)


class RegionPairs:
    """The pairs of a data set of regions, shown as a set has them; `right`, (N,), says which a model has right, `sizes` are as ``p40``."""

    def __init__(
        self,
        data: DataSet,
        set_id: str,
        right: NDArray[np.bool_] | None,
        changes: Sequence[Change],
        sizes: Sequence[str] | None,
        confidence: NDArray[np.float32] | None = None,
    ) -> None:
        self._data, self._set, self._right, self._changes, self._sizes = data, set_id, right, changes, sizes
        self._confidence = confidence
        self._table = any(file.path == REGIONS for file in data.manifest.files)
        if self._table and right is not None:
            raise StudyError(
                f"{data.path} has a table of regions in place of their images, so predictions of it are of whole images and not of "
                "regions. Build it with --store images, or draw pairs at random, without --predictions."
            )

    @cached_property
    def _rows(self) -> dict[str, list[int]]:
        rows: dict[str, list[int]] = {}
        for sample in self._data.samples:
            rows.setdefault(sample.id if sample.region is None else sample.region.source, []).append(sample.index)
        return rows

    def drawn(self, count: int, draw: Draw) -> list[Pair]:
        """Return so many pairs, one of a source image at most, and about as many of each category.

        Raises
        ------
        StudyError
            There are fewer, or no regions of a size that was asked for.
        """
        label_of = {source: self._data.samples[rows[0]].class_index for source, rows in self._rows.items()}
        streams = [self._pairs(sources, label_of, draw) for sources in draw.sources_of_categories(label_of)]
        pairs = [pair for pair, _ in zip(in_turn(streams), range(count), strict=False)]
        if len(pairs) < count:
            self._check_sizes()
            what = " that is fragile for this model" if self._right is not None else ""
            instead = f"--n {len(pairs)} will do." if pairs else "Give another model, set, --change or --sizes."
            raise StudyError(
                f"{self._data.path} has {len(label_of)} source images, and {len(pairs)} of them have a pair{what}; {count} pairs were "
                f"asked for, each of another image. {instead}"
            )
        return pairs

    def _check_sizes(self) -> None:
        if self._sizes is None or self._table:
            return
        known = sorted({s.region.group for s in self._data.samples if s.region is not None})
        for size in self._sizes:
            if size not in known:
                raise StudyError(f"There are no regions of the group {size!r}.{suggest(size, known)} Known here: {', '.join(known)}.")

    def _pairs(self, sources: Sequence[str], label_of: dict[str, int], draw: Draw) -> Iterator[Pair]:
        """Yield one pair of each source image that has one."""
        for source in sources:
            regions = self._regions(source)
            found = regions.candidates(self._changes, self._sizes)
            if not found:
                continue
            change = shuffled({change for change, _ in found}, draw.seed, f"change {source}")[0]
            size = shuffled((size for c, size in found if c == change), draw.seed, f"size {source}")[0]
            names = (str(draw.seed), "pair", source)
            place = min(found[change, size], key=lambda place: hash_of(*names, *(_place_name(regions.records[i]) for i in place)))
            yield Pair(source, draw.choices.of_label[label_of[source]], change, regions, place)

    def _regions(self, source: str) -> SourceRegions:
        if self._table:
            crops = self._data.crops(source)
            return SourceRegions(list(crops.regions()), crops.__getitem__, None)
        rows = [row for row in self._rows[source] if self._data.samples[row].region is not None]
        records = [region for row in rows if (region := self._data.samples[row].region) is not None]
        images = self._data[self._set]
        return SourceRegions(
            records, lambda i: images.image(rows[i]), *(None if of is None else of[rows] for of in (self._right, self._confidence))
        )

    def trials(self, pairs: Sequence[Pair], draw: Draw) -> Iterator[tuple[Trial, Pixels]]:
        """Yield the pictures of both groups: nobody sees both of a pair, and half of the members that are right go to each group."""
        order = shuffled(pairs, draw.seed, "groups", lambda pair: pair.source)
        for unit, pair in enumerate(order):
            groups: tuple[Group, Group] = ("A", "B") if unit < (len(order) + 1) // 2 else ("B", "A")
            for group, member in zip(groups, pair.members(), strict=True):
                record = pair.regions.records[member]
                sample = region_id(pair.source, record.side, record.y, record.x)
                known = {"unit": unit, "source": pair.source, "category": pair.category, "change": pair.change}
                known["member"] = "anchor" if member == pair.place[0] else "partner"
                right = None if pair.regions.right is None else bool(pair.regions.right[member])
                known["confidence"] = None if pair.regions.confidence is None else float(pair.regions.confidence[member])
                yield draw.trial(group, self._set, sample, **known, right=right), pair.regions.image(member)


def _place_name(record: RegionRecord) -> str:
    return f"{record.side} {record.y} {record.x}"
