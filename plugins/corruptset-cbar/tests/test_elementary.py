"""Sine, arctangent and powers against numpy's; the Fourier transform against numpy's."""

from __future__ import annotations

import numba
import numpy as np
import pytest
from corruptset_cbar import elementary
from corruptset_cbar.fourier import smooth_side, steps, transform


def over(function, *columns):
    """Call an inlined function, which only compiled code can, for each element."""

    @numba.njit
    def of_one(a, out):
        for i in range(a.size):
            out[i] = function(a[i])

    @numba.njit
    def of_two(a, b, out):
        for i in range(a.size):
            out[i] = function(a[i], b[i])

    arrays = [np.ascontiguousarray(a, np.float64) for a in np.broadcast_arrays(*map(np.atleast_1d, columns))]
    out = np.empty_like(arrays[0])
    (of_two if len(arrays) > 1 else of_one)(*arrays, out)
    return out


def test_functions_are_good_to_their_promise():
    turns = np.linspace(-40, 40, 20001)
    np.testing.assert_allclose(over(elementary.sine, turns), np.sin(2 * np.pi * turns), atol=1e-12)
    np.testing.assert_allclose(over(elementary.cosine, turns), np.cos(2 * np.pi * turns), atol=1e-12)
    x, y = np.cos(2 * np.pi * turns) * 7, np.sin(2 * np.pi * turns) * 7
    np.testing.assert_allclose(over(elementary.arctangent, y, x), np.arctan2(y, x) / (2 * np.pi), atol=1e-11)
    assert over(elementary.arctangent, 0.0, 0.0) == 0.0
    base = np.geomspace(1e-12, 1e12, 5001)
    for exponent in (0.13, 1.4, -0.5, 3.0):
        np.testing.assert_allclose(over(elementary.power, base, exponent), base**exponent, rtol=3e-12)


@pytest.mark.parametrize("side", [8, 14, 30, 32, 224])
def test_the_transform_is_numpys(side):
    random = np.random.default_rng(side)
    field = random.normal(size=(side, 2, side)).astype(np.float32)
    want = np.fft.ifft2(field[:, 0] + 1j * field[:, 1]).T * side * side
    got = transform(field, np.empty_like(field), steps(side))
    np.testing.assert_allclose(got[:, 0] + 1j * got[:, 1], want, atol=2e-6 * np.abs(want).max())
    assert smooth_side(side) == side
