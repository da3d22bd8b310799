"""Regions of grids: each once, sorted, described by what says most of it."""

from __future__ import annotations

from slow_regions import all_places, block_places, place_of

from corruptset.generate.recipes.region_table import RegionTable
from corruptset.generate.regions.block_draws import drawn_places, grids_of
from corruptset.manifests.records.models import RegionRecord
from corruptset.manifests.regions.grids import Grid, regions_of


def described(*grids: Grid) -> list[RegionRecord]:
    """Return what grids hold."""
    found = regions_of("a", grids)
    return [found.record(i) for i in range(len(found))]


def test_exhaustive_is_every_position_once_in_order() -> None:
    for sides in ((12, 16, 20, 24, 28), (12, 14, 32), (3,)):
        found = described(*grids_of(RegionTable(sides=sides, mode="exhaustive", out=32), 0, "a", 32, 32))
        assert [place_of(r) for r in found] == all_places(sides, 32, 32)
        base = {place_of(r) for r in found if r.role == "base"}
        assert base == {(s, y, x) for s in sides for y in range(33 - s) for x in range(33 - s)}
        assert all(r.anchor == (r.role == "base") for r in found)
        assert all((r.row, r.col) == (r.y, r.x) for r in found if r.role == "base")
    # every position of four sides in a photograph, and every shrunk region: the paper's count
    table = RegionTable(fractions=(0.2, 0.4, 0.6, 0.8), mode="exhaustive", out=224)
    for width, height in ((500, 375), (375, 500)):
        assert len(regions_of("a", grids_of(table, 0, "a", width, height))) == 531_328


def test_sampled_is_the_blocks_and_the_shrinks_of_their_anchors() -> None:
    for block, (width, height) in ((3, (500, 375)), (4, (375, 500)), (5, (61, 47))):
        table = RegionTable(fractions=(0.2, 0.4, 0.6, 0.8), blocks=20, block=block, out=224)
        expected = set()
        for _, _, side in table.groups(width, height):
            corners = drawn_places(0, "a", "crop", side, (height - side + 1, width - side + 1), block, 20)
            assert len(set(corners)) == 20
            expected |= block_places(side, block, corners)
        assert [place_of(r) for r in described(*grids_of(table, 0, "a", width, height))] == sorted(expected)


def test_anchors_have_their_neighbours_and_shrinks() -> None:
    for table in (
        RegionTable(sides=(12, 14), blocks=30, block=4, out=32),
        RegionTable(sides=(12, 30), mode="exhaustive", out=32),
    ):
        found = described(*grids_of(table, 0, "a", 32, 32))
        places = {place_of(r) for r in found}
        anchors = [r for r in found if r.anchor]
        assert len(anchors) > 20
        for r in anchors:
            around = {(r.side, r.y + dy, r.x + dx) for dy in (-1, 0, 1) for dx in (-1, 0, 1)}
            inside = {(s, y, x) for s, y, x in around if 0 <= y <= 32 - s and 0 <= x <= 32 - s}
            assert inside <= places
            assert inside == around or table.mode == "exhaustive"
            assert {(r.side - 2, r.y + dy, r.x + dx) for dy in range(3) for dx in range(3)} <= places


def test_a_shrunk_region_names_the_first_anchor_that_it_lies_in() -> None:
    records = described(Grid("s9", None, 9, "base", 4, 6, 5, 5, 1), Grid("s9", None, 7, "shrink", 5, 7, 5, 5, 1))
    anchors = {(r.row, r.col): r for r in records if r.anchor}
    assert set(anchors) == {(row, col) for row in (1, 2, 3) for col in (1, 2, 3)}
    shrunk = [r for r in records if r.role == "shrink"]
    assert len(shrunk) == 25
    for r in shrunk:
        holding = [at for at, a in anchors.items() if 0 <= r.y - a.y <= 2 and 0 <= r.x - a.x <= 2]
        assert (r.row, r.col) == min(holding)


def test_what_says_most_of_a_region_describes_it() -> None:
    """An anchor before a base region before a shrunk one; of equals the first."""
    shrink = Grid("s9", None, 7, "shrink", 5, 5, 3, 3, 1)
    outer = Grid("s7", None, 7, "base", 5, 5, 3, 3, 1)
    anchored = Grid("q7", None, 7, "base", 4, 4, 3, 3, 1)
    by_place = {place_of(r): r for r in described(shrink, outer, anchored)}
    assert (by_place[7, 5, 5].group, by_place[7, 5, 5].anchor) == ("q7", True)
    assert (by_place[7, 5, 6].group, by_place[7, 5, 6].role) == ("s7", "base")
    assert {r.role for r in by_place.values()} == {"base"}
    assert len(by_place) == 9 + 9 - 4
