"""Pictures of a page that are all alike, one of a few images each: as large and as good as the page has room for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from .jpeg import Pixels, jpeg, resized, stacked

ROOM = 2_150_000
"""Bytes of all pictures, less what a set takes in words: as text in the page they take a third more, and it should have at most 3 MB."""
ROOM_OF_WORDS = 1_200
MOST = 3
"""Images in a picture."""
MOST_SMALL = 8
"""Of images of at most 64 pixels a side."""
_PROBED = 16


@dataclass(frozen=True)
class Rung:
    """How good pictures are."""

    samples: int
    side: int
    """Of a sample, at most, in pixels."""
    quality: int
    """Of the JPEG file."""


PHOTOGRAPHS = (
    Rung(3, 320, 85), Rung(3, 256, 80), Rung(3, 224, 70), Rung(3, 224, 60), Rung(3, 224, 50),
    Rung(2, 224, 60), Rung(2, 224, 50), Rung(2, 160, 60), Rung(1, 224, 60), Rung(1, 160, 60),
    Rung(1, 112, 60), Rung(1, 96, 50), Rung(1, 64, 50), Rung(1, 48, 40),
)  # fmt: skip
"""From the best on. A reduced picture shows less noise than there is, so quality and samples are given up before size."""
SMALL_IMAGES = (Rung(8, 64, 92), Rung(6, 64, 90), Rung(4, 64, 90), Rung(3, 64, 85), Rung(2, 64, 85), Rung(1, 64, 85), Rung(1, 48, 60))

Encoded = tuple[bytes, tuple[int, int]]
"""A JPEG file, and its height and width."""


def encoded(images: Sequence[Pixels], rung: Rung, *, small: bool) -> Encoded:
    """Return some images below each other (small ones in two columns) as a picture."""
    picture = stacked([resized(image, rung.side) for image in images], columns=2 if small and len(images) > 1 else 1)
    return jpeg(picture, rung.quality, fine=small), (picture.shape[0], picture.shape[1])


def best_rung(
    sets: Sequence[str], images_of: Callable[[str, int], Sequence[Pixels]], *, small: bool, of: int | None = None
) -> tuple[Rung, Mapping[str, Encoded]]:
    """Return the best rung whose pictures have room, guessed from a few of them first, and the pictures.

    Parameters
    ----------
    sets : sequence of str
    images_of : callable
        From a set and a number to that many of its images at most.
    small : bool
        Whether pixels are shown as squares.
    of : int, optional
        How many sets share the room, where `sets` are only some of them.
    """
    rungs = SMALL_IMAGES if small else PHOTOGRAPHS
    if not sets:
        return rungs[0], {}
    share = len(sets) / (of or len(sets))
    room = ROOM * share - ROOM_OF_WORDS * len(sets)
    probed = [sets[i * len(sets) // min(_PROBED, len(sets))] for i in range(min(_PROBED, len(sets)))]
    most = max(rung.samples for rung in rungs)
    images = {name: images_of(name, most) for name in probed}
    pictures: dict[str, Encoded] = {}
    for rung in rungs:
        guess = sum(len(encoded(images[name][: rung.samples], rung, small=small)[0]) for name in probed) * len(sets) / len(probed)
        if guess <= room or rung is rungs[-1]:
            pictures = {name: encoded(images_of(name, rung.samples), rung, small=small) for name in sets}
            if sum(len(data) for data, _ in pictures.values()) <= room:
                break
    return rung, pictures
