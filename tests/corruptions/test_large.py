"""Every corruption on a picture of 4000x6000 pixels (``python -m pytest -m long tests/corruptions/test_large.py``)."""

from __future__ import annotations

import numpy as np
import pytest

import corruptset
from corruptset.corruptions.calibrations import shipped
from pictures import painted


@pytest.fixture(scope="module")
def large():
    return np.tile(painted(500, 750), (8, 8, 1))


@pytest.mark.long
@pytest.mark.parametrize("scale", ["none", "side"])
@pytest.mark.parametrize("name", shipped("imagenet").rows)
def test_24_megapixels(name, scale, large):
    out = corruptset.corrupt(large, name, severity=3, scale=scale)
    assert out.shape == large.shape
    assert out.dtype == np.uint8
    assert not np.array_equal(out, large)
    # nothing of the picture is left out: every eighth of it has changed
    for y in range(0, 4000, 500):
        for x in range(0, 6000, 750):
            assert not np.array_equal(out[y : y + 500, x : x + 750], large[y : y + 500, x : x + 750]), (y, x)
