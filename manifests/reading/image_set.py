"""The images of one set, by index or in order: a map-style data set, which data loaders take as it is."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from pathlib import Path
from typing import SupportsIndex

import numpy as np
from numpy.typing import NDArray

from ...errors import VerificationError
from ..records.models import ImageRecord, SetRecord, StoredRecord
from .image_store import BLOCK_BYTES, Container, ImageStore, Pixels
from .sample_table import SampleTable


class ImageSet:
    """The images of one set, in sample order.

    ``len(s)``; ``s[i]`` and iteration give ``(image, label)``, the image (H, W, C) of uint8, C 1 or 3, the label an int: what a data loader
    takes. ``s.image(i)`` is the image alone. It may be pickled, and used in forked or spawned workers: each process opens its own shards.

    Attributes
    ----------
    record : SetRecord
        The set as the manifest has it: id, aliases, stages, role, count, digest, metrics.
    """

    def __init__(self, build: str, record: SetRecord, samples: SampleTable, store: ImageStore) -> None:
        self._build = build
        self.record = record
        self._samples = samples
        self._store = store

    @property
    def rows(self) -> list[ImageRecord]:
        """The records of the images; read when first used."""
        return self._store.rows

    @property
    def id(self) -> str:
        """The set's id."""
        return self.record.id

    @property
    def labels(self) -> NDArray[np.int64]:
        """(N,) int64: the class index of every image."""
        return self._samples.labels.copy()

    @property
    def ids(self) -> list[str]:
        """The sample ids."""
        return [s.id for s in self._samples.records]

    def __len__(self) -> int:
        return self.record.count

    def __getitem__(self, index: SupportsIndex) -> tuple[Pixels, int]:
        i = self._number(index)
        return self._store.image(i), int(self._samples.labels[i])

    def image(self, index: SupportsIndex) -> Pixels:
        """Return an image without its label, (H, W, C) of uint8; negative indices count from the end."""
        return self._store.image(self._number(index))

    def single(self, index: SupportsIndex) -> Pixels:
        """Return an image as `image` does, for those who want a few of many: the records of the others are not read."""
        return self._store.single(self._number(index))

    def _number(self, index: SupportsIndex) -> int:
        try:
            i = operator.index(index)
        except TypeError:
            raise TypeError(
                f"set {self.record.id!r} is indexed by one whole number, not by {index!r}; for many images iterate over it, or use array()"
            ) from None
        if not -len(self) <= i < len(self):
            raise IndexError(f"set {self.record.id!r} has {len(self)} images; there is no image {i}")
        return i % len(self)

    def verify(self) -> str:
        """Read or make every image, and return the set's pixel digest, which is the recorded one.

        Raises
        ------
        VerificationError
            It is another one; or the pixels that were encoded are not to be had (JPEG sets on a disk).
        """
        digest = self._store.pixel_digest()
        if digest != self.record.pixel_digest:
            raise VerificationError(f"The set {self.id!r} of {self._build} has {digest}, recorded is {self.record.pixel_digest}.")
        return digest

    @property
    def encoding(self) -> str:
        """``png`` or ``jpeg``: how the data set's images are stored (with png, shards hold raw pixels)."""
        return self._store.encoding

    def stored(self, index: int, *, prefer: Container | None = None) -> tuple[StoredRecord, Path | Pixels]:
        """Return where an image is stored: its record, and its file or the row as stored (pixels, or 1-D encoded bytes)."""
        return self._store.stored(index, prefer)

    def images(self, *, block_bytes: int = BLOCK_BYTES) -> Iterator[Pixels]:
        """Yield the images in sample order; rows of a shard of pixels are read in blocks of at most so many bytes."""
        return self._store.images(range(len(self)), block_bytes)

    def array(self) -> Pixels:
        """Return all images as one array (N, H, W, C) of uint8; for sets of small images.

        Raises
        ------
        ValueError
            The images are not of one size.
        """
        images = list(self.images())
        shapes = sorted({i.shape for i in images})
        if len(shapes) > 1:
            raise ValueError(
                f"set {self.record.id!r} has images of {len(shapes)} sizes, {shapes[0]} to {shapes[-1]}; iterate over them instead."
            )
        return np.stack(images) if images else np.empty((0, 0, 0, 3), np.uint8)

    def __iter__(self) -> Iterator[tuple[Pixels, int]]:
        return zip(self.images(), self._samples.labels.tolist(), strict=True)

    def __repr__(self) -> str:
        return f"<ImageSet {self.record.id!r} of {self._build}: {len(self)} images>"
