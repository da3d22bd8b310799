"""The pictures of a page: one for each set, of the same samples; and regions."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile

import numpy as np
from PIL import Image

from ...corruptions.registry import Images
from ...manifests.disk.jsonl import read_jsonl
from ...manifests.paths import REGIONS, SAMPLES, holds_region_table
from ...manifests.reader import DataSet
from ...manifests.records.models import RegionRow, SampleRecord
from ...manifests.regions.crops import Crops, CutCrops, StoredCrops
from ...pages.jpeg import SMALL, data_uri, jpeg, resized, stacked
from ...pages.rungs import MOST, best_rung, squares
from ..regions.region_sheet import neighbourhoods
from ..sources.selection import spread

CleanOf = Callable[[int], Images]
"""From a sample's index to its clean (H, W, C) image."""
_KEPT = 150
"""Sets whose images stay in memory while a page is made: they are encoded several times until they have room."""
_NEUTRAL = 128
_MOST_AMPLIFIED = 64
_REGION_SIDE, _REGION_QUALITY = 160, 80


@dataclass(frozen=True)
class Picture:
    """A picture of the page.

    Attributes
    ----------
    id : str
        Its anchor.
    filters : mapping
        What a filter looks at: corruption, severity.
    small : bool
        Whether its pixels are drawn as squares.
    samples : int
        How many squares it holds below each other, of which one is shown at a time; 0 of a picture that is shown whole.
    """

    id: str
    uri: str
    width: int
    height: int
    alt: str
    caption: str
    small: bool = False
    filters: Mapping[str, str] = field(default_factory=dict)
    samples: int = 0


class Pictures:
    """Makes the pictures of sets, all with the best rung that leaves room for all.

    `clean_of` gives clean images where the data set has no set ``clean``; without both there are none.
    """

    def __init__(self, data: DataSet, clean_of: CleanOf | None, pictured: Sequence[str]) -> None:
        self._data, self._kept = data, dict[str, Sequence[Images]]()
        self.count = max((s.count for s in data.manifest.sets), default=0)
        """How many samples the data set has."""
        self._indices = spread(range(self.count), MOST)
        first = data[data.set_ids[0]].single(0)
        self.shape = (first.shape[0], first.shape[1], first.shape[2])
        """Of an image."""
        self._small = max(self.shape[:2]) <= SMALL
        alone = len(data.manifest.sets) - len(pictured)
        self._rung, self._encoded = best_rung(pictured, self._images, small=self._small, alone=alone)
        self.samples = min(self._rung.samples, len(self._indices))
        """How many are in a picture."""
        self.records = [data.sample(i) for i in self._indices]
        """Of the samples that may be; those after the first are left out where there is little room."""
        self._clean: Sequence[Images] = []
        if "clean" in data:
            self._clean = self._images("clean", self.samples)
        elif clean_of is not None:
            self._clean = [clean_of(i) for i in self._indices[: self.samples]]
        names = "; ".join(record.class_ or record.id for record in self.records[: self.samples])
        self._about = (
            f"{'one at a time of ' * (self.samples > 1)}{self.samples} image{'s' * (self.samples != 1)} ({names})"
        )

    def of(self, set_id: str, caption: str, filters: Mapping[str, str]) -> Picture:
        """Return the picture of a set."""
        return self._picture(set_id, self._encoded[set_id], f"{set_id}: {self._about}", caption, filters)

    def clean(self) -> Picture | None:
        """Return the picture of the clean images, where they are there."""
        if not self._clean:
            return None
        file = squares(self._clean, self._rung, small=self._small)
        return self._picture("clean", file, f"clean: {self._about}", "clean", {})

    def difference(self, set_id: str, caption: str) -> Picture | None:
        """Return how a set differs from the clean images, amplified around grey.

        None where they are not of one size.
        """
        images = self._images(set_id, self.samples)
        if not self._clean or any(a.shape != b.shape for a, b in zip(self._clean, images, strict=True)):
            return None
        steps = [b.astype(np.int16) - a for a, b in zip(self._clean, images, strict=True)]
        factor = max(1, min(_MOST_AMPLIFIED, 127 // max(1, *(int(np.abs(step).max()) for step in steps))))
        amplified = [np.clip(_NEUTRAL + factor * step, 0, 255).astype(np.uint8) for step in steps]
        about = f"the difference of {set_id} from the clean images, {factor} times, on grey: {self._about}"
        file = squares(amplified, self._rung, small=self._small)
        return self._picture(f"difference-{set_id}", file, about, f"{caption}: difference x {factor}", {})

    def _images(self, set_id: str, most: int) -> Sequence[Images]:
        """Return the first images of a set, which are kept where sets are few."""
        kept = self._kept.get(set_id, [])
        if len(kept) < most:
            kept = [*kept, *(self._data[set_id].single(i) for i in self._indices[len(kept) : most])]
        if len(self._data) <= _KEPT:
            self._kept[set_id] = kept
        return kept[:most]

    def _picture(self, name: str, data: bytes, alt: str, caption: str, filters: Mapping[str, str]) -> Picture:
        side = Image.open(io.BytesIO(data)).width
        return Picture(f"picture-{name}", data_uri(data), side, side, alt, caption, self._small, filters, self.samples)


def region_pictures(data: DataSet) -> list[Picture]:
    """Return two pictures of each group of regions: an anchor's neighbours and its shrunk regions."""
    crops = _crops_of_first(data)
    if crops is None:
        return []
    pictures = []
    for anchor, neighbours, shrunk in neighbourhoods(crops):
        where = f"{anchor.group}: side {anchor.side} at y {anchor.y}, x {anchor.x}"
        for name, numbers, about in (
            ("neighbours", neighbours, ", in the middle of its eight neighbours, each a pixel away"),
            ("shrunk", shrunk, ": the nine regions inside it that are two pixels smaller"),
        ):
            if any(number is not None for number in numbers):
                pictures.append(_mosaic(crops, numbers, f"{anchor.group}-{name}", where + about))
    return pictures


def _crops_of_first(data: DataSet) -> Crops | None:
    """Return the regions of the first image; the rows of other images are not read."""
    if holds_region_table(data.manifest):
        rows = read_jsonl(data.record_file(REGIONS), RegionRow)
        first = next(rows)
        return CutCrops(
            data["clean"].single(0), [first, *takewhile(lambda row: row.sample == first.sample, rows)], None
        )
    region = data.sample(0).region
    if region is None or "clean" not in data:
        return None
    samples = takewhile(
        lambda s: s.region and s.region.source == region.source, read_jsonl(data.record_file(SAMPLES), SampleRecord)
    )
    return StoredCrops(data["clean"].single, [(s.index, s.region) for s in samples if s.region is not None])


def _mosaic(crops: Crops, numbers: Sequence[int | None], name: str, about: str) -> Picture:
    """Return nine regions as one picture, in their places; grey where there is none."""
    known = [crops[number] if number is not None else None for number in numbers]
    like = next(image for image in known if image is not None)
    small = max(like.shape[:2]) <= SMALL
    cells = [resized(like * 0 + _NEUTRAL if image is None else image, _REGION_SIDE) for image in known]
    picture = stacked(cells, columns=3)
    uri = data_uri(jpeg(picture, _REGION_QUALITY, fine=small))
    return Picture(f"picture-region-{name}", uri, picture.shape[1], picture.shape[0], about, about, small)
