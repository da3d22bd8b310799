"""The crops of an image in one order, stored or cut when asked for."""

from __future__ import annotations

import operator
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import SupportsIndex

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from ...errors import UnknownCorruption, VerificationError
from ..disk.jsonl import read_jsonl
from ..images.pictures import picture_of
from ..paths import holds_region_table
from ..records.models import Manifest, RegionRecord, RegionRow, SampleRecord
from .grids import regions_of

Pixels = NDArray[np.uint8]
ImageOf = Callable[[int], Pixels]


def crop(image: Pixels, side: int, y: int, x: int) -> Pixels:
    """Return a region's own pixels, (side, side, C), C-contiguous, never the input's memory."""
    return np.array(image[y : y + side, x : x + side], order="C")


def resized(image: Pixels, side: int, interpolation: str) -> Pixels:
    """Return an image as (side, side, C), by Pillow's filter of that name.

    One that has the size is copied.
    """
    if image.shape[:2] == (side, side):
        return image.copy()
    out = np.array(picture_of(image).resize((side, side), Image.Resampling[interpolation.upper()]))
    return out if out.ndim == 3 else out[:, :, None]


def centred(image: Pixels, side: int) -> Pixels:
    """Return an image in the middle of a black (side, side, C) canvas.

    Of an odd rest, the larger part is to the right and below.
    """
    return embedded(image, side, (side - image.shape[0]) // 2, (side - image.shape[1]) // 2)


def embedded(image: Pixels, canvas: int, y: int, x: int) -> Pixels:
    """Return an image on a black (canvas, canvas, C) square, from (y, x) on."""
    height, width, channels = image.shape
    out = np.zeros((canvas, canvas, channels), np.uint8)
    out[y : y + height, x : x + width] = image
    return out


class Crops:
    """The crops of one image, sorted by side, y and x.

    ``len(c)``; ``c[i]`` and iteration give (out, out, C) arrays of uint8; only one is in memory at a time.
    ``c.region(i)`` says which region crop i is.
    """

    _count: int

    def _region(self, number: int) -> RegionRecord:
        raise NotImplementedError

    def _image(self, number: int) -> Pixels:
        raise NotImplementedError

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, index: SupportsIndex) -> Pixels:
        return self._image(self._number(index))

    def __iter__(self) -> Iterator[Pixels]:
        return map(self._image, range(len(self)))

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {len(self):,} crops>"

    def region(self, index: SupportsIndex) -> RegionRecord:
        """Return which region a crop is; negative indices count from the end."""
        return self._region(self._number(index))

    def regions(self) -> Iterator[RegionRecord]:
        """Yield which region each crop is, in order."""
        return map(self._region, range(len(self)))

    def array(self) -> Pixels:
        """Return all crops as one array (N, out, out, C) of uint8."""
        return np.stack(list(self)) if len(self) else np.empty((0, 0, 0, 3), np.uint8)

    def _number(self, index: SupportsIndex) -> int:
        try:
            return range(len(self))[index]
        except IndexError:
            raise IndexError(f"there are {len(self)} crops; there is no crop {operator.index(index)}") from None


class StoredCrops(Crops):
    """Crops that a data set stores as images.

    They are given as a function from a sample's index to its image, and (index, region) of each crop.
    """

    def __init__(self, images: ImageOf, samples: Sequence[tuple[int, RegionRecord]]) -> None:
        self._images, self._samples, self._count = images, samples, len(samples)

    def _region(self, number: int) -> RegionRecord:
        return self._samples[number][1]

    def _image(self, number: int) -> Pixels:
        return self._images(self._samples[number][0])


class CutCrops(Crops):
    """Crops that are cut from an image, as its rows of regions.jsonl say.

    There is at least one row; a side, if given, leaves out the others.

    VerificationError: a row reaches beyond the image.
    """

    def __init__(self, image: Pixels, rows: Sequence[RegionRow], side: int | None) -> None:
        for row in rows:
            if (problem := row_problem(row, image.shape[1], image.shape[0])) is not None:
                raise VerificationError(f"A row of regions.jsonl {problem}. Run `corruptset verify` on the data set.")
        self._rows = [row for row in rows if side in (None, row.side)]
        self._regions = regions_of(rows[0].sample, self._rows)
        self._original = image
        self._shrunk: tuple[int, Pixels] | None = None
        self._count = len(self._regions)

    def _region(self, number: int) -> RegionRecord:
        return self._regions.record(number)

    def _image(self, number: int) -> Pixels:
        row = self._rows[int(self._regions.grid[number])]
        y, x = int(self._regions.y[number]), int(self._regions.x[number])
        if row.fit == "embed":
            if self._shrunk is None or self._shrunk[0] != row.side:
                self._shrunk = row.side, resized(self._original, row.side, row.interpolation)
            image = embedded(self._shrunk[1], row.out, y, x)
        else:
            image = crop(self._original, row.side, y, x)
            image = resized(image, row.out, row.interpolation) if row.fit == "resize" else centred(image, row.out)
        return np.repeat(image, 3, axis=2) if row.channels == "rgb" and image.shape[2] == 1 else image


def row_problem(row: RegionRow, width: int, height: int) -> str | None:
    """Return why a row of regions.jsonl does not fit an image, or None."""
    if row.fit == "embed":
        width = height = row.out
    elif row.fit == "pad" and row.side > row.out:
        return f"pads regions of side {row.side} to {row.out}"
    if row.y0 + row.ny - 1 + row.side > height or row.x0 + row.nx - 1 + row.side > width:
        return f"reaches beyond its image ({row.sample}, side {row.side}, from y {row.y0} x {row.x0})"
    return None


class RegionIndex:
    """The samples and the rows of regions.jsonl of a data set, by source image.

    `rows` is that file, where the manifest has it.
    """

    def __init__(self, rows: Path, manifest: Manifest, samples: Sequence[SampleRecord]) -> None:
        self._samples: dict[str, list[SampleRecord]] = defaultdict(list)
        for sample in samples:
            self._samples[sample.id if sample.region is None else sample.region.source].append(sample)
        self._rows: dict[str, list[RegionRow]] = defaultdict(list)
        if holds_region_table(manifest):
            for row in read_jsonl(rows, RegionRow):
                self._rows[row.sample].append(row)

    def crops(self, sample_id: str, side: int | None, images: ImageOf) -> Crops:
        """Return the crops of one image (`Dataset.crops`).

        `images` gives the image of a sample, by its index.
        """
        samples, rows = self._samples.get(sample_id, []), self._rows.get(sample_id, [])
        stored = [(s.index, s.region) for s in samples if s.region is not None]
        sides = {row.side for row in rows} | {region.side for _, region in stored}
        if not sides:
            raise UnknownCorruption(
                f"The data set has no regions of an image {sample_id!r}: name an image by its id in the source."
            )
        if side not in (None, *sides):
            known = ", ".join(map(str, sorted(sides)))
            raise UnknownCorruption(
                f"The data set has no regions of side {side} of the image {sample_id!r}; it has sides {known}."
            )
        if samples and rows:
            return CutCrops(images(samples[0].index), rows, side)
        return StoredCrops(images, [(index, region) for index, region in stored if side in (None, region.side)])
