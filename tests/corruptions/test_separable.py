"""The filter that gaussian blurs, spatter, canny edges and elastic fields share: not a bit may differ from the sums one
by one.
"""

from __future__ import annotations

import numpy as np
import pytest

from corruptset.corruptions.kernels import kernel
from corruptset.corruptions.separable import half_gaussian, weigh


@kernel
def weighed(source, start, step, weights, inwards, out):
    weigh(source, start, step, weights, inwards, out)


@pytest.mark.parametrize("length", [1, 8, 17, 1024, 2100])
@pytest.mark.parametrize("radius", [0, 1, 2, 9])
@pytest.mark.parametrize("step", [1, 3, 40])
@pytest.mark.parametrize("inwards", [True, False])
def test_sums_are_the_scalar_ones_in_the_given_order(length, radius, step, inwards):
    generator = np.random.default_rng(length * 16 + radius)
    source = generator.uniform(-1, 1, length + 2 * radius * step)
    weights = generator.uniform(-1, 1, radius + 1)
    out = np.full(length, np.nan)
    weighed(source, radius * step, step, weights, inwards, out)
    middle = np.arange(length) + radius * step
    want = source[middle] * weights[0]
    for k in range(radius, 0, -1) if inwards else range(1, radius + 1):
        want = want + (source[middle - k * step] + source[middle + k * step]) * weights[k]
    np.testing.assert_array_equal(out, want)


def test_half_of_a_gaussian():
    assert half_gaussian(0.0).tolist() == [1.0]
    weights = half_gaussian(1.5)
    assert len(weights) == 7
    assert weights[0] + 2 * weights[1:].sum() == pytest.approx(1.0)
    assert len(half_gaussian(1.5, 3.0)) == 6
