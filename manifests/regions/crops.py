"""The crops of one image, one at a time and in one order, whether they are stored or cut when they are asked for."""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import SupportsIndex

import numpy as np
from numpy.typing import NDArray

from ...errors import VerificationError
from ..records.models import RegionRecord, RegionRow
from .grids import Grid, regions_of
from .rendering import centred, crop, embedded, resized

Pixels = NDArray[np.uint8]
ImageOf = Callable[[int], Pixels]


class Crops(ABC):
    """The crops of one image, sorted by side, y and x.

    ``len(c)``; ``c[i]`` and iteration give (out, out, C) arrays of uint8; only one is in memory at a time. ``c.region(i)`` says which
    region crop i is.
    """

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def _region(self, number: int) -> RegionRecord: ...

    @abstractmethod
    def _image(self, number: int) -> Pixels: ...

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
        """Return all crops as one array (N, out, out, C) of uint8: `len` times the bytes of one."""
        return np.stack(list(self)) if len(self) else np.empty((0, 0, 0, 3), np.uint8)

    def _number(self, index: SupportsIndex) -> int:
        i = operator.index(index)
        if not -len(self) <= i < len(self):
            raise IndexError(f"there are {len(self)} crops; there is no crop {i}")
        return i % len(self)


class StoredCrops(Crops):
    """Crops that a data set stores as images.

    Parameters
    ----------
    images : callable
        From a sample's index to its image.
    indices : sequence of int
        Of the samples, in order.
    records : sequence of RegionRecord
    """

    def __init__(self, images: ImageOf, indices: Sequence[int], records: Sequence[RegionRecord]) -> None:
        self._images, self._indices, self._records = images, indices, records

    def __len__(self) -> int:
        return len(self._indices)

    def _region(self, number: int) -> RegionRecord:
        return self._records[number]

    def _image(self, number: int) -> Pixels:
        return self._images(self._indices[number])


class CutCrops(Crops):
    """Crops that are cut from an image, as its rows of regions.jsonl say.

    Parameters
    ----------
    image : (H, W, C) ndarray of uint8
    rows : sequence of RegionRow
        Of this image; one at least.
    side : int, optional
        Only regions of this side.

    Raises
    ------
    VerificationError
        A row reaches beyond the image.
    """

    def __init__(self, image: Pixels, rows: Sequence[RegionRow], side: int | None) -> None:
        for row in rows:
            if (problem := row_problem(row, image.shape[1], image.shape[0])) is not None:
                raise VerificationError(f"A row of regions.jsonl {problem}. Run `corruptset verify` on the data set.")
        self._rows = [row for row in rows if side in (None, row.side)]
        self._regions = regions_of(rows[0].sample, [Grid.of(row) for row in self._rows])
        self._original = image
        self._shrunk: tuple[int, Pixels] | None = None

    def __len__(self) -> int:
        return len(self._regions)

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
    """Return why a row of regions.jsonl does not fit an image of this size, or None."""
    if row.fit == "embed":
        width = height = row.out
    elif row.fit == "pad" and row.side > row.out:
        return f"pads regions of side {row.side} to {row.out}"
    if row.y0 + row.ny - 1 + row.side > height or row.x0 + row.nx - 1 + row.side > width:
        return f"reaches beyond its image ({row.sample}, side {row.side}, from y {row.y0} x {row.x0})"
    return None
