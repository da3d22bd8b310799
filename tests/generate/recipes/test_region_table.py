"""``[regions]`` of a recipe: what it may say, and every mistake with the others."""

from __future__ import annotations

from fractions import Fraction

import pytest
from own_recipes import HEAD, mistakes, recipe

from corruptset.generate.recipes.recipe import load_recipe
from corruptset.generate.recipes.region_table import RegionTable

REGION_HEAD = HEAD.replace('[preprocessing]\nkind = "none"\n', "")
CLEAN = "\n[[sets]]\nclean = true\n"


@pytest.mark.parametrize(
    ("regions", "line"),
    [
        ("sides = [2, 12]\nout = 32", "regions, sides, item 1 is 2; expected a number from 3 upwards"),
        ("sides = [12]\nout = 0", "regions, out is 0; expected a number from 8 upwards"),
        ("sides = [12.5]\nout = 32", "regions, sides, item 1 is 12.5; expected a whole number"),
        ("sides = []\nout = 32", "regions, sides is []; expected something in it"),
        ("fractions = [0.2, 1.5]\nout = 32", "regions, fractions, item 2 is 1.5; expected a number up to 1"),
        ("fractions = [0.0]\nout = 32", "regions, fractions, item 1 is 0.0; expected a number above 0"),
        ("sides = [12]\nout = 32\nblock = 2", "regions, block is 2; expected a number from 3 upwards"),
        ("sides = [12]\nout = 32\nblocks = 0", "regions, blocks is 0; expected a number from 1 upwards"),
        ("sides = [12]\nout = 32\nfit = 'crop'", "regions, fit is 'crop'; expected one of 'resize' or 'pad'"),
        ("sides = [12]\nout = 32\nmode = 'all'", "regions, mode is 'all'; expected one of 'sampled' or 'exhaustive'"),
        ("out = 32", "regions: has neither fractions nor sides; expected exactly one of fractions and sides"),
        ("sides = [12]\nfractions = [0.2]\nout = 32", "regions: has fractions and sides; expected exactly one of "
            "fractions and sides"),
        ("sides = [12]", "regions: out is missing: the side of the crops, in pixels"),
        ("sides = [12, 16, 12]\nout = 32", "regions: 12 stands in sides twice"),
        ("sides = [12, 40]\nout = 32\nfit = 'pad'", "regions: sides: 40 do not fit on the 32 pixels of the canvas"),
        ("sides = [12]\nout = 32\nmode = 'exhaustive'\nblocks = 3",
         'regions: blocks and block go with mode = "sampled"; exhaustive takes every position'),
        ("sides = [12]\nout = 32\ncanvas = 32", 'regions: canvas goes with kind = "embed"'),
        ("kind = 'embed'\nsides = [12]", "regions: canvas is missing: the side, in pixels, of what images are "
            "embedded in"),
        ("kind = 'embed'\nsides = [12]\ncanvas = 32\nout = 32", "regions: out is not of kind embed, which has sides "
            "and a canvas"),
        ("kind = 'embed'\nsides = [12, 33]\ncanvas = 32", "regions: sides: 33 do not fit on the 32 pixels of the "
            "canvas"),
        ("sides = [12]\nout = 32\nside = 3",
         "regions, side: there is no such key. Did you mean 'sides'? Known here: kind, fractions, sides, "
         "mode, blocks, block, out, canvas, interpolation, fit, channels"),
    ],
)  # fmt: skip
def test_a_mistake_is_named(regions: str, line: str) -> None:
    (found,) = mistakes(f"{REGION_HEAD}{CLEAN}[regions]\n{regions}\n")
    assert found.strip() == line


def test_several_mistakes_are_listed_together() -> None:
    lines = mistakes(f"{REGION_HEAD}[regions]\nsides = [2]\nout = 0\nblock = 1\n[[sets]]\ncorruptions = ['fogg']\n")
    assert len(lines) == 4
    lines = mistakes(f"{REGION_HEAD}{CLEAN}[regions]\nsides = [12, 12]\ncanvas = 32\n")
    assert lines[0].count(";") == 2


def test_preprocessing_follows_from_regions() -> None:
    lines = mistakes(f"{HEAD}{CLEAN}[regions]\nsides = [12]\nout = 32\n")
    assert "has [regions] and [preprocessing]; leave [preprocessing] out" in lines[0]
    resized, padded, embedded = (
        recipe(CLEAN + f"[regions]\n{text}", REGION_HEAD).preprocessing.as_json()
        for text in (
            'sides = [12]\nout = 32\ninterpolation = "box"\nchannels = "keep"',
            'sides = [12]\nout = 32\nfit = "pad"',
            'kind = "embed"\nsides = [12]\ncanvas = 40',
        )
    )
    assert resized == {"kind": "resize", "channels": "keep", "side": 32, "interpolation": "box"}
    assert padded == {"kind": "pad", "channels": "rgb", "side": 32}
    assert embedded == {"kind": "pad", "channels": "rgb", "side": 40}


@pytest.mark.parametrize(
    ("size", "problem"),
    [
        ((40, 33), None),
        ((40, 31), "side 32 of s32 is above the image's"),
        ((11, 40), "side 12 of s12 is above the image's; side 32 of s32 is above the image's"),
        ((40, 32), "it has 9x1 positions of side 32, fewer than a block of 3x3"),
        ((34, 34), None),
    ],
)
def test_images_that_are_too_small(size: tuple[int, int], problem: str | None) -> None:
    table = RegionTable(sides=(12, 32), out=224)
    if size == (40, 33):
        problem = "it has 9x2 positions of side 32, fewer than a block of 3x3"
    if problem is None:
        assert table.problem(*size) is None
    else:
        assert (
            table.problem(*size)
            == f"is {size[0]}x{size[1]}, too small for the recipe's regions ({problem}): leave it out, or change the "
            "recipe"
        )


def test_fractions_that_fall_on_one_side() -> None:
    table = RegionTable(fractions=(0.2, 0.21, 0.8), out=224)
    assert "p20 and p21 fall on one side, 7" in str(table.problem(32, 32))
    assert table.problem(500, 375) is None


def test_a_padded_region_fits_on_its_canvas() -> None:
    table = RegionTable(fractions=(0.8,), out=224, fit="pad")
    assert "side 225 of p80 does not fit on a canvas of 224" in str(table.problem(280, 280))
    assert table.problem(270, 500) is None


def test_sides_are_exact() -> None:
    """A fraction is taken as it is written: half of .7 of 180 pixels is 63, where floats say 62.99."""
    assert [g.side for g in RegionTable(fractions=(0.7,), out=224).groups(200, 180)] == [127]
    table = RegionTable(fractions=(0.2, 0.4, 0.6, 0.8), out=224)
    for short in range(20, 700):
        sides = [g.side for g in table.groups(short + 5, short)]
        assert sides == [Fraction(tenths, 10) * short // 2 * 2 + 1 for tenths in (2, 4, 6, 8)]
    assert [g.name for g in RegionTable(fractions=(0.05, 0.125, 1.0), out=224).groups(500, 400)] == [
        "p05",
        "p12.5",
        "p100",
    ]


def test_all_places_are_taken_where_there_are_fewer() -> None:
    table = RegionTable(sides=(12, 28), blocks=9, out=32)
    assert table.all_taken(32, 32) == []
    assert [(g.name, n) for g, n in RegionTable(sides=(12, 28), blocks=10, out=32).all_taken(32, 32)] == [("s28", 9)]


@pytest.mark.parametrize(
    ("name", "per_image"),
    [
        ("fragile-cifar10-exhaustive", 2290),
        ("location-cifar10", 21**2 + 13**2),
        ("fragile-cifar10", None),
        ("fragile-imagenet", None),
    ],
)
def test_shipped_recipes(name: str, per_image: int | None) -> None:
    from corruptset.generate.regions.block_draws import grids_of
    from corruptset.manifests.regions.grids import regions_of

    loaded = load_recipe(name)
    assert loaded.regions is not None
    assert [spec.id for spec in loaded.resolve().sets] == ["clean"]
    width, height = (500, 375) if name == "fragile-imagenet" else (32, 32)
    ids = [f"test/{i:05d}" for i in range(20)]
    counts = {len(regions_of(name, grids_of(loaded.regions, 0, name, width, height))) for name in ids}
    if per_image is not None:
        assert counts == {per_image}
    elif name == "fragile-imagenet":
        assert max(counts) == 4 * 20 * 18
        assert min(counts) > 0.9 * max(counts)
    else:
        assert max(counts) <= 5 * 5 * 18
