"""The regions of a data set that was made of them: as its records have them, or drawn again from its manifest."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...errors import VerificationError
from ...manifests.reader import DataSet
from ...manifests.records.models import Manifest, SampleRecord
from ..plan.job import CheckedSample
from ..plan.region_samples import RegionSamples
from ..recipes.region_table import RegionTable, parse_region_table
from ..regions.region_source import Region, RegionSource
from ..sources.check import check
from ..sources.groups import recorded_hold_out
from ..sources.selection import select
from ..sources.source import Sample, Source


def recorded_table(manifest: Manifest, store: str) -> RegionTable | None:
    """Return the regions of a manifest's recipe, if they are stored in this way: as ``images``, or as a ``table``."""
    record = manifest.recipe.get("regions")
    if not isinstance(record, dict) or record.get("store") != store:
        return None
    return parse_region_table(record)


def region_source(data: DataSet, source: Source) -> Source:
    """Return a source with the data set's samples: the source itself, or one of the regions of its images."""
    table = recorded_table(data.manifest, "images")
    if table is None:
        return source
    try:
        return RegionSource(source, table, _recorded(source, data.samples))
    except VerificationError:  # samples.jsonl is damaged: a repair goes on without it
        return RegionSource(source, table, _drawn(data.manifest, source, table))


def _recorded(source: Source, records: Sequence[SampleRecord]) -> list[Region]:
    originals = {sample.id: sample for sample in source.samples}
    return [
        Region.of(record.index, originals[r.source], (r.side, r.y, r.x), r)
        for record in records
        if (r := record.region) is not None and r.source in originals
    ]


def _drawn(manifest: Manifest, source: Source, table: RegionTable) -> list[Region]:
    """Return the regions of the images that the manifest's selection chooses; none where it was a list of ids."""
    checked = check(source, selected_again(manifest, source), judge=table.problem)
    images = tuple(CheckedSample(*entry) for entry in checked.good)
    return [c.sample for c in RegionSamples(images, table, manifest.seed) if isinstance(c.sample, Region)]


def selected_again(manifest: Manifest, source: Source) -> list[Sample]:
    """Return the samples that a manifest's selection chooses, without those that were left out.

    None where it read a file, or the source does not know the groups that were held out.
    """
    selection = manifest.selection
    if selection.get("ids") is not None or selection.get("per_super_category") is not None:
        return []
    excluded = {e.path for e in manifest.excluded}
    asked: dict[str, Any] = {key: selection.get(key) for key in ("samples", "first", "per_class")}
    if "hold_out" in selection:
        asked["hold_out"] = recorded_hold_out(selection["hold_out"])
        if asked["hold_out"] is None or all(s.group is None for s in source.samples):
            return []
    return [s for s in select(source.samples, **asked) if (s.path or s.id) not in excluded]
