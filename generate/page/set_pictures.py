"""The pictures of a page: one for each set, with the same few samples in it, as large and as good as the page has room for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from ...corruptions.registry import Images
from ...manifests.records.models import SetRecord
from ...webpage.jpeg import data_uri, jpeg, resized, stacked
from .shown_samples import ShownSamples

ROOM = 2_150_000
"""Bytes of all pictures, less what a set takes in words: as text in the page they take a third more, and it should have at most 3 MB."""
_ROOM_OF_WORDS = 1_200
_PROBED = 16
_NEUTRAL = 128
_MOST_AMPLIFIED = 64


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


@dataclass(frozen=True)
class Picture:
    """A picture of the page.

    Attributes
    ----------
    id : str
        Its anchor.
    filters : mapping
        What a filter looks at: corruption, severity.
    small : bool
        Whether its pixels are drawn as squares.
    """

    id: str
    uri: str
    width: int
    height: int
    alt: str
    caption: str
    small: bool = False
    filters: Mapping[str, str] = field(default_factory=dict)


class PictureMaker:
    """Makes the pictures of sets, all with one rung: the best with which they have room."""

    def __init__(self, shown: ShownSamples, sets: Sequence[SetRecord]) -> None:
        self._shown = shown
        self._small = shown.small
        self._rungs = SMALL_IMAGES if self._small else PHOTOGRAPHS
        self._encoded: dict[str, tuple[bytes, tuple[int, int]]] = {}
        self.rung = self._fitting(sets)

    @property
    def samples(self) -> int:
        """How many samples are in a picture."""
        return min(self.rung.samples, len(self._shown.indices))

    def of(self, record: SetRecord, caption: str, filters: Mapping[str, str]) -> Picture:
        """Return the picture of a set."""
        data, size = self._encoded[record.id]
        return self._picture(record.id, data, size, f"{record.id}: {self._about()}", caption, filters)

    def clean(self) -> Picture | None:
        """Return the picture of the clean images, where they are there."""
        if self._shown.clean is None:
            return None
        data, size = self._encode(self._shown.clean[: self.samples], self.rung)
        return self._picture("clean", data, size, f"clean: {self._about()}", "clean", {})

    def difference(self, record: SetRecord, caption: str) -> Picture | None:
        """Return by how much a set differs from the clean images, amplified around grey, where both have one size."""
        if self._shown.clean is None:
            return None
        clean, images = self._shown.clean[: self.samples], self._shown.images(record.id, self.samples)
        if any(a.shape != b.shape for a, b in zip(clean, images, strict=True)):
            return None
        steps = [b.astype(np.int16) - a for a, b in zip(clean, images, strict=True)]
        factor = max(1, min(_MOST_AMPLIFIED, 127 // max(1, *(int(np.abs(step).max()) for step in steps))))
        amplified = [np.clip(_NEUTRAL + factor * step, 0, 255).astype(np.uint8) for step in steps]
        data, size = self._encode(amplified, self.rung)
        about = f"the difference of {record.id} from the clean images, {factor} times, on grey: {self._about()}"
        return self._picture(f"difference-{record.id}", data, size, about, f"{caption}: difference x {factor}", {})

    def _about(self) -> str:
        count = self.samples
        return f"{count} image{'s' * (count != 1)} ({self._shown.names(count)})"

    def _picture(self, name: str, data: bytes, size: tuple[int, int], alt: str, caption: str, filters: Mapping[str, str]) -> Picture:
        return Picture(f"picture-{name}", data_uri(data), size[1], size[0], alt, caption, self._small, filters)

    def _encode(self, images: Sequence[Images], rung: Rung) -> tuple[bytes, tuple[int, int]]:
        """Return the JPEG file of some images below each other (small ones in two columns), and its height and width."""
        picture = stacked([resized(image, rung.side) for image in images], columns=2 if self._small and len(images) > 1 else 1)
        return jpeg(picture, rung.quality, fine=self._small), (picture.shape[0], picture.shape[1])

    def _fitting(self, sets: Sequence[SetRecord]) -> Rung:
        """Encode all sets with the best rung that leaves room, guessed from a few of them first."""
        if not sets:
            return self._rungs[0]
        room = ROOM - _ROOM_OF_WORDS * len(sets)
        probed = [sets[i * len(sets) // min(_PROBED, len(sets))] for i in range(min(_PROBED, len(sets)))]
        most = max(rung.samples for rung in self._rungs)
        images = {record.id: self._shown.images(record.id, most) for record in probed}
        for rung in self._rungs[:-1]:
            guess = sum(len(self._encode(images[record.id][: rung.samples], rung)[0]) for record in probed) * len(sets) / len(probed)
            if guess <= room and self._encode_all(sets, rung) <= room:
                return rung
        self._encode_all(sets, self._rungs[-1])
        return self._rungs[-1]

    def _encode_all(self, sets: Sequence[SetRecord], rung: Rung) -> int:
        """Encode the pictures of all sets; return their bytes."""
        self._encoded = {record.id: self._encode(self._shown.images(record.id, rung.samples), rung) for record in sets}
        return sum(len(data) for data, _ in self._encoded.values())
