"""Crops are bit-identical to those of numpy and Pillow, for stored and for computed regions."""

import pickle
import tracemalloc

import numpy as np
import pytest
from PIL import Image
from reference_regions import (
    EMBED,
    SAMPLED,
    all_regions,
    photograph,
    place_of,
    reference_crop,
    reference_embedding,
    side_of,
    small_images,
    write_recipe,
    write_rows,
)

import corruptset
from corruptset.errors import UnknownCorruption, VerificationError
from corruptset.generate.recipes.region_table import RegionTable
from corruptset.generate.regions.block_draws import region_rows
from corruptset.manifests.regions.crops import CutCrops

FRACTIONS = (0.2, 0.4, 0.6, 0.8)
STORED = {
    "sampled": (SAMPLED, 3),
    "pad": ('sides = [12, 16]\nblocks = 3\nout = 20\nfit = "pad"', 3),
    "embed": (EMBED, 3),
    "grey": (SAMPLED + '\nchannels = "keep"', 1),
    "grey as colour": (SAMPLED + '\nchannels = "rgb"', 1),
}


def cut(image, table):
    height, width = image.shape[:2]
    return CutCrops(image, list(region_rows(table, 0, "a", width, height)), None)


def compare(image, table, expected=None):
    """Compare every crop with the reference implementation."""
    crops = cut(image, table)
    places = [place_of(record) for record in crops.regions()]
    assert expected is None or places == list(expected)
    for result, place in zip(crops, places, strict=True):
        assert np.array_equal(result, reference_crop(image, place, table.size, fit=str(table.fit))), place


@pytest.mark.parametrize("fit", ["resize", "pad"])
def test_crops_of_photographs_match_reference(fit):
    for width, height, out in ((240, 180, 145), (47, 61, 40)):
        table = RegionTable(fractions=FRACTIONS, blocks=1, out=out if fit == "pad" else 48, fit=fit)
        compare(photograph(width, height), table)
        sides = {r.side for r in cut(photograph(width, height), table).regions() if r.role == "base"}
        assert sides == {side_of(p, width, height) for p in FRACTIONS}
    table = RegionTable(fractions=FRACTIONS, mode="exhaustive", out=40 if fit == "pad" else 16, fit=fit)
    compare(photograph(31, 27), table, all_regions((side_of(p, 31, 27) for p in FRACTIONS), 31, 27))


@pytest.mark.long
def test_all_crops_of_photograph_and_small_images_match_reference():
    table = RegionTable(fractions=FRACTIONS, mode="exhaustive", out=32)
    for width, height in ((500, 375), (375, 500)):
        places = all_regions((side_of(p, width, height) for p in FRACTIONS), width, height)
        assert len(places) == 531_328
        compare(photograph(width, height), table, places)
    sides = tuple(range(12, 29))
    for image in small_images():
        for fit in ("resize", "pad"):
            compare(image, RegionTable(sides=sides, out=32, fit=fit))
            table = RegionTable(sides=sides, mode="exhaustive", out=32, fit=fit)
            compare(image, table, all_regions(sides, 32, 32))


@pytest.mark.parametrize("name", STORED)
def test_both_storage_formats_give_reference_pixels(name, tmp_path):
    regions, channels = STORED[name]
    images = small_images(2, channels)
    source, recipe = write_rows(tmp_path, images), write_recipe(tmp_path, regions)
    options = {"jobs": 1, "storage": "hdf5", "page": False, "metrics": 0}
    result = [corruptset.build(recipe, source, tmp_path / s, store=s, **options).directory for s in ("images", "table")]
    assert [(directory / "regions.jsonl").exists() for directory in result] == [False, True]
    stored, table_dataset = map(corruptset.open, result)
    assert len(table_dataset.samples) == 2
    for number, image in enumerate(images):
        first, second = (pickle.loads(pickle.dumps(d)).crops(f"data/{number}") for d in (stored, table_dataset))
        records = list(first.regions())
        assert records == list(second.regions())
        assert len(first) == len(second) == len(records) > 30
        for i, record in enumerate(records):
            slow = reference_crop(image, place_of(record), first[0].shape[0], fit="pad" if name == "pad" else "resize")
            if name == "embed":
                slow = reference_embedding(image, place_of(record), 32)
            if name == "grey as colour":
                slow = np.repeat(slow, 3, axis=2)
            assert np.array_equal(first[i], slow)
            assert np.array_equal(second[i], slow)
        assert np.array_equal(first.array(), second.array())
        assert np.array_equal(second[-1], slow)
        of_side = [r for r in records if r.side == record.side]
        for data in (stored, table_dataset):
            assert list(data.crops(f"data/{number}", side=record.side).regions()) == of_side
    assert sum(len(stored.crops(f"data/{n}")) for n in range(2)) == len(stored.samples)
    for data in (stored, table_dataset):
        with pytest.raises(UnknownCorruption, match=r"no regions of an image 'data/7'"):
            data.crops("data/7")
        with pytest.raises(
            UnknownCorruption, match=r"no regions of side 13 of the image .data/0.. The available sides are"
        ):
            data.crops("data/0", side=13)
        with pytest.raises(IndexError, match="the index 99999 is out of range"):
            data.crops("data/0")[99999]


def test_only_one_crop_is_in_memory():
    """A photograph has 531,328 crops of 224 pixels, which would be 80 GB, so only their positions may be in memory."""
    image = np.array(Image.new("RGB", (500, 375), (1, 2, 3)))
    tracemalloc.start()
    crops = cut(image, RegionTable(fractions=FRACTIONS, mode="exhaustive", out=224))
    crop_count = sum(1 for _, crop in zip(range(50), crops, strict=False) if crop.shape == (224, 224, 3))
    assert (crop_count, len(crops)) == (50, 531_328)
    assert tracemalloc.get_traced_memory()[0] < 40 << 20
    tracemalloc.stop()


def test_row_beyond_image_is_rejected():
    rows = list(region_rows(RegionTable(sides=(12,), mode="exhaustive", out=32), 0, "a", 32, 32))
    with pytest.raises(VerificationError, match=r"extends beyond its image \(a, side 12, from y 0 x 0\)"):
        CutCrops(small_images(1)[0][:31], rows, None)
