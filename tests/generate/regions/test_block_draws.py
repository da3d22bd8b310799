"""Blocks are drawn uniformly, without replacement, from the seed and the image's id alone."""

from __future__ import annotations

import numpy as np
from scipy import stats

from corruptset.corruptions.keys import sample_key, stage_key
from corruptset.generate.recipes.region_table import RegionTable
from corruptset.generate.regions.block_draws import _below, drawn_places, grids_of


def test_the_places_of_a_block_are_pinned() -> None:
    """These never change: the published sets of regions follow from them."""
    assert drawn_places(0, "ILSVRC2012_val_00000293", "crop", 75, (301, 426), 3, 4) == [
        (9, 234),
        (199, 61),
        (247, 49),
        (252, 54),
    ]


def plain_philox(counter: list[int], key: list[int]) -> list[int]:
    """Return a block of Philox4x32-10, in Python's integers."""
    (a, b, c, d), (low, high) = counter, key
    for _ in range(10):
        p, q = 0xD2511F53 * a, 0xCD9E8D57 * c
        a, b, c, d = q >> 32 ^ b ^ low, q & 0xFFFFFFFF, p >> 32 ^ d ^ high, p & 0xFFFFFFFF
        low, high = low + 0x9E3779B9 & 0xFFFFFFFF, high + 0xBB67AE85 & 0xFFFFFFFF
    return [a, b, c, d]


def test_a_plain_shuffle_draws_the_same() -> None:
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


def test_more_blocks_keep_the_first_ones_and_too_many_take_all() -> None:
    few, more = (set(drawn_places(0, "a", "crop", 12, (21, 21), 3, n)) for n in (10, 40))
    assert few < more
    everything = {(y, x) for y in range(19) for x in range(19)}
    for count in (361, 362, 10**6):
        assert set(drawn_places(0, "a", "crop", 12, (21, 21), 3, count)) == everything


def test_draws_are_uniform_over_the_places() -> None:
    counts = np.zeros((7, 5), int)
    for image in range(3000):
        for y, x in drawn_places(0, f"test/{image:05d}", "crop", 24, (9, 7), 3, 4):
            counts[y, x] += 1
    assert counts.sum() == 12_000
    # Four of thirty-five without replacement: the variance of a count is smaller than that of as many single draws.
    statistic = ((counts - 12_000 / 35) ** 2 / (12_000 / 35)).sum() / (1 - 3 / 34)
    assert 0.001 < stats.chi2.sf(statistic, 34) < 0.999


def test_draws_of_other_images_seeds_sides_and_kinds_are_independent() -> None:
    """The joint counts of two first draws, over images, are those of independent ones."""
    for other, seed, kind, side in ((1, 0, "crop", 24), (0, 1, "crop", 24), (0, 0, "crop", 22), (0, 0, "embed", 24)):
        table = np.zeros((12, 12), int)
        for i in range(4000):
            ((y, x),) = drawn_places(0, f"test/{i:05d}", "crop", 24, (6, 5), 3, 1)
            ((v, u),) = drawn_places(seed, f"test/{i + other:05d}", kind, side, (6, 5), 3, 1)
            table[3 * y + x, 3 * v + u] += 1
        assert 0.0005 < stats.chi2_contingency(table).pvalue < 0.9995, (other, seed, kind, side)


def test_words_beyond_the_last_multiple_are_passed_over() -> None:
    assert _below(3, iter([2**32 - 1, 5])) == 2
    assert _below(2**31 + 1, iter([2**31 + 1, 2**31])) == 2**31


def test_no_other_side_moves_a_block() -> None:
    both = grids_of(RegionTable(sides=(12, 20), out=32), 0, "a", 32, 32)
    one = grids_of(RegionTable(sides=(20,), out=64), 0, "a", 32, 32)
    assert [g for g in both if g.group == "s20"] == one
