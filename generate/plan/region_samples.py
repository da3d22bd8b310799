"""The regions of checked images as the samples of a build: worked out image by image when they are asked for."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Any, overload

from ...manifests.regions.grids import Regions, regions_of
from ..recipes.region_table import RegionTable
from ..regions.block_draws import grids_of
from ..regions.region_source import samples_of
from .job import CheckedSample


class RegionSamples(Sequence[CheckedSample]):
    """The regions of images, image by image; those of the last image are kept.

    A worker gets the images and their numbers of regions: hundreds of thousands of records would take longer to send than to make again.

    Parameters
    ----------
    images : sequence of CheckedSample
    table : RegionTable
    seed : int
    """

    def __init__(self, images: Sequence[CheckedSample], table: RegionTable, seed: int) -> None:
        self.images = images
        self.table = table
        self.seed = seed
        self._held: tuple[int, Regions] | None = None
        self._firsts = [0, *accumulate(len(self._regions(number)) for number in range(len(images)))]

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_held": None}

    def __len__(self) -> int:
        return self._firsts[-1]

    @overload
    def __getitem__(self, index: int) -> CheckedSample: ...
    @overload
    def __getitem__(self, index: slice) -> list[CheckedSample]: ...
    def __getitem__(self, index: int | slice) -> CheckedSample | list[CheckedSample]:
        if isinstance(index, slice):
            first, stop, _ = index.indices(len(self))
            return list(self._between(first, stop))
        number = range(len(self))[index]
        return next(self._between(number, number + 1))

    def __iter__(self) -> Iterator[CheckedSample]:
        return self._between(0, len(self))

    def _between(self, first: int, stop: int) -> Iterator[CheckedSample]:
        """Yield consecutive regions."""
        while first < stop:
            number = bisect_right(self._firsts, first) - 1
            begin, end = self._firsts[number], min(stop, self._firsts[number + 1])
            image, regions = self.images[number], self._regions(number)
            for sample in samples_of(begin, image.sample, regions, first - begin, end - begin):
                side = sample.side if self.table.kind == "crop" else self.table.size
                yield CheckedSample(sample, image.sha256, side, side, image.channels)
            first = end

    def _regions(self, number: int) -> Regions:
        if self._held is None or self._held[0] != number:
            image = self.images[number]
            grids = grids_of(self.table, self.seed, image.sample.id, image.width, image.height)
            self._held = number, regions_of(image.sample.id, grids)
        return self._held[1]


def images_of(samples: Sequence[CheckedSample]) -> Sequence[CheckedSample]:
    """Return the whole images that samples are, or are regions of."""
    return samples.images if isinstance(samples, RegionSamples) else samples
