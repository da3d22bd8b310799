"""The regions of grids are distinct and sorted, and have the preferred description."""

from reference_regions import all_regions, block_regions, place_of

from corruptset.generate.recipes.region_table import RegionTable
from corruptset.generate.regions.block_draws import drawn_places, grids_of
from corruptset.manifests.regions.grids import Grid, regions_of


def describe_regions(*grids):
    """Return the regions of grids."""
    result = regions_of("a", grids)
    return [result.record(i) for i in range(len(result))]


def test_exhaustive_grid_has_every_position_once_in_order():
    """The positions of regions, which test_crops also checks."""
    result = describe_regions(*grids_of(RegionTable(sides=(12, 14, 32), mode="exhaustive", out=32), 0, "a", 32, 32))
    assert [place_of(r) for r in result] == all_regions((12, 14, 32), 32, 32)
    base = [r for r in result if r.role == "base"]
    assert len(base) == 21 * 21 + 19 * 19 + 1
    assert all((r.row, r.col) == (r.y, r.x) for r in base)
    assert [r.anchor for r in result] == [r.role == "base" for r in result]


def test_sampled_grid_has_blocks_and_shrinks_of_their_anchors():
    for block, (width, height) in ((3, (500, 375)), (5, (47, 61))):
        table = RegionTable(fractions=(0.2, 0.4, 0.6, 0.8), blocks=10, block=block, out=224)
        expected = set()
        for _, _, side in table.groups(width, height):
            corners = drawn_places(0, "a", "crop", side, (height - side + 1, width - side + 1), block, 10)
            assert len(set(corners)) == 10
            expected |= block_regions(side, block, corners)
        result = describe_regions(*grids_of(table, 0, "a", width, height))
        assert [place_of(r) for r in result] == sorted(expected)
        # the inner regions of a block
        anchors, places = [r for r in result if r.anchor], set(map(place_of, result))
        assert len(anchors) >= 4 * (block - 2) ** 2
        for r in anchors:
            assert {(r.side, r.y + dy, r.x + dx) for dy in (-1, 0, 1) for dx in (-1, 0, 1)} <= places
            assert {(r.side - 2, r.y + dy, r.x + dx) for dy in range(3) for dx in range(3)} <= places


def test_shrunk_region_names_first_anchor_that_contains_it():
    records = describe_regions(Grid("s9", None, 9, "base", 4, 6, 5, 5, 1), Grid("s9", None, 7, "shrink", 5, 7, 5, 5, 1))
    anchors = {(r.row, r.col): r for r in records if r.anchor}
    assert set(anchors) == {(row, col) for row in (1, 2, 3) for col in (1, 2, 3)}
    shrunk = [r for r in records if r.role == "shrink"]
    assert len(shrunk) == 25
    for r in shrunk:
        holding = [at for at, a in anchors.items() if 0 <= r.y - a.y <= 2 and 0 <= r.x - a.x <= 2]
        assert (r.row, r.col) == min(holding)


def test_description_uses_most_specific_role():
    """An anchor is preferred to a base region, and a base region to a shrink region. The first of equals is used."""
    shrink = Grid("s9", None, 7, "shrink", 5, 5, 3, 3, 1)
    outer = Grid("s7", None, 7, "base", 5, 5, 3, 3, 1)
    anchored = Grid("q7", None, 7, "base", 4, 4, 3, 3, 1)
    by_place = {place_of(r): r for r in describe_regions(shrink, outer, anchored)}
    assert (by_place[7, 5, 5].group, by_place[7, 5, 5].anchor) == ("q7", True)
    assert (by_place[7, 5, 6].group, by_place[7, 5, 6].role) == ("s7", "base")
    assert ({r.role for r in by_place.values()}, len(by_place)) == ({"base"}, 9 + 9 - 4)
