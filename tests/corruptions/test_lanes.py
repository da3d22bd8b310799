"""Vector operations on a pixel's channels: bit for bit the scalar ones."""

from __future__ import annotations

import numpy as np
import pytest

from corruptset.corruptions.kernels import kernel
from corruptset.corruptions.lanes import blend, blend_bytes


@kernel
def blended(pixels, at, weights, out):
    blend(pixels, at[0], at[1], at[2], at[3], weights[0], weights[1], weights[2], weights[3], out, at[4])


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_equals_four_scalar_sums_from_left_to_right(kind):
    rng = np.random.default_rng(7)
    for _ in range(200):
        pixels = rng.random(40).astype(np.float32)
        weights = rng.random(4).astype(kind)
        at = rng.integers(0, 36, 5).astype(np.uint64)
        out = np.zeros(40, np.float32)
        blended(pixels, at, weights, out)
        want = np.zeros(40, np.float32)
        for k in range(4):
            a, b, c, d = (kind(pixels[int(i) + k]) for i in at[:4])
            want[int(at[4]) + k] = ((a * weights[0] + b * weights[1]) + c * weights[2]) + d * weights[3]
        np.testing.assert_array_equal(out, want)


@kernel
def blended_bytes(pixels, at, weights, out):
    blend_bytes(pixels, at[0], at[1], at[2], at[3], weights[0], weights[1], weights[2], weights[3], out, at[4])


def test_bytes_are_mixed_in_doubles_and_rounded_halves_to_even():
    rng = np.random.default_rng(8)
    for turn in range(400):
        pixels = rng.integers(0, 256, 40).astype(np.uint8)
        # In every other turn the parts are quarters, so that halves occur.
        u, v = rng.integers(0, 5, 2) / 4 if turn % 2 else rng.random(2)
        weights = np.array([(1 - u) * (1 - v), u * (1 - v), (1 - u) * v, u * v])
        at = rng.integers(0, 36, 5).astype(np.uint64)
        out = np.zeros(40, np.uint8)
        blended_bytes(pixels, at, weights, out)
        want = np.zeros(40, np.uint8)
        for k in range(4):
            a, b, c, d = (float(pixels[int(i) + k]) for i in at[:4])
            want[int(at[4]) + k] = np.rint(((a * weights[0] + b * weights[1]) + c * weights[2]) + d * weights[3])
        np.testing.assert_array_equal(out, want)
