"""The pictures of the page: each image once, as large and as good as the page has room for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from ...manifests.reader import DataSet
from ...pages.jpeg import SMALL, Pixels, data_uri, jpeg, resized
from ...pages.rungs import Rung, fitting

WRAPPER = 420
"""Bytes of a stored picture in the page beside its data."""


class Place(NamedTuple):
    """An image of a data set."""

    set_id: str
    sample: int
    """Its index."""


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

    def encode(place: Place, rung: Rung) -> bytes:
        image = images[place]
        return jpeg(resized(image, rung.side), rung.quality, fine=max(image.shape[:2]) <= SMALL)

    # as text they take a third more
    rung, files = fitting(SMALL_RUNGS if small else RUNGS, list(images), encode, 0.74 * room)
    stored = {}
    for place, image in images.items():
        height, width = resized(image, rung.side).shape[:2]
        stored[place] = StoredPicture(_name(place), data_uri(files[place]), width, height, small)
    return stored


def empty(images: Images) -> dict[Place, StoredPicture]:
    """Return the pictures without their data: by them the page finds out how much room there is."""
    return {place: StoredPicture(_name(place), "", 1, 1, False) for place in images}


def _name(place: Place) -> str:
    return f"image-{place.set_id}-{place.sample}"
