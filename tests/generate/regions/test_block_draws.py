"""Test that blocks are drawn uniformly and without replacement, from the seed and the id of the image alone."""

from __future__ import annotations

from corruptset.corruptions.keys import sample_key, stage_key
from corruptset.generate.recipes.region_table import RegionTable
from corruptset.generate.regions.block_draws import _draw_below, drawn_places, grids_of


def plain_philox(counter, key):
    """Return a block of Philox4x32-10, computed with Python integers."""
    (a, b, c, d), (low, high) = counter, key
    for _ in range(10):
        p, q = 0xD2511F53 * a, 0xCD9E8D57 * c
        a, b, c, d = q >> 32 ^ b ^ low, q & 0xFFFFFFFF, p >> 32 ^ d ^ high, p & 0xFFFFFFFF
        low, high = low + 0x9E3779B9 & 0xFFFFFFFF, high + 0xBB67AE85 & 0xFFFFFFFF
    return [a, b, c, d]


def test_blocks_match_plain_shuffle():
    stage = int(stage_key(5, [("regions@1", {"kind": "crop", "side": 20, "block": 3})]))
    sample = int(sample_key("test/00012"))
    words = []
    for block in range(40):
        words += plain_philox([block, 0, sample & 0xFFFFFFFF, sample >> 32], [stage & 0xFFFFFFFF, stage >> 32])
    for blocks in (1, 7, 60):
        places = [(y, x) for y in range(11) for x in range(9)]
        remaining = iter(words)
        for k in range(blocks):
            count = len(places) - k
            word = next(w for w in remaining if w < 2**32 // count * count)
            places[k], places[k + word % count] = places[k + word % count], places[k]
        assert drawn_places(5, "test/00012", "crop", 20, (13, 11), 3, blocks) == sorted(places[:blocks])
    # these never change: the published sets of regions follow from them
    pinned = drawn_places(0, "ILSVRC2012_val_00000293", "crop", 75, (301, 426), 3, 4)
    assert pinned == [(9, 234), (199, 61), (247, 49), (252, 54)]
    # words beyond the last multiple are passed over
    assert _draw_below(3, iter([2**32 - 1, 5])) == 2
    assert _draw_below(2**31 + 1, iter([2**31 + 1, 2**31])) == 2**31


def test_more_blocks_extend_selection_and_excessive_number_selects_all():
    few, more, everything = (set(drawn_places(0, "a", "crop", 12, (21, 21), 3, n)) for n in (10, 40, 362))
    assert few < more < everything == {(y, x) for y in range(19) for x in range(19)}


def test_blocks_are_independent_of_other_sides():
    both = grids_of(RegionTable(sides=(12, 20), out=32), 0, "a", 32, 32)
    one = grids_of(RegionTable(sides=(20,), out=64), 0, "a", 32, 32)
    assert [g for g in both if g.group == "s20"] == one
