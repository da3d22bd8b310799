"""Vector operations on a pixel's channels: bit for bit the scalar ones."""

from __future__ import annotations

import numpy as np
import pytest

from corruptset.corruptions.kernels import kernel
from corruptset.corruptions.lanes import SIDE_BY_SIDE, add_between, blend, blend_bytes, put_between, turn_bytes


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


@kernel
def added(values, a, b, part, total, at):
    add_between(values, a, b, part, total, at)


def test_what_lies_between_is_added_in_single_precision():
    rng = np.random.default_rng(9)
    values, total = rng.random(64).astype(np.float32), rng.random(64).astype(np.float32)
    a, b, at = 3, 40, 21
    part = np.float32(0.3)
    want = total.copy()
    for k in range(SIDE_BY_SIDE):
        want[at + k] = want[at + k] + (values[a + k] + part * (values[b + k] - values[a + k]))
    added(values, np.uint64(a), np.uint64(b), part, total, np.uint64(at))
    np.testing.assert_array_equal(total, want)


@kernel
def put(values, a, b, parts, out, at):
    put_between(values, a, b, parts, out, at)


def test_what_lies_between_is_written_with_a_part_for_each():
    rng = np.random.default_rng(11)
    values, parts, out = (rng.random(64).astype(np.float32) for _ in range(3))
    a, b, at = 3, 40, 21
    want = out.copy()
    for k in range(SIDE_BY_SIDE):
        want[at + k] = values[a + k] + parts[at + k] * (values[b + k] - values[a + k])
    put(values, np.uint64(a), np.uint64(b), parts, out, np.uint64(at))
    np.testing.assert_array_equal(out, want)


@kernel
def turned(source, at, stride, out, to, out_stride):
    turn_bytes(source, at, stride, out, to, out_stride)


def test_bytes_are_transposed():
    source = np.random.default_rng(10).integers(0, 256, 3 + 16 * 29).astype(np.uint8)
    out = np.zeros(5 + 16 * 19, np.uint8)
    turned(source, 3, 29, out, 5, 19)
    want = np.zeros_like(out)
    want[5:].reshape(16, 19)[:, :16] = source[3:].reshape(16, 29)[:, :16].T
    np.testing.assert_array_equal(out, want)
