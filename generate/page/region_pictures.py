"""Pictures of regions: one of each size in the first image, with its neighbours, and with the smaller ones inside it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import takewhile

from ...manifests.disk.jsonl import read_jsonl
from ...manifests.layout import REGIONS, SAMPLES
from ...manifests.reader import DataSet
from ...manifests.records.models import RegionRecord, RegionRow, SampleRecord
from ...manifests.regions.crops import Crops, CutCrops, StoredCrops
from ...pages.jpeg import SMALL, data_uri, jpeg, resized, stacked
from .set_pictures import Picture

_SIDE = 160
_QUALITY = 80
_STEPS = (-1, 0, 1)


def region_pictures(data: DataSet) -> list[Picture]:
    """Return two pictures of each group of regions, if there are any: an anchor among its neighbours, and its shrunk regions."""
    crops = _crops_of_first(data)
    if crops is None:
        return []
    number_of = {(r.side, r.y, r.x): n for n, r in enumerate(crops.regions())}
    anchors: dict[str, list[RegionRecord]] = {}
    for region in crops.regions():
        if region.anchor:
            anchors.setdefault(region.group, []).append(region)
    pictures = []
    for group, regions in anchors.items():
        anchor = regions[len(regions) // 2]
        where = f"{group}: side {anchor.side} at y {anchor.y}, x {anchor.x}"
        around = [number_of.get((anchor.side, anchor.y + dy, anchor.x + dx)) for dy in _STEPS for dx in _STEPS]
        inside_it = [number_of.get((anchor.side - 2, anchor.y + 1 + dy, anchor.x + 1 + dx)) for dy in _STEPS for dx in _STEPS]
        pictures.append(_mosaic(crops, around, f"{group}-neighbours", f"{where}, in the middle of its eight neighbours, each a pixel away"))
        if any(number is not None for number in inside_it):
            pictures.append(
                _mosaic(crops, inside_it, f"{group}-shrunk", f"{where}: the nine regions inside it that are two pixels smaller")
            )
    return pictures


def _crops_of_first(data: DataSet) -> Crops | None:
    """Return the regions of the first image; the rows of other images are not read."""
    if any(file.path == REGIONS for file in data.manifest.files):
        rows: Iterator[RegionRow] = read_jsonl(data.record_file(REGIONS), RegionRow)
        first = next(rows)
        return CutCrops(data["clean"].single(0), [first, *takewhile(lambda row: row.sample == first.sample, rows)], None)
    first_region = data.sample(0).region
    if first_region is None or "clean" not in data:
        return None
    source, samples = first_region.source, read_jsonl(data.record_file(SAMPLES), SampleRecord)
    regions = [(s.index, s.region) for s in takewhile(lambda s: s.region is not None and s.region.source == source, samples)]
    return StoredCrops(data["clean"].single, [(index, region) for index, region in regions if region is not None])


def _mosaic(crops: Crops, numbers: list[int | None], name: str, about: str) -> Picture:
    """Return nine regions as one picture, in their places; grey where there is none."""
    known = [crops[number] if number is not None else None for number in numbers]
    like = next(image for image in known if image is not None)
    small = max(like.shape[:2]) <= SMALL
    cells = [like * 0 + 128 if image is None else image for image in known]
    picture = stacked([resized(image, _SIDE) for image in cells], columns=3)
    uri = data_uri(jpeg(picture, _QUALITY, fine=small))
    return Picture(f"picture-region-{name}", uri, picture.shape[1], picture.shape[0], about, about, small)
