"""A source of regions: its samples are regions of another source's images.

Each image is decoded once for the regions that follow it.
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
    """A region of a source's image, as a sample of its own."""

    original: Sample = field(kw_only=True)
    """The image."""
    side: int = field(kw_only=True)
    y: int = field(kw_only=True)
    x: int = field(kw_only=True)
    described: RegionRecord | tuple[Regions, int] = field(kw_only=True, compare=False)
    """Its record, or the regions of the image and its number among them: to make a record takes ten times as long as
    the sample.
    """

    @property
    def region(self) -> RegionRecord:
        if isinstance(self.described, RegionRecord):
            return self.described
        regions, number = self.described
        return regions.record(number)

    @classmethod
    def of(
        cls, index: int, original: Sample, place: tuple[int, int, int], described: RegionRecord | tuple[Regions, int]
    ) -> Region:
        """Return a region of a sample, at a place (side, y, x).

        Its path and split are the image's.
        """
        side, y, x = place
        identity = region_id(original.id, side, y, x)
        return cls(
            index, identity, original.label, original.path, original.split, original.group,
            original=original, side=side, y=y, x=x, described=described,
        )  # fmt: skip


def samples_of(first: int, original: Sample, regions: Regions, start: int, stop: int) -> list[Region]:
    """Return the regions `start` up to `stop` of an image as samples.

    `first` is the index of region 0.
    """
    places = zip(*(column[start:stop].tolist() for column in (regions.side, regions.y, regions.x)), strict=True)
    return [Region.of(first + number, original, place, (regions, number)) for number, place in enumerate(places, start)]


class RegionSource(Source):
    """Regions of another source's images, crops or embedded images, as the table says.

    `samples` are those that are known; `load` takes others too.
    """

    def __init__(self, images: Source, table: RegionTable, samples: Iterable[Region] = ()) -> None:
        super().__init__(
            images.scheme, tuple(samples), images.classes, images.read, images.notes, license=images.license
        )
        self.images = images
        self.table = table
        self._kept: dict[str, tuple[Any, Any]] = {}
        """What was made last of an image, of each kind: the regions of an image follow each other."""

    def __getstate__(self) -> dict[str, Any]:
        lean = copy.copy(self.images)  # regions carry their originals: the list of all images need not travel
        lean.samples = lean.notes = ()
        return self.__dict__ | {"images": lean, "_kept": {}}

    def _last(self, kind: str, key: Any, make: Callable[[], T]) -> T:
        """Return what was made last, where it is of `key`, or make it now."""
        if self._kept.get(kind, (None,))[0] != key:
            self._kept.pop(kind, None)  # the old one is freed before the new one is made
            self._kept[kind] = key, make()
        made: T = self._kept[kind][1]
        return made

    def load(self, sample: Sample) -> Loaded:
        assert isinstance(sample, Region)
        whole = self._last("image", sample.original, lambda: self.images.load(sample.original))
        if self.table.kind == "crop":
            return Loaded(crop_region(whole.image, sample.side, sample.y, sample.x), whole.sha256)
        side, of = sample.side, self.table.interpolation
        shrunk = self._last("shrunk", (sample.original.id, side), lambda: resize(whole.image, side, of))
        return Loaded(embed(shrunk, self.table.size, sample.y, sample.x), whole.sha256)

    def fingerprint(self, sample: Sample) -> str:
        assert isinstance(sample, Region)
        return self._last("hash", sample.original, lambda: self.images.fingerprint(sample.original))

    def probe(self, sample: Sample) -> Probe:
        assert isinstance(sample, Region)
        whole = self._last("probe", sample.original, lambda: self.images.probe(sample.original))
        side = sample.side if self.table.kind == "crop" else self.table.size
        return whole._replace(width=side, height=side)
