"""The table ``[regions]`` of a recipe, and messages about all of its mistakes."""

from __future__ import annotations

from fractions import Fraction

import pytest
from custom_recipes import HEAD, parse_sets, recipe_errors

from corruptset.generate.recipes.recipe import load_recipe
from corruptset.generate.recipes.region_table import RegionTable
from corruptset.generate.regions.block_draws import grids_of
from corruptset.manifests.regions.grids import regions_of

REGION_HEAD = HEAD.replace('[preprocessing]\nkind = "none"\n', "")
CLEAN = "\n[[sets]]\nclean = true\n"


def test_region_errors_are_named():
    for regions, line in (
        ("sides = [2, 12]\nout = 32", "regions, sides, item 1: Input should be greater than or equal to 3 (given: 2)"),
        ("sides = [12]\nout = 0", "regions, out: Input should be greater than or equal to 8 (given: 0)"),
        (
            "fractions = [0.2, 1.5]\nout = 32",
            "regions, fractions, item 2: Input should be less than or equal to 1 (given: 1.5)",
        ),
        ("fractions = [0.0]\nout = 32", "regions, fractions, item 1: Input should be greater than 0 (given: 0.0)"),
        ("sides = [12]\nout = 32\nblock = 2", "regions, block: Input should be greater than or equal to 3 (given: 2)"),
        (
            "sides = [12]\nout = 32\nblocks = 0",
            "regions, blocks: Input should be greater than or equal to 1 (given: 0)",
        ),
        (
            "sides = [12]\nout = 32\nmode = 'all'",
            "regions, mode: Input should be 'sampled' or 'exhaustive' (given: 'all')",
        ),
        ("out = 32", "regions: has neither fractions nor sides; expected exactly one of fractions and sides"),
        (
            "sides = [12]\nfractions = [0.2]\nout = 32",
            "regions: has fractions and sides; expected exactly one of fractions and sides",
        ),
        ("sides = [12]", "regions: out is missing: give the side of the resulting images in pixels"),
        ("sides = [12, 16, 12]\nout = 32", "regions: sides contains 12 twice"),
        ("sides = [12, 40]\nout = 32\nfit = 'pad'", "regions: sides: 40 do not fit on the canvas of 32 pixels"),
        (
            "sides = [12]\nout = 32\nmode = 'exhaustive'\nblocks = 3",
            'regions: blocks and block need mode = "sampled", because exhaustive uses every position',
        ),
        ("sides = [12]\nout = 32\ncanvas = 32", "regions: 'canvas' cannot be used with kind = \"crop\""),
        (
            "kind = 'embed'\nsides = [12]",
            "regions: canvas is missing: give the side of the resulting images in pixels",
        ),
        ("kind = 'embed'\nsides = [12]\ncanvas = 32\nout = 32", "regions: 'out' cannot be used with kind = \"embed\""),
        (
            "kind = 'embed'\nsides = [12, 33]\ncanvas = 32",
            "regions: sides: 33 do not fit on the canvas of 32 pixels",
        ),
    ):
        (result,) = recipe_errors(f"{REGION_HEAD}{CLEAN}[regions]\n{regions}\n")
        assert result.strip() == line
    several = "[regions]\nsides = [2]\nout = 0\nblock = 1\n[[sets]]\ncorruptions = ['fogg']\n"
    assert len(recipe_errors(f"{REGION_HEAD}{several}")) == 4
    assert recipe_errors(f"{REGION_HEAD}{CLEAN}[regions]\nsides = [12, 12]\ncanvas = 32\n")[0].count(";") == 2
    lines = recipe_errors(f"{HEAD}{CLEAN}[regions]\nsides = [12]\nout = 32\n")
    assert "has [regions] and [preprocessing]; leave [preprocessing] out" in lines[0]


def test_preprocessing_follows_from_regions():
    resized, padded, embedded = (
        parse_sets(CLEAN + f"[regions]\n{text}", REGION_HEAD).preprocessing.as_json()
        for text in (
            'sides = [12]\nout = 32\ninterpolation = "box"\nchannels = "keep"',
            'sides = [12]\nout = 32\nfit = "pad"',
            'kind = "embed"\nsides = [12]\ncanvas = 40',
        )
    )
    assert resized == {"kind": "resize", "channels": "keep", "side": 32, "interpolation": "box"}
    assert padded == {"kind": "pad", "channels": "rgb", "side": 32}
    assert embedded == {"kind": "pad", "channels": "rgb", "side": 40}


def test_images_without_such_regions_are_rejected():
    two, padded = RegionTable(sides=(12, 32), out=224), RegionTable(fractions=(0.8,), out=224, fit="pad")
    near = RegionTable(fractions=(0.2, 0.21, 0.8), out=224)
    for table, (width, height), problem in (
        (two, (34, 34), None),
        (two, (40, 33), "side 32 of s32 has 9x2 positions, fewer than a block of 3x3"),
        (two, (40, 31), "side 32 of s32 is larger than the image"),
        (two, (11, 40), "side 12 of s12 is larger than the image; side 32 of s32 is larger than the image"),
        (near, (32, 32), "p20 and p21 have the same side, 7"),
        (near, (500, 375), None),
        (near, (8, 40), "side 1 of p20 is below 3; side 1 of p21 is below 3; side 7 of p80 has 2x34 positions, fewer "
            "than a block of 3x3; p20 and p21 have the same side, 1"),
        (padded, (280, 280), "side 225 of p80 does not fit on a canvas of 224"),
        (padded, (270, 500), None),
    ):  # fmt: skip
        message = (
            f"is {width}x{height}, too small for the recipe's regions ({problem}): leave it out, or change the recipe"
        )
        assert table.problem(width, height) == (problem and message)
    assert RegionTable(sides=(12, 28), blocks=9, out=32).undrawn_groups(32, 32) == []
    assert [(g.name, n) for g, n in RegionTable(sides=(12, 28), blocks=10, out=32).undrawn_groups(32, 32)] == [
        ("s28", 9)
    ]


def test_region_sides_are_exact():
    """A fraction is used as it is written: half of 0.7 of 180 pixels is 63, but floats give 62.99."""
    assert [g.side for g in RegionTable(fractions=(0.7,), out=224).groups(200, 180)] == [127]
    table = RegionTable(fractions=(0.2, 0.4, 0.6, 0.8), out=224)
    for short in range(20, 700):
        sides = [g.side for g in table.groups(short + 5, short)]
        assert sides == [Fraction(tenths, 10) * short // 2 * 2 + 1 for tenths in (2, 4, 6, 8)]
    names = [g.name for g in RegionTable(fractions=(0.05, 0.125, 1.0), out=224).groups(500, 400)]
    assert names == ["p05", "p12.5", "p100"]


@pytest.mark.parametrize(
    ("name", "min_count", "max_count"),
    [
        ("fragile-cifar10-exhaustive", 2290, 2290),
        ("location-cifar10", 21**2 + 13**2, 21**2 + 13**2),
        ("fragile-cifar10", 1, 5 * 5 * 18),
        ("fragile-imagenet", 0.9 * 4 * 20 * 18, 4 * 20 * 18),
    ],
)
def test_shipped_region_recipes_have_documented_regions(name, min_count, max_count):
    plugin_info = load_recipe(name)
    assert plugin_info.regions is not None
    assert [spec.id for spec in plugin_info.resolve().sets] == ["clean"]
    size = (500, 375) if name == "fragile-imagenet" else (32, 32)
    counts = {len(regions_of(name, grids_of(plugin_info.regions, 0, f"test/{i:05d}", *size))) for i in range(20)}
    assert min_count <= min(counts)
    assert max(counts) <= max_count
