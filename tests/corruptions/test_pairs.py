"""The vector filter against the same sums one by one: not a bit may differ."""

from __future__ import annotations

import numpy as np
import pytest

from corruptset.corruptions.pairs import LANES, aligned, filter_rows


@pytest.mark.parametrize("length", [8, 15, 16, 17, 37])
@pytest.mark.parametrize("taps", [0, 1, 2, 9])
def test_sums_are_the_scalar_ones_in_the_given_order(length, taps):
    rows, stride = 5, length + 2 * taps
    generator = np.random.default_rng(length * 16 + taps)
    source = generator.uniform(-1, 1, rows * stride + LANES)
    weights = generator.uniform(-1, 1, taps + 1)
    order = generator.permutation(taps) + 1
    out = np.full(3 + rows * length + LANES, np.nan)
    filter_rows(source, taps, stride, -order, order, weights, out, 3, length, rows, length)
    for y in range(rows):
        for x in range(length):
            at = taps + y * stride + x
            want = source[at] * weights[0]
            for k, distance in enumerate(order):
                want = want + (source[at - distance] + source[at + distance]) * weights[k + 1]
            assert out[3 + y * length + x] == want
    assert np.isnan(out[:3]).all()


def test_rooms_start_where_registers_fill_fast():
    for count, length in ((1, 7), (3, 1001)):
        room = aligned(count, length)
        assert room.shape == (count, length)
        assert room.flags.c_contiguous
        assert room.ctypes.data % 32 == 0
        assert not room.any()
