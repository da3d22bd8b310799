"""The pictures of the page: each image once, as large and as good as the page has room for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from ...manifests.reader import DataSet
from ...pages.jpeg import SMALL, Pixels, data_uri, jpeg, resized

WRAPPER = 420
"""Bytes of a stored picture in the page beside its data."""
_PROBED = 16


class Place(NamedTuple):
    """An image of a data set."""

    set_id: str
    sample: int
    """Its index."""


class Rung(NamedTuple):
    """How good pictures are."""

    side: int
    quality: int


RUNGS = (Rung(224, 85), Rung(224, 70), Rung(224, 55), Rung(160, 65), Rung(160, 50), Rung(112, 60), Rung(96, 50), Rung(64, 50), Rung(48, 40))
SMALL_RUNGS = (Rung(64, 92), Rung(64, 80), Rung(64, 60), Rung(48, 60), Rung(32, 50))
"""Of images of at most 64 pixels, which are shown enlarged."""


@dataclass(frozen=True)
class StoredPicture:
    """An image in the page, which figures refer to."""

    id: str
    uri: str
    width: int
    height: int
    small: bool


class Pictures:
    """The images that the page shows, read once each."""

    def __init__(self, data: DataSet) -> None:
        self._data = data
        self._images: dict[Place, Pixels] = {}

    def add(self, place: Place) -> None:
        """Read an image, if it was not read before."""
        if place not in self._images:
            self._images[place] = resized(self._data[place.set_id].single(place.sample), RUNGS[0].side)

    def __len__(self) -> int:
        return len(self._images)

    def encoded(self, room: int) -> Mapping[Place, StoredPicture]:
        """Return all pictures in at most so many bytes of a page, as far as the least of them allow; the same for the same images."""
        is_small = all(max(image.shape[:2]) <= SMALL for image in self._images.values())
        rungs = SMALL_RUNGS if is_small else RUNGS
        for rung in rungs[:-1]:
            if self._fits(rung, room, self._probed()) and self._fits(rung, room, self._images):
                break
        else:
            rung = rungs[-1]
        return {place: _stored(place, image, rung, is_small) for place, image in self._images.items()}

    def empty(self) -> Mapping[Place, StoredPicture]:
        """Return the pictures without their data: by them the page finds out how much room there is."""
        return {place: StoredPicture(_name(place), "", 1, 1, False) for place in self._images}

    def _probed(self) -> dict[Place, Pixels]:
        places = list(self._images)
        step = max(1, len(places) // _PROBED)
        return {place: self._images[place] for place in places[::step]}

    def _fits(self, rung: Rung, room: int, images: Mapping[Place, Pixels]) -> bool:
        """Whether pictures fit, guessed from some of them."""
        if not images:
            return True
        taken = sum(4 * -(-len(_encoded(image, rung)) // 3) for image in images.values())
        return taken * len(self._images) / len(images) <= room


def _encoded(image: Pixels, rung: Rung) -> bytes:
    return jpeg(resized(image, rung.side), rung.quality, fine=max(image.shape[:2]) <= SMALL)


def _stored(place: Place, image: Pixels, rung: Rung, is_small: bool) -> StoredPicture:
    height, width = resized(image, rung.side).shape[:2]
    return StoredPicture(_name(place), data_uri(_encoded(image, rung)), width, height, is_small)


def _name(place: Place) -> str:
    return f"image-{place.set_id}-{place.sample}"
