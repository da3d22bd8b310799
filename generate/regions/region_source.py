"""A source of regions: its samples are regions of another source's images, each of which is decoded once for those that follow it."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...manifests.records.models import RegionRecord
from ...manifests.regions.crops import crop, embedded, resized
from ...manifests.regions.grids import Regions, region_id
from ..recipes.region_table import RegionTable
from ..sources.source import Loaded, Probe, Sample, Source


@dataclass(frozen=True)
class Region(Sample):
    """A region of a source's image, as a sample of its own."""

    original: Sample = field(kw_only=True)
    """The image."""
    side: int = field(kw_only=True)
    y: int = field(kw_only=True)
    x: int = field(kw_only=True)
    described: RegionRecord | tuple[Regions, int] = field(kw_only=True, compare=False)
    """Its record, or the regions of the image and its number among them: to make a record takes ten times as long as the sample."""

    @property
    def region(self) -> RegionRecord:
        if isinstance(self.described, RegionRecord):
            return self.described
        regions, number = self.described
        return regions.record(number)

    @classmethod
    def of(cls, index: int, original: Sample, place: tuple[int, int, int], described: RegionRecord | tuple[Regions, int]) -> Region:
        """Return a region of a sample, at a place (side, y, x); its path and split are the image's."""
        side, y, x = place
        identity = region_id(original.id, side, y, x)
        return cls(
            index, identity, original.label, original.path, original.split, original.group,
            original=original, side=side, y=y, x=x, described=described,
        )  # fmt: skip


def samples_of(first: int, original: Sample, regions: Regions, start: int, stop: int) -> list[Region]:
    """Return the regions `start` up to `stop` of an image as samples; `first` is the index of region 0."""
    places = zip(*(column[start:stop].tolist() for column in (regions.side, regions.y, regions.x)), strict=True)
    return [Region.of(first + number, original, place, (regions, number)) for number, place in enumerate(places, start)]


class RegionSource(Source):
    """Regions of another source's images.

    Parameters
    ----------
    images : Source
        Whose images they are regions of.
    table : RegionTable
        Says whether a region is a crop or an embedded image.
    samples : sequence of Region, optional
        Those that are known; `load` takes others too.
    """

    def __init__(self, images: Source, table: RegionTable, samples: Iterable[Region] = ()) -> None:
        self.images = images
        self.table = table
        self.scheme = images.scheme
        self.license = images.license
        self.classes = images.classes
        self.notes = images.notes
        self.samples: tuple[Sample, ...] = tuple(samples)
        self._decoded: tuple[Sample, Loaded] | None = None
        self._shrunk: tuple[str, int, NDArray[np.uint8]] | None = None
        self._probed: tuple[Sample, Probe] | None = None
        self._hashed: tuple[Sample, str] | None = None

    def __getstate__(self) -> dict[str, Any]:
        lean = copy.copy(self.images)  # regions carry their originals: the list of all images need not travel
        lean.samples = lean.notes = ()
        return self.__dict__ | {"images": lean, "_decoded": None, "_shrunk": None, "_probed": None, "_hashed": None}

    def load(self, sample: Sample) -> Loaded:
        assert isinstance(sample, Region)
        whole = self._original(sample.original)
        if self.table.kind == "crop":
            return Loaded(crop(whole.image, sample.side, sample.y, sample.x), whole.sha256)
        if self._shrunk is None or self._shrunk[:2] != (sample.original.id, sample.side):
            self._shrunk = sample.original.id, sample.side, resized(whole.image, sample.side, self.table.interpolation)
        return Loaded(embedded(self._shrunk[2], self.table.size, sample.y, sample.x), whole.sha256)

    def _original(self, sample: Sample) -> Loaded:
        """Return an image whole; the last one is kept, for the regions of an image follow each other."""
        if self._decoded is None or self._decoded[0] != sample:
            self._decoded = None  # the old one is freed before the new one is decoded
            self._decoded = sample, self.images.load(sample)
        return self._decoded[1]

    def fingerprint(self, sample: Sample) -> str:
        assert isinstance(sample, Region)
        if self._hashed is None or self._hashed[0] != sample.original:
            self._hashed = sample.original, self.images.fingerprint(sample.original)
        return self._hashed[1]

    def probe(self, sample: Sample) -> Probe:
        assert isinstance(sample, Region)
        if self._probed is None or self._probed[0] != sample.original:
            self._probed = sample.original, self.images.probe(sample.original)
        side = sample.side if self.table.kind == "crop" else self.table.size
        return Probe(self._probed[1].sha256, side, side, self._probed[1].channels)
