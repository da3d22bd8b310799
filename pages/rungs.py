"""Pictures of a page that are all alike, one of a few images each: as large and as good as the page has room for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from .jpeg import Pixels, framed, jpeg, resized

ROOM = 2_150_000
"""Bytes of all pictures, less what a set takes in words: as text in the page they take a third more, and it should have
at most 3 MB.
"""
ROOM_OF_WORDS = 1_200
MOST = 4
"""Samples that a page shows under every set."""
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
    Rung(4, 320, 85), Rung(4, 256, 80), Rung(4, 224, 70), Rung(4, 224, 60), Rung(4, 192, 60), Rung(4, 160, 60), Rung(4,
    128, 60),
    Rung(4, 112, 60), Rung(4, 96, 50), Rung(4, 80, 50), Rung(4, 64, 50), Rung(2, 64, 50), Rung(1, 64, 50), Rung(1, 48,
    40),
)  # fmt: skip
"""From the best on. Sides are whole blocks of JPEG, so that one sample does not colour the next."""
SMALL_IMAGES = (Rung(4, 64, 92), Rung(4, 64, 85), Rung(4, 64, 75), Rung(2, 64, 85), Rung(1, 64, 85), Rung(1, 48, 60))

Encoded = tuple[bytes, int]
"""A JPEG file, and the side of one of its squares."""


def encoded(images: Sequence[Pixels], rung: Rung, *, small: bool) -> Encoded:
    """Return images as one picture: squares below each other, of which a page shows one at a time."""
    shrunk = [resized(image, rung.side) for image in images]
    side, channels = max(max(image.shape[:2]) for image in shrunk), max(image.shape[2] for image in shrunk)
    return jpeg(
        np.concatenate([framed(image, side, side, channels) for image in shrunk]), rung.quality, fine=small
    ), side


def best_rung(
    sets: Sequence[str],
    images_of: Callable[[str, int], Sequence[Pixels]],
    *,
    small: bool,
    of: int | None = None,
    alone: int = 0,
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
    alone : int
        How many more the page has, in words alone.
    """
    rungs = SMALL_IMAGES if small else PHOTOGRAPHS
    if not sets:
        return rungs[0], {}
    share = len(sets) / (of or len(sets))
    room = ROOM * share - ROOM_OF_WORDS * (len(sets) + alone * share)
    probed = [sets[i * len(sets) // min(_PROBED, len(sets))] for i in range(min(_PROBED, len(sets)))]
    most = max(rung.samples for rung in rungs)
    images = {name: images_of(name, most) for name in probed}
    pictures: dict[str, Encoded] = {}
    for rung in rungs:
        guess = (
            sum(len(encoded(images[name][: rung.samples], rung, small=small)[0]) for name in probed)
            * len(sets)
            / len(probed)
        )
        if guess <= room or rung is rungs[-1]:
            pictures = {name: encoded(images_of(name, rung.samples), rung, small=small) for name in sets}
            if sum(len(data) for data, _ in pictures.values()) <= room:
                break
    return rung, pictures
