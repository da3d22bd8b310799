"""The thumbnails on a dataset's page: one per set, all with the same samples, and the regions of one image."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile

import numpy as np

from ...corruptions.registry import Images
from ...manifests.disk.jsonl import read_jsonl
from ...manifests.paths import REGIONS, SAMPLES, has_region_table
from ...manifests.reader import Dataset
from ...manifests.records.models import RegionRow, SampleRecord
from ...manifests.regions.crops import Crops, CutCrops, StoredCrops
from ...pages.thumbnails import SMALL, data_uri, mosaic, thumbnail_side
from ..regions.region_sheet import neighbourhoods
from ..sources.selection import spread

CleanOf = Callable[[int], Images]
"""A function that takes a sample index and returns the clean (H, W, C) image."""
_GREY = 128
_MIN_SIDE = {False: 128, True: SMALL}
"""The minimum side of a thumbnail in pixels, for large images (False) and small ones (True). If thumbnails would be
smaller, fewer samples are shown.
"""
_MAX_AMPLIFICATION = 64
_REGION_SIDE = 160


@dataclass(frozen=True)
class Thumbnail:
    """A reduced image, or a column of reduced images: several samples of one set, one below the other.

    Attributes
    ----------
    id : str
        The HTML id.
    uri : str
        A data URI that contains a JPEG file.
    width, height : int
        The displayed size in pixels.
    alt, caption : str
        The alternative text and the caption.
    small : bool
        Whether to draw each pixel as a square, without interpolation.
    filters : mapping
        The corruption and the severity, by which the filters of the page show or hide the thumbnail.
    samples : int
        The number of samples in the image. The page shows one sample at a time, or the whole image if this is 0.
    column : int
        The number of the page column in which the thumbnail is shown, from 1. 0 means the next column.
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
    column: int = 0


class Thumbnails:
    """The thumbnails of a dataset's sets. All thumbnails show the same samples and have the same size.

    Parameters
    ----------
    data : Dataset
    clean_of : callable, optional
        A function that returns clean images, for datasets without the set ``clean``.
    sets : int
        The number of sets that have a thumbnail.
    """

    def __init__(self, data: Dataset, clean_of: CleanOf | None, sets: int) -> None:
        self._data = data
        self.count = max((s.count for s in data.manifest.sets), default=0)
        """The number of samples in the dataset."""
        first = data[data.set_ids[0]].single(0)
        self.shape = (first.shape[0], first.shape[1], first.shape[2])
        """The shape of the first image, (H, W, C)."""
        self._small = max(self.shape[:2]) <= SMALL
        for samples in (4, 2, 1):
            side = thumbnail_side(sets * samples, small=self._small)
            if side >= _MIN_SIDE[self._small]:
                break
        self._side = min(side, max(self.shape[:2]))
        self._indices = spread(range(self.count), samples)
        self.samples = len(self._indices)
        """The number of samples in a thumbnail."""
        self.records = [data.sample(i) for i in self._indices]
        self._clean: Sequence[Images] = []
        if "clean" in data:
            self._clean = self._images("clean")
        elif clean_of is not None:
            self._clean = [clean_of(i) for i in self._indices]
        names = "; ".join(record.class_ or record.id for record in self.records)
        one = "one at a time of " if self.samples > 1 else ""
        self._description = f"{one}{self.samples} image{'s' * (self.samples != 1)} ({names})"

    def of(self, set_id: str, caption: str, filters: Mapping[str, str], column: int = 0) -> Thumbnail:
        """Return the thumbnail of a set."""
        alt = f"{set_id}: {self._description}"
        return self._thumbnail(set_id, self._images(set_id), alt, caption, filters, column)

    def clean(self) -> Thumbnail | None:
        """Return the thumbnail of the clean images, or None if there are no clean images."""
        if not self._clean:
            return None
        return self._thumbnail("clean", self._clean, f"clean: {self._description}", "clean")

    def difference(self, set_id: str, caption: str) -> Thumbnail | None:
        """Return a thumbnail with the amplified differences of a set from the clean images, on a grey background.

        Returns None if there are no clean images, or if the images differ from them in size.
        """
        images = self._images(set_id)
        if not self._clean or any(a.shape != b.shape for a, b in zip(self._clean, images, strict=True)):
            return None
        steps = [b.astype(np.int16) - a for a, b in zip(self._clean, images, strict=True)]
        factor = max(1, min(_MAX_AMPLIFICATION, 127 // max(1, *(int(np.abs(step).max()) for step in steps))))
        amplified = [np.clip(_GREY + factor * step, 0, 255).astype(np.uint8) for step in steps]
        alt = f"the difference of {set_id} from the clean images, {factor} times, on grey: {self._description}"
        return self._thumbnail(f"difference-{set_id}", amplified, alt, f"{caption}: difference x {factor}")

    def _images(self, set_id: str) -> Sequence[Images]:
        return [self._data[set_id].single(i) for i in self._indices]

    def _thumbnail(
        self,
        name: str,
        images: Sequence[Images],
        alt: str,
        caption: str,
        filters: Mapping[str, str] | None = None,
        column: int = 0,
    ) -> Thumbnail:
        side = self._side
        uri = data_uri(mosaic(images, side, side), small=self._small)
        return Thumbnail(
            f"image-{name}", uri, side, side, alt, caption, self._small, filters or {}, self.samples, column
        )


def region_thumbnails(data: Dataset) -> list[Thumbnail]:
    """Return two thumbnails for each group of regions in the first image.

    One shows a region among its eight neighbours. The other shows the nine regions inside it that are two pixels
    smaller.
    """
    crops = _crops_of_first(data)
    if crops is None:
        return []
    thumbnails = []
    for anchor, neighbours, shrunk in neighbourhoods(crops):
        place = f"{anchor.group}: side {anchor.side} at y {anchor.y}, x {anchor.x}"
        for name, numbers, description in (
            ("neighbours", neighbours, ", in the middle of its eight neighbours, each a pixel away"),
            ("shrunk", shrunk, ": the nine regions inside it that are two pixels smaller"),
        ):
            if any(number is not None for number in numbers):
                thumbnails.append(_region_thumbnail(crops, numbers, f"{anchor.group}-{name}", place + description))
    return thumbnails


def _crops_of_first(data: Dataset) -> Crops | None:
    """Return the regions of the first image, or None if there are none. Records of other images are not read."""
    if has_region_table(data.manifest):
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


def _region_thumbnail(crops: Crops, numbers: Sequence[int | None], name: str, description: str) -> Thumbnail:
    """Return a thumbnail of nine regions in a 3x3 grid. Cells of regions that do not exist are grey."""
    regions = [None if number is None else crops[number] for number in numbers]
    largest = max(max(image.shape[:2]) for image in regions if image is not None)
    small, side = largest <= SMALL, min(largest, _REGION_SIDE)
    blank = np.full((1, 1, 1), _GREY, np.uint8)
    image = mosaic(
        [blank if region is None else region for region in regions], side, side, columns=3, gap=1 if small else 2
    )
    uri = data_uri(image, small=small)
    return Thumbnail(f"image-region-{name}", uri, image.width, image.height, description, description, small)
