"""The pictures of a page: one for each set, with the same few samples in it, as large as the page has room for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from ...manifests.records.models import SetRecord
from ...pages.jpeg import data_uri
from ...pages.rungs import Encoded, best_rung, encoded
from .shown_samples import ShownSamples

_NEUTRAL = 128
_MOST_AMPLIFIED = 64


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
    samples : int
        How many squares it holds below each other, of which one is shown at a time; 0 of a picture that is shown whole.
    """

    id: str
    uri: str
    width: int
    height: int
    alt: str
    caption: str
    small: bool = False
    filters: Mapping[str, str] = field(default_factory=dict)
    samples: int = 0


class PictureMaker:
    """Makes the pictures of sets, all with one rung: the best with which they have room."""

    def __init__(self, shown: ShownSamples, sets: Sequence[SetRecord], alone: int) -> None:
        self._shown = shown
        self._small = shown.small
        self.rung, self._encoded = best_rung([record.id for record in sets], shown.images, small=self._small, alone=alone)

    @property
    def samples(self) -> int:
        """How many samples are in a picture."""
        return min(self.rung.samples, len(self._shown.indices))

    def of(self, record: SetRecord, caption: str, filters: Mapping[str, str]) -> Picture:
        """Return the picture of a set."""
        return self._picture(record.id, self._encoded[record.id], f"{record.id}: {self._about()}", caption, filters)

    def clean(self) -> Picture | None:
        """Return the picture of the clean images, where they are there."""
        if self._shown.clean is None:
            return None
        return self._picture(
            "clean", encoded(self._shown.clean[: self.samples], self.rung, small=self._small), f"clean: {self._about()}", "clean", {}
        )

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
        about = f"the difference of {record.id} from the clean images, {factor} times, on grey: {self._about()}"
        return self._picture(
            f"difference-{record.id}", encoded(amplified, self.rung, small=self._small), about, f"{caption}: difference x {factor}", {}
        )

    def _about(self) -> str:
        count = self.samples
        return f"{'one at a time of ' * (count > 1)}{count} image{'s' * (count != 1)} ({self._shown.names(count)})"

    def _picture(self, name: str, encoded: Encoded, alt: str, caption: str, filters: Mapping[str, str]) -> Picture:
        data, side = encoded
        return Picture(f"picture-{name}", data_uri(data), side, side, alt, caption, self._small, filters, self.samples)
