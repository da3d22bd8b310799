"""Which regions a data set has of which source image."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ...errors import UnknownCorruption
from ..disk.jsonl import read_jsonl
from ..layout import REGIONS
from ..records.models import Manifest, RegionRow, SampleRecord
from .crops import Crops, CutCrops, ImageOf, StoredCrops


class RegionIndex:
    """The samples and rows of regions.jsonl of a data set, by source image; `rows` is that file, where the manifest has it."""

    def __init__(self, rows: Path, manifest: Manifest, samples: Sequence[SampleRecord]) -> None:
        self._samples: dict[str, list[SampleRecord]] = {}
        for sample in samples:
            self._samples.setdefault(sample.id if sample.region is None else sample.region.source, []).append(sample)
        self._rows: dict[str, list[RegionRow]] = {}
        if any(file.path == REGIONS for file in manifest.files):
            for row in read_jsonl(rows, RegionRow):
                self._rows.setdefault(row.sample, []).append(row)

    def crops(self, sample_id: str, side: int | None, images: ImageOf) -> Crops:
        """Return the crops of one image (`DataSet.crops`); `images` gives the image of a sample, by its index."""
        samples, rows = self._samples.get(sample_id, []), self._rows.get(sample_id, [])
        crops: Crops
        if samples and rows:
            crops = CutCrops(images(samples[0].index), rows, side)
        else:
            kept = [(s.index, s.region) for s in samples if s.region is not None and side in (None, s.region.side)]
            crops = StoredCrops(images, [index for index, _ in kept], [region for _, region in kept])
        if not len(crops):
            sides = sorted({row.side for row in rows} | {s.region.side for s in samples if s.region is not None})
            if sides:
                present = ", ".join(map(str, sides))
                raise UnknownCorruption(f"The data set has no regions of side {side} of the image {sample_id!r}; it has sides {present}.")
            raise UnknownCorruption(f"The data set has no regions of an image {sample_id!r}: name an image by its id in the source.")
        return crops
