"""Vectors that are written out: the values of the plain loops, bit for bit, and no more of them than is said."""

from __future__ import annotations

import numpy as np
import pytest

from corruptset.corruptions.kernels import kernel
from corruptset.corruptions.lanes import PIXEL, RUN, mix, stretch


@kernel
def stretched(source, at, step, share, out, to):
    stretch(source, np.uint64(at), np.uint64(step), share, out, np.uint64(to))


@kernel
def mixed(flat, places, weights, out, to):
    a, b, c, d = np.uint64(places[0]), np.uint64(places[1]), np.uint64(places[2]), np.uint64(places[3])
    mix(flat, a, b, c, d, weights[0], weights[1], weights[2], weights[3], out, np.uint64(to))


@pytest.mark.parametrize("at", range(4))
@pytest.mark.parametrize("to", range(4))
def test_a_run_is_stretched_like_its_values_one_by_one(at, to):
    generator = np.random.default_rng(at * 4 + to)
    source, share = generator.random(20, np.float32), generator.random(20, np.float32)
    out = np.full(20, -1, np.float32)
    stretched(source, at, 3, share, out, to)
    left, right = source[at : at + RUN], source[at + 3 : at + 3 + RUN]
    np.testing.assert_array_equal(out[to : to + RUN], left + share[to : to + RUN] * (right - left))
    assert (out[:to] == -1).all()
    assert (out[to + RUN :] == -1).all()


@pytest.mark.parametrize(("own", "work", "written"), [("uint8", "f8", "f8"), ("f4", "f4", "f4"), ("f4", "f8", "f4")])
@pytest.mark.parametrize("to", range(4))
def test_pixels_are_mixed_like_their_values_one_by_one_in_the_type_of_the_weights(own, work, written, to):
    generator = np.random.default_rng(to)
    flat = (generator.random(40) * 255).astype(own)
    weights, places = generator.random(4).astype(work), np.array([0, 7, 13, 36 - to])
    out = np.full(12, -1, written)
    mixed(flat, places, weights, out, to)
    a, b, c, d = (flat[p : p + PIXEL].astype(work) for p in places)
    u, v, w, z = weights
    np.testing.assert_array_equal(out[to : to + PIXEL], (((a * u + b * v) + c * w) + d * z).astype(written))
    assert (out[:to] == -1).all()
    assert (out[to + PIXEL :] == -1).all()
