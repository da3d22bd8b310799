"""The regions of an image as crops, which are either stored or computed on access."""

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
from ..images.image_formats import to_pil
from ..paths import has_region_table
from ..records.models import Manifest, RegionRecord, RegionRow, SampleRecord
from .grids import regions_of

Pixels = NDArray[np.uint8]
ImageOf = Callable[[int], Pixels]


def crop_region(image: Pixels, side: int, y: int, x: int) -> Pixels:
    """Return a C-contiguous copy of the pixels of a region, (side, side, C)."""
    return np.array(image[y : y + side, x : x + side], order="C")


def resize(image: Pixels, side: int, interpolation: str) -> Pixels:
    """Return an image resized to (side, side, C) with a Pillow filter, such as ``bilinear``.

    An image that already has this size is copied.
    """
    if image.shape[:2] == (side, side):
        return image.copy()
    out = np.array(to_pil(image).resize((side, side), Image.Resampling[interpolation.upper()]))
    return out if out.ndim == 3 else out[:, :, None]


def pad_to_centre(image: Pixels, side: int) -> Pixels:
    """Return an image in the centre of a black (side, side, C) canvas.

    If the margins cannot be equal, those on the right and at the bottom are one pixel larger.
    """
    return embed(image, side, (side - image.shape[0]) // 2, (side - image.shape[1]) // 2)


def embed(image: Pixels, canvas: int, y: int, x: int) -> Pixels:
    """Return an image on a black (canvas, canvas, C) square, with its top left pixel at (y, x)."""
    height, width, channels = image.shape
    out = np.zeros((canvas, canvas, channels), np.uint8)
    out[y : y + height, x : x + width] = image
    return out


class Crops:
    """The crops of one image, sorted by side, y and x.

    ``c[i]`` and iteration give (out, out, C) arrays of uint8. Only one of them is in memory at a time. ``len(c)`` is
    the number of crops, and ``c.region(i)`` is the record of the region of crop i.
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
        """Return the record of a crop's region. Negative indices count from the end."""
        return self._region(self._number(index))

    def regions(self) -> Iterator[RegionRecord]:
        """Yield the record of the region of each crop, in order."""
        return map(self._region, range(len(self)))

    def array(self) -> Pixels:
        """Return all crops as one array (N, out, out, C) of uint8."""
        return np.stack(list(self)) if len(self) else np.empty((0, 0, 0, 3), np.uint8)

    def _number(self, index: SupportsIndex) -> int:
        try:
            return range(len(self))[index]
        except IndexError:
            raise IndexError(
                f"the index {operator.index(index)} is out of range, because there are {len(self)} crops"
            ) from None


class StoredCrops(Crops):
    """Crops that a dataset stores as images.

    Parameters
    ----------
    images : callable
        A function that takes the index of a sample and returns its image.
    samples : sequence of (int, RegionRecord)
        The sample index and the region of each crop.
    """

    def __init__(self, images: ImageOf, samples: Sequence[tuple[int, RegionRecord]]) -> None:
        self._images, self._samples, self._count = images, samples, len(samples)

    def _region(self, number: int) -> RegionRecord:
        return self._samples[number][1]

    def _image(self, number: int) -> Pixels:
        return self._images(self._samples[number][0])


class CutCrops(Crops):
    """Crops that are computed from an image and its rows in regions.jsonl.

    Parameters
    ----------
    image : (H, W, C) ndarray of uint8
        The image.
    rows : sequence of RegionRow
        The rows of the image, at least one.
    side : int, optional
        The side of the regions. By default, regions of all sides are included.

    Raises
    ------
    VerificationError
        A row extends beyond the image.
    """

    def __init__(self, image: Pixels, rows: Sequence[RegionRow], side: int | None) -> None:
        for row in rows:
            if (problem := row_problem(row, image.shape[1], image.shape[0])) is not None:
                raise VerificationError(
                    f"A row of regions.jsonl is invalid: it {problem}. Run `corruptset verify` on the dataset."
                )
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
                self._shrunk = row.side, resize(self._original, row.side, row.interpolation)
            image = embed(self._shrunk[1], row.out, y, x)
        else:
            image = crop_region(self._original, row.side, y, x)
            image = resize(image, row.out, row.interpolation) if row.fit == "resize" else pad_to_centre(image, row.out)
        return np.repeat(image, 3, axis=2) if row.channels == "rgb" and image.shape[2] == 1 else image


def row_problem(row: RegionRow, width: int, height: int) -> str | None:
    """Return the reason why a row of regions.jsonl does not fit an image, as part of a sentence, or None."""
    if row.fit == "embed":
        width = height = row.out
    elif row.fit == "pad" and row.side > row.out:
        return f"pads regions of side {row.side} to the smaller side {row.out}"
    if row.y0 + row.ny - 1 + row.side > height or row.x0 + row.nx - 1 + row.side > width:
        return f"extends beyond its image ({row.sample}, side {row.side}, from y {row.y0} x {row.x0})"
    return None


class RegionIndex:
    """The samples of a dataset and its rows in regions.jsonl, grouped by source image.

    Parameters
    ----------
    rows : Path
        The location of regions.jsonl, which is read if the manifest lists it.
    manifest : Manifest
        The manifest of the dataset.
    samples : sequence of SampleRecord
        The samples of the dataset.
    """

    def __init__(self, rows: Path, manifest: Manifest, samples: Sequence[SampleRecord]) -> None:
        self._samples: dict[str, list[SampleRecord]] = defaultdict(list)
        for sample in samples:
            self._samples[sample.id if sample.region is None else sample.region.source].append(sample)
        self._rows: dict[str, list[RegionRow]] = defaultdict(list)
        if has_region_table(manifest):
            for row in read_jsonl(rows, RegionRow):
                self._rows[row.sample].append(row)

    def crops(self, sample_id: str, side: int | None, images: ImageOf) -> Crops:
        """Return the crops of one image, as `Dataset.crops` describes.

        `images` is a function that takes the index of a sample and returns its image.
        """
        samples, rows = self._samples.get(sample_id, []), self._rows.get(sample_id, [])
        stored = [(s.index, s.region) for s in samples if s.region is not None]
        sides = {row.side for row in rows} | {region.side for _, region in stored}
        if not sides:
            raise UnknownCorruption(
                f"The dataset has no regions of an image {sample_id!r}. Specify an image by its id in the source."
            )
        if side not in (None, *sides):
            known = ", ".join(map(str, sorted(sides)))
            raise UnknownCorruption(
                f"The dataset has no regions of side {side} of the image {sample_id!r}. The available sides are "
                f"{known}."
            )
        if samples and rows:
            return CutCrops(images(samples[0].index), rows, side)
        return StoredCrops(images, [(index, region) for index, region in stored if side in (None, region.side)])
