"""Pictures of a page: as large and as good as there is room for.

All have one rung.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import NamedTuple, TypeVar

import numpy as np

from .jpeg import Pixels, framed, jpeg, resized

K = TypeVar("K", bound=Hashable)
ROOM = 2_150_000
"""Bytes of all pictures, less what a set takes in words: as text in the page they take a third more, and it should have
at most 3 MB.
"""
ROOM_OF_WORDS = 1_200
MOST = 4
"""Samples that a page shows under every set."""
_PROBED = 16


class Rung(NamedTuple):
    """How good pictures are."""

    side: int
    """Of a sample, at most, in pixels."""
    quality: int
    """Of the JPEG file."""
    samples: int = 1


PHOTOGRAPHS = (
    Rung(320, 85, 4), Rung(256, 80, 4), Rung(224, 70, 4), Rung(224, 60, 4), Rung(192, 60, 4), Rung(160, 60, 4),
    Rung(128, 60, 4), Rung(112, 60, 4), Rung(96, 50, 4), Rung(80, 50, 4), Rung(64, 50, 4), Rung(64, 50, 2),
    Rung(64, 50), Rung(48, 40),
)  # fmt: skip
"""From the best on. Sides are whole blocks of JPEG, so that one sample does not colour the next."""
SMALL_IMAGES = (Rung(64, 92, 4), Rung(64, 85, 4), Rung(64, 75, 4), Rung(64, 85, 2), Rung(64, 85), Rung(48, 60))


def squares(images: Sequence[Pixels], rung: Rung, *, small: bool) -> bytes:
    """Return images as one JPEG file: squares below each other.

    A page shows one of them at a time.
    """
    shrunk = [resized(image, rung.side) for image in images]
    side, channels = max(max(image.shape[:2]) for image in shrunk), max(image.shape[2] for image in shrunk)
    column = np.concatenate([framed(image, side, side, channels) for image in shrunk])
    return jpeg(column, rung.quality, fine=small)


def fitting(
    rungs: Sequence[Rung], names: Sequence[K], encode: Callable[[K, Rung], bytes], room: float
) -> tuple[Rung, Mapping[K, bytes]]:
    """Return the best rung with which pictures take at most `room` bytes.

    Else the last one. The pictures come with it.

    `encode` makes one of them; a few are made first, as a guess.
    """
    probed = names[:: max(1, len(names) // _PROBED)]
    for rung in rungs:
        guess = sum(len(encode(name, rung)) for name in probed) * len(names) / max(1, len(probed))
        if guess <= room or rung == rungs[-1]:
            files = {name: encode(name, rung) for name in names}
            if sum(map(len, files.values())) <= room or rung == rungs[-1]:
                break
    return rung, files


def best_rung(
    sets: Sequence[str],
    images_of: Callable[[str, int], Sequence[Pixels]],
    *,
    small: bool,
    of: int | None = None,
    alone: int = 0,
) -> tuple[Rung, Mapping[str, bytes]]:
    """Return the best rung whose pictures of sets have room, and the pictures.

    There are `squares` of each set.

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
    share = len(sets) / (of or len(sets) or 1)
    room = ROOM * share - ROOM_OF_WORDS * (len(sets) + alone * share)

    def encode(name: str, rung: Rung) -> bytes:
        return squares(images_of(name, rung.samples), rung, small=small)

    return fitting(SMALL_IMAGES if small else PHOTOGRAPHS, sets, encode, room)
