"""Crops: the same pixels, bit for bit, as numpy and Pillow make them one at a time, in both ways to store regions."""

from __future__ import annotations

import pickle
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from slow_regions import (
    EMBED,
    EXHAUSTIVE,
    SAMPLED,
    all_places,
    photograph,
    place_of,
    side_of,
    slow_crop,
    slow_embedding,
    small_images,
    write_recipe,
    write_rows,
)  # fmt: skip

import corruptset
from corruptset.errors import UnknownCorruption, VerificationError
from corruptset.generate.recipes.region_table import RegionTable
from corruptset.generate.regions.block_draws import region_rows
from corruptset.manifests.regions.crops import CutCrops

FRACTIONS = (0.2, 0.4, 0.6, 0.8)
PADDED = 'sides = [12, 16]\nblocks = 3\nout = 20\nfit = "pad"'


def cut(image: np.ndarray, table: RegionTable, side: int | None = None) -> CutCrops:
    height, width = image.shape[:2]
    return CutCrops(image, list(region_rows(table, 0, "a", width, height)), side)


def compare(
    image: np.ndarray, crops: CutCrops, table: RegionTable, expected: Iterable[tuple[int, int, int]] | None = None
) -> None:
    """Hold every crop to the slow one."""
    places = [place_of(record) for record in crops.regions()]
    assert expected is None or places == list(expected)
    for made, place in zip(crops, places, strict=True):
        assert np.array_equal(made, slow_crop(image, place, table.size, fit=str(table.fit))), place


@pytest.mark.parametrize("fit", ["resize", "pad"])
@pytest.mark.parametrize(("width", "height"), [(500, 375), (375, 500), (61, 47)])
def test_sampled_crops_of_photographs(width: int, height: int, fit: str) -> None:
    out = {"resize": 48, "pad": 40 if width == 61 else 301}[fit]
    table = RegionTable(fractions=FRACTIONS, blocks=2 if fit == "pad" else 6, out=out, fit=fit)
    image = photograph(width, height)
    crops = cut(image, table)
    assert {r.side for r in crops.regions() if r.role == "base"} == {side_of(p, width, height) for p in FRACTIONS}
    compare(image, crops, table)


@pytest.mark.parametrize("fit", ["resize", "pad"])
def test_every_crop_of_a_small_photograph(fit: str) -> None:
    image = photograph(61, 47)
    table = RegionTable(fractions=FRACTIONS, mode="exhaustive", out=16 if fit == "resize" else 40, fit=fit)
    compare(image, cut(image, table), table, all_places((side_of(p, 61, 47) for p in FRACTIONS), 61, 47))


@pytest.mark.long
@pytest.mark.parametrize(("width", "height"), [(500, 375), (375, 500)])
def test_every_crop_of_a_photograph(width: int, height: int) -> None:
    image = photograph(width, height)
    table = RegionTable(fractions=FRACTIONS, mode="exhaustive", out=32)
    crops = cut(image, table)
    assert len(crops) == 531_328
    compare(image, crops, table, all_places((side_of(p, width, height) for p in FRACTIONS), width, height))


@pytest.mark.long
@pytest.mark.parametrize("fit", ["resize", "pad"])
@pytest.mark.parametrize("mode", ["sampled", "exhaustive"])
def test_every_crop_of_ten_small_images(mode: str, fit: str) -> None:
    sides = tuple(range(12, 29))
    for image in small_images():
        table = RegionTable(sides=sides, mode=mode, out=32, fit=fit)
        compare(image, cut(image, table), table, all_places(sides, 32, 32) if mode == "exhaustive" else None)


@pytest.mark.parametrize("regions", [SAMPLED, EXHAUSTIVE, EMBED, PADDED], ids=["sampled", "exhaustive", "embed", "pad"])
def test_both_ways_to_store_regions_give_the_slow_pixels(regions: str, tmp_path: Path) -> None:
    images = small_images(3)
    source = write_rows(tmp_path, images)
    recipe = write_recipe(tmp_path, regions)
    made = {
        s: corruptset.build(recipe, source, tmp_path / s, jobs=1, store=s, format="hdf5").directory
        for s in ("images", "table")
    }
    stored, whole = (corruptset.open(made[s]) for s in ("images", "table"))
    assert (
        len(whole.samples),
        (made["table"] / "regions.jsonl").exists(),
        (made["images"] / "regions.jsonl").exists(),
    ) == (3, True, False)
    for number, image in enumerate(images):
        first, second = (pickle.loads(pickle.dumps(d)).crops(f"data/{number}") for d in (stored, whole))
        assert list(first.regions()) == list(second.regions())
        assert len(first) == len(second) > 30
        for i, record in enumerate(first.regions()):
            place, fit = place_of(record), "pad" if regions == PADDED else "resize"
            slow = (
                slow_embedding(image, place, 32)
                if regions == EMBED
                else slow_crop(image, place, first[0].shape[0], fit=fit)
            )
            assert np.array_equal(first[i], slow)
            assert np.array_equal(second[i], slow)
        assert np.array_equal(first.array(), second.array())
        side = record.side
        of_side = [r for r in first.regions() if r.side == side]
        for d in (stored, whole):
            assert list(d.crops(f"data/{number}", side=side).regions()) == of_side
        assert np.array_equal(second[-1], second[len(second) - 1])
    assert sum(len(stored.crops(f"data/{n}")) for n in range(3)) == len(stored.samples)
    for data in (stored, whole):
        with pytest.raises(UnknownCorruption, match=r"no regions of an image 'data/7'"):
            data.crops("data/7")
        with pytest.raises(UnknownCorruption, match=r"no regions of side 13 of the image .data/0.; it has sides 1?2?"):
            data.crops("data/0", side=13)
        with pytest.raises(IndexError, match="there is no crop 99999"):
            data.crops("data/0")[99999]


@pytest.mark.parametrize("channels", ["rgb", "keep"])
def test_grey_images(channels: str, tmp_path: Path) -> None:
    images = small_images(2, channels=1)
    recipe = write_recipe(tmp_path, SAMPLED + f'\nchannels = "{channels}"')
    source = write_rows(tmp_path, images)
    for store in ("images", "table"):
        data = corruptset.open(corruptset.build(recipe, source, tmp_path / store, jobs=1, store=store).directory)
        crops = data.crops("data/1")
        for made, record in zip(crops, crops.regions(), strict=True):
            slow = slow_crop(images[1], place_of(record), 16)
            assert np.array_equal(made, slow if channels == "keep" else np.repeat(slow, 3, axis=2))


def test_one_crop_is_in_memory_at_a_time() -> None:
    """A photograph's 531,328 crops of 224 would be 80 GB; what is kept is where they lie."""
    import tracemalloc

    image = np.array(Image.new("RGB", (500, 375), (1, 2, 3)))
    table = RegionTable(fractions=FRACTIONS, mode="exhaustive", out=224)
    tracemalloc.start()
    crops = cut(image, table)
    kept = sum(1 for _, crop in zip(range(50), crops, strict=False) if crop.shape == (224, 224, 3))
    assert (kept, len(crops)) == (50, 531_328)
    assert tracemalloc.get_traced_memory()[0] < 40 << 20
    tracemalloc.stop()


def test_a_row_that_reaches_beyond_its_image_is_refused() -> None:
    rows = list(region_rows(RegionTable(sides=(12,), mode="exhaustive", out=32), 0, "a", 32, 32))
    with pytest.raises(VerificationError, match=r"reaches beyond its image \(a, side 12, from y 0 x 0\)"):
        CutCrops(small_images(1)[0][:31], rows, None)
