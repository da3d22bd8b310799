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


RUNGS = (
    Rung(224, 85),
    Rung(224, 70),
    Rung(224, 55),
    Rung(160, 65),
    Rung(160, 50),
    Rung(112, 60),
    Rung(96, 50),
    Rung(64, 50),
    Rung(48, 40),
)
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


Images = Mapping[Place, Pixels]


def read_picture(data: DataSet, place: Place) -> Pixels:
    """Return an image of a data set, no larger than a page shows it."""
    return resized(data[place.set_id].single(place.sample), RUNGS[0].side)


def encoded(images: Images, room: int) -> dict[Place, StoredPicture]:
    """Return pictures in at most so many bytes of a page, as far as the least of them allow; the same for the same
    images.
    """
    small = all(max(image.shape[:2]) <= SMALL for image in images.values())
    probed = dict([*images.items()][:: max(1, len(images) // _PROBED)])
    for rung in SMALL_RUNGS if small else RUNGS:
        if all(_taken(some, rung) * len(images) <= room * len(some) for some in (probed, images)):
            break
    stored = {}
    for place, image in images.items():
        height, width = resized(image, rung.side).shape[:2]
        stored[place] = StoredPicture(_name(place), data_uri(_jpeg(image, rung)), width, height, small)
    return stored


def empty(images: Images) -> dict[Place, StoredPicture]:
    """Return the pictures without their data: by them the page finds out how much room there is."""
    return {place: StoredPicture(_name(place), "", 1, 1, False) for place in images}


def _taken(images: Images, rung: Rung) -> int:
    """Return the bytes of pictures in a page."""
    return sum(4 * -(-len(_jpeg(image, rung)) // 3) for image in images.values())


def _jpeg(image: Pixels, rung: Rung) -> bytes:
    return jpeg(resized(image, rung.side), rung.quality, fine=max(image.shape[:2]) <= SMALL)


def _name(place: Place) -> str:
    return f"image-{place.set_id}-{place.sample}"
