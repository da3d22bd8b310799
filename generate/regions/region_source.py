"""A source whose samples are regions of images from another source.

Consecutive regions of the same image are cut from one decoded image.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from ...manifests.records.models import RegionRecord
from ...manifests.regions.crops import crop_region, embed, resize
from ...manifests.regions.grids import Regions, region_id
from ..recipes.region_table import RegionTable
from ..sources.source import Loaded, Probe, Sample, Source

T = TypeVar("T")


@dataclass(frozen=True)
class Region(Sample):
    """A sample that is a region of an image."""

    original: Sample = field(kw_only=True)
    """The sample of the whole image."""
    side: int = field(kw_only=True)
    y: int = field(kw_only=True)
    x: int = field(kw_only=True)
    described: RegionRecord | tuple[Regions, int] = field(kw_only=True, compare=False)
    """The record of the region, or all regions of the image with the number of this region. In the second case, the
    record is created only when needed, because this takes ten times as long as creating the sample.
    """

    @property
    def region(self) -> RegionRecord:
        """The record of the region."""
        if isinstance(self.described, RegionRecord):
            return self.described
        regions, number = self.described
        return regions.record(number)

    @classmethod
    def of(
        cls, index: int, original: Sample, place: tuple[int, int, int], described: RegionRecord | tuple[Regions, int]
    ) -> Region:
        """Return the region of an image at a place (side, y, x), with the path, label, split and group of the image."""
        side, y, x = place
        identity = region_id(original.id, side, y, x)
        return cls(
            index, identity, original.label, original.path, original.split, original.group,
            original=original, side=side, y=y, x=x, described=described,
        )  # fmt: skip


def samples_of(first: int, original: Sample, regions: Regions, start: int, stop: int) -> list[Region]:
    """Return consecutive regions of an image as samples.

    `first` is the index of region 0, and the regions `start` to `stop` - 1 are returned.
    """
    places = zip(*(column[start:stop].tolist() for column in (regions.side, regions.y, regions.x)), strict=True)
    return [Region.of(first + number, original, place, (regions, number)) for number, place in enumerate(places, start)]


class RegionSource(Source):
    """A source of regions: crops of images, or resized images that are embedded in a canvas.

    Parameters
    ----------
    images : Source
        The source of the images.
    table : RegionTable
        The recipe's ``[regions]`` table, which determines the kind of regions.
    samples : iterable of Region
        The samples of this source. `load` also accepts other regions of the same images.
    """

    def __init__(self, images: Source, table: RegionTable, samples: Iterable[Region] = ()) -> None:
        super().__init__(
            images.scheme, tuple(samples), images.classes, images.read, images.notes, license=images.license
        )
        self.images = images
        self.table = table
        self._latest: dict[str, tuple[Any, Any]] = {}
        """The latest key and value of each kind. One is enough, because the regions of an image are consecutive."""

    def __getstate__(self) -> dict[str, Any]:
        images = copy.copy(self.images)  # each region contains its image's sample, so the list of images is not pickled
        images.samples = images.notes = ()
        return self.__dict__ | {"images": images, "_latest": {}}

    def _cached(self, kind: str, key: Any, compute: Callable[[], T]) -> T:
        """Return the latest value of a kind if it belongs to `key`. Otherwise compute and keep a new value."""
        if self._latest.get(kind, (None,))[0] != key:
            self._latest.pop(kind, None)  # frees the old value before the new one is computed
            self._latest[kind] = key, compute()
        value: T = self._latest[kind][1]
        return value

    def load(self, sample: Sample) -> Loaded:
        assert isinstance(sample, Region)
        whole = self._cached("image", sample.original, lambda: self.images.load(sample.original))
        if self.table.kind == "crop":
            return Loaded(crop_region(whole.image, sample.side, sample.y, sample.x), whole.sha256)
        side, interpolation = sample.side, self.table.interpolation
        shrunk = self._cached("shrunk", (sample.original.id, side), lambda: resize(whole.image, side, interpolation))
        return Loaded(embed(shrunk, self.table.size, sample.y, sample.x), whole.sha256)

    def fingerprint(self, sample: Sample) -> str:
        assert isinstance(sample, Region)
        return self._cached("hash", sample.original, lambda: self.images.fingerprint(sample.original))

    def probe(self, sample: Sample) -> Probe:
        assert isinstance(sample, Region)
        whole = self._cached("probe", sample.original, lambda: self.images.probe(sample.original))
        side = sample.side if self.table.kind == "crop" else self.table.size
        return whole._replace(width=side, height=side)
