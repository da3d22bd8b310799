"""Views of arrays: rows of images in .npy files, labels beside them."""

from __future__ import annotations

import contextlib
from abc import abstractmethod
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from functools import cached_property
from itertools import groupby, islice
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ...errors import BuildError
from ...manifests.images.arrays import ArrayFile, NotAShard, npy_header
from .layout import Layout, SetSlice, ViewImage
from .writer import Writer

if TYPE_CHECKING:
    from ...manifests.reader import DataSet
    from ...manifests.reading.image_set import ImageSet

BLOCK = 512
"""Images written at once."""


class ArrayLayout(Layout):
    """Images as rows of arrays; the slices of one array follow each other."""

    @abstractmethod
    def labels(self) -> Mapping[str, NDArray[np.generic]]:
        """Return path -> array of labels."""

    @cached_property
    def array_rows(self) -> Mapping[str, int]:
        rows: dict[str, int] = {}
        for images in self.slices:
            rows[images.path] = rows.get(images.path, 0) + len(images.samples)
        return rows

    def location(self, set_id: str, index: int) -> tuple[str, int | None]:
        for images in self.slices_of[set_id]:
            position = bisect_left(images.samples, index)
            if position < len(images.samples) and images.samples[position] == index:
                assert images.row is not None
                return images.path, images.row + position
        raise KeyError(f"sample {index} of {set_id} is in no array")

    def write(self, data: DataSet, writer: Writer) -> None:
        for path, slices in groupby(self.slices, key=lambda images: images.path):
            rows = list(slices)
            shape = data[rows[0].set_id].image(0).shape
            blocks = (block for images in rows for block in self._blocks(images, data[images.set_id], shape, writer))
            writer.array(path, (self.array_rows[path], *shape), blocks)
        writer.texts(self)
        if self.subject.format == "jpeg":
            self.notes.append("The build stores JPEG: the arrays hold its images as decoded, so their digests are not the manifest's.")

    def _blocks(self, images: SetSlice, stored: ImageSet, shape: tuple[int, ...], writer: Writer) -> Iterator[NDArray[np.uint8]]:
        pixels = stored.images() if len(images.samples) == len(stored) else map(stored.image, images.samples)
        while block := list(islice(pixels, BLOCK)):
            for other in (image.shape for image in block if image.shape != shape):
                raise BuildError(
                    f"Images of set {images.set_id} have the shapes {shape} and {other}, which do not fit into one array. "
                    "Choose a view of image files, or build with a preprocessing that makes all images equal."
                )
            yield np.stack(block)
        writer.count(len(images.samples))

    def texts(self, hashes: Mapping[str, str]) -> Iterator[tuple[str, bytes]]:
        for path, labels in self.labels().items():
            yield path, npy_header(labels.shape, labels.dtype.type) + labels.tobytes()

    def read(self, root: Path) -> Iterator[ViewImage]:
        for path, slices in groupby(self.slices, key=lambda images: images.path):
            array: ArrayFile | None = None
            with contextlib.suppress(NotAShard, OSError):
                array = ArrayFile(root / path)
            whole = array is not None and array.rows == self.array_rows[path]
            for images in slices:
                for row, index in enumerate(images.samples, images.row or 0):
                    pixels = array.images[row] if array is not None and whole else None
                    yield ViewImage(images.set_id, index, path, f"#{row}", pixels)
