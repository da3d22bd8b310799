"""Contrast: against the published definition in numpy, and the published figures."""

from __future__ import annotations

import numpy as np
import pytest

import corruptset
from corruptset.errors import ParameterError
from pictures import painted, photograph

FACTORS = {224: (0.4, 0.3, 0.2, 0.1, 0.05), 32: (0.75, 0.5, 0.4, 0.3, 0.15)}
CALIBRATION = {224: "imagenet", 32: "cifar"}


def published(image: np.ndarray, factor: float) -> np.ndarray:
    x = image / 255.0
    means = np.mean(x, axis=(0, 1), keepdims=True)
    return np.clip((x - means) * factor + means, 0, 1) * 255


@pytest.mark.parametrize("size", [224, 32])
def test_equals_the_published_definition(size):
    for name in ("astronaut", "coffee", "chelsea"):
        image = photograph(name, size)
        for severity, factor in enumerate(FACTORS[size], 1):
            got = corruptset.corrupt(image, "contrast", severity=severity, calibration=CALIBRATION[size])
            assert np.mean(got == np.uint8(published(image, factor))) > 0.999


@pytest.mark.parametrize("shape", [(8, 8, 3), (9, 31, 1), (224, 300, 3), (301, 223, 1)])
@pytest.mark.parametrize("factor", [0.0, 0.35, 1.0, 3.0])
def test_any_size_and_factor(shape, factor):
    image = painted(*shape)
    got = corruptset.corrupt(image, "contrast", factor=factor)
    np.testing.assert_array_equal(got, np.uint8(published(image, factor) + 1e-8))
    if factor == 1.0:
        np.testing.assert_array_equal(got, image)


def test_each_channel_has_its_own_mean():
    image = np.zeros((8, 8, 3), np.uint8)
    image[:4, :, 0], image[:, :, 1] = 200, 77
    got = corruptset.corrupt(image, "contrast", factor=0.0)
    assert got.reshape(-1, 3).min(0).tolist() == got.reshape(-1, 3).max(0).tolist() == [100, 77, 0]


def test_a_mean_is_floored_not_rounded():
    image = np.zeros((8, 8), np.uint8)
    image[:4], image[4:] = 10, 11
    assert (corruptset.corrupt(image, "contrast", factor=0.0) == 10).all()


def test_a_negative_factor_is_refused():
    with pytest.raises(ParameterError, match="factor"):
        corruptset.corrupt(np.zeros((8, 8), np.uint8), "contrast", factor=-0.1)
