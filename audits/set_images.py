"""Choose and read the images of a set that are to be compared, and check their order."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from ..errors import ImageError
from .clean_images import CleanImages
from .found_set import FoundSet
from .likeness import Descriptors, descriptors, likeness
from .storage import StoredAs

Pixels = NDArray[np.uint8]


@dataclass(frozen=True)
class SetImages:
    """The images of a set that were read for comparison."""

    found: FoundSet
    places: tuple[int, ...]
    """For each image, the index of its clean image in the source."""
    indices: tuple[int, ...]
    """For each image, its index in the set."""
    images: NDArray[np.uint8] | None
    """The pixels, (N, H, W, C), or None if no image could be read."""
    encodings: tuple[StoredAs, ...]
    described: Descriptors = field(repr=False)
    unreadable: tuple[str, ...] = ()
    other_shapes: int = 0

    @property
    def digest(self) -> str:
        """A digest of the pixels and the source images, to find equal sets. It is empty for fewer than two images."""
        if self.images is None or len(self.images) < 2:
            return ""
        hashed = hashlib.blake2b(self.images.tobytes(), digest_size=16)
        hashed.update(repr((self.images.shape, self.places)).encode())
        return hashed.hexdigest()

    @property
    def encoding(self) -> StoredAs | None:
        """The most frequent encoding among the images."""
        return max(set(self.encodings), key=self.encodings.count) if self.encodings else None

    @property
    def uniform(self) -> SetImages:
        """The images with the most frequent encoding, because images are compared after the same compression."""
        kept = [number for number, encoding in enumerate(self.encodings) if encoding == self.encoding]
        if self.images is None or len(kept) == len(self.encodings):
            return self
        return replace(
            self,
            places=tuple(self.places[number] for number in kept),
            indices=tuple(self.indices[number] for number in kept),
            images=self.images[kept],
            encodings=tuple(self.encodings[number] for number in kept),
            described=self.described[kept],
        )


def read_images(found: FoundSet, chosen: Sequence[tuple[int, int]]) -> SetImages:
    """Read the chosen images of a set, given as (index in the set, index of the clean image in the source)."""
    read, unreadable = list[tuple[int, int, Pixels]](), list[str]()
    for index, place in chosen:
        try:
            read.append((index, place, found.read(index)))
        except ImageError as e:
            unreadable.append(str(e))
    shapes = [image.shape for _, _, image in read]
    shape = max(set(shapes), key=shapes.count) if shapes else None
    same = [entry for entry in read if entry[2].shape == shape]
    images = np.stack([image for _, _, image in same]) if same else None
    return SetImages(
        found,
        tuple(place for _, place, _ in same),
        tuple(index for index, _, _ in same),
        images,
        tuple(found.header(index) for index, _, _ in same),
        descriptors([image for _, _, image in same]),
        tuple(unreadable),
        len(read) - len(same),
    )


def choose(found: FoundSet, clean: CleanImages, preferred: Sequence[int], samples: int) -> list[tuple[int, int]]:
    """Choose up to `samples` images of a set whose clean images are in the source.

    An image is given as (index in the set, index of the clean image in the source). Images whose clean images are in
    `preferred` are chosen first, so that all sets are compared on the same images.
    """
    partners = dict[int, int]()
    for index in range(found.count):
        if (place := clean.partner(found, index)) is not None:
            partners.setdefault(place, index)
    chosen = [place for place in preferred if place in partners]
    if len(chosen) < min(samples, len(partners)):
        rest = sorted(partners.keys() - set(chosen))
        missing = min(samples, len(partners)) - len(chosen)
        chosen += [rest[i] for i in np.unique(np.linspace(0, len(rest) - 1, missing).astype(int))]
    return [(partners[place], place) for place in sorted(chosen)]


@dataclass(frozen=True)
class Order:
    """The result of matching the images of a set with source images."""

    right: int
    """The number of images that match their own clean image."""
    wrong: tuple[tuple[int, int], ...]
    """The images that match another source image clearly better, as (number in the sample, number of the match)."""
    unlike: int
    """The number of images that match no source image."""


_CLEAR = 0.25
"""The lead in similarity at which another source image is clearly a better match than an image's own clean image."""
_ALIKE = 0.35
"""The similarity above which two images show the same scene."""


def order_of(found: Descriptors, clean: Descriptors) -> Order:
    """Match found images with clean images. The clean image at the same index is the expected match."""
    matrix = likeness(found, clean)
    own = np.diagonal(matrix)
    best, wrong, right, unlike = matrix.argmax(axis=1), list[tuple[int, int]](), 0, 0
    for i, match in enumerate(best):
        lead = matrix[i, match] - own[i]
        if match == i or lead < _CLEAR / 5:
            alike = own[i] > _ALIKE / 2
            right, unlike = right + alike, unlike + (not alike)
        elif lead > _CLEAR and matrix[i, match] > _ALIKE:
            wrong.append((i, int(match)))
        else:
            unlike += 1
    return Order(right, tuple(wrong), unlike)
