"""The few samples that a page shows under every set, and their images."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from ...corruptions.registry import Images
from ...manifests.reader import DataSet
from ...manifests.records.models import SampleRecord
from ...pages.jpeg import SMALL
from ...pages.rungs import MOST
from ..sources.selection import spread

CleanOf = Callable[[int], Images]
"""From a sample's index to its clean (H, W, C) image."""
_KEPT = 150
"""Sets whose images stay in memory while a page is made: they are encoded several times until they have room."""


@dataclass(frozen=True)
class ShownSamples:
    """Some samples of a data set, spread evenly.

    Attributes
    ----------
    data : DataSet
    clean_of : callable, optional
        Gives clean images where the data set has no clean set.
    """

    data: DataSet
    clean_of: CleanOf | None = None
    _kept: dict[str, Sequence[Images]] = field(default_factory=dict)

    @cached_property
    def count(self) -> int:
        """How many samples the data set has."""
        return max((s.count for s in self.data.manifest.sets), default=0)

    @cached_property
    def small(self) -> bool:
        """Whether the images are so small that each pixel is shown as a square."""
        ids = self.data.set_ids
        return bool(ids) and self.count > 0 and max(self.data[ids[0]].single(0).shape[:2]) <= SMALL

    @cached_property
    def indices(self) -> list[int]:
        """Their indices; those after the first are left out where there is little room."""
        return spread(range(self.count), MOST)

    @cached_property
    def records(self) -> list[SampleRecord]:
        """Their records."""
        return [self.data.sample(i) for i in self.indices]

    def images(self, set_id: str, most: int) -> Sequence[Images]:
        """Return the first images of a set; of a data set of few sets they are kept."""
        kept = self._kept.get(set_id, [])
        if len(kept) < most:
            images = self.data[set_id]
            kept = [*kept, *(images.single(i) for i in self.indices[len(kept) : most])]
        if len(self.data) <= _KEPT:
            self._kept[set_id] = kept
        return kept[:most]

    @cached_property
    def clean(self) -> Sequence[Images] | None:
        """Their clean images; None where neither the data set nor anybody else has them."""
        if "clean" in self.data:
            return self.images("clean", len(self.indices))
        return None if self.clean_of is None else [self.clean_of(i) for i in self.indices]

    def names(self, most: int) -> str:
        """Return what the first ones are of, for those who do not see them."""
        return "; ".join(record.class_ or record.id for record in self.records[:most])
