"""The rules that hold for regions: between samples.jsonl, regions.jsonl and the recipe of manifest.json."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..layout import MANIFEST, REGIONS, SAMPLES
from ..records.models import Manifest, RegionRow, SampleRecord
from ..records.report import Problem
from ..regions.crops import row_problem
from ..regions.grids import region_id


def region_problems(manifest: Manifest, samples: Sequence[SampleRecord], rows: Sequence[RegionRow] | None) -> Iterator[Problem]:
    """Yield what is wrong with the regions of a data set; `rows` are those of regions.jsonl, None where there is no such file."""
    record = manifest.recipe.get("regions")
    store = record.get("store") if isinstance(record, dict) else None
    if store not in (None, "images", "table"):
        yield Problem(MANIFEST, "records", f"the recipe's regions are stored as {store!r}; expected 'images' or 'table'")
    if (rows is not None) != (store == "table"):
        expected, listed = ("a", "none") if store == "table" else ("no", "one")
        yield Problem(MANIFEST, "records", f"the recipe says that there is {expected} {REGIONS}, and files lists {listed}")
    for s in samples:
        if (s.region is not None) != (store == "images"):
            is_one, are = ("is no region", "are") if s.region is None else ("is a region", "are not")
            yield Problem(SAMPLES, "records", f"sample {s.id!r} {is_one}, and the recipe says that samples {are}")
        elif s.region is not None:
            name = region_id(s.region.source, s.region.side, s.region.y, s.region.x)
            if name != s.id:
                yield Problem(SAMPLES, "records", f"sample {s.id!r} has the region of {name!r}")
    if rows is not None:
        yield from _rows({s.id: s for s in samples}, rows)


def _rows(samples: dict[str, SampleRecord], rows: Sequence[RegionRow]) -> Iterator[Problem]:
    for number, row in enumerate(rows):
        sample = samples.get(row.sample)
        problem = f"is of {row.sample!r}, which is no sample" if sample is None else row_problem(row, sample.width, sample.height)
        if problem is not None:
            yield Problem(REGIONS, "records", f"row {number} {problem}")
    for name in sorted(samples.keys() - {row.sample for row in rows}):
        yield Problem(REGIONS, "records", f"has no row of the sample {name!r}")
