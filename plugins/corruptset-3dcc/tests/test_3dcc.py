"""Tests of the corruptions of ImageNet-3DCC against slow implementations of their formulas."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image, ImageOps
from scipy.stats import poisson

import corruptset
from example_images import photograph

SIGMAS, BRIGHTNESSES = (0.08, 0.12, 0.18, 0.26, 0.38), (0.6, 0.5, 0.4, 0.3, 0.2)


def formula(light, photons, sigma, chances, normals):
    expected_signal = np.clip(poisson.ppf(chances, light * photons).clip(0) / photons, 0, 1)
    return np.clip(expected_signal + sigma * normals, 0, 1) * 255


@pytest.mark.parametrize("name", ["iso_noise", "low_light"])
@pytest.mark.parametrize("severity", [1, 3, 5])
def test_corruptions_match_formula_for_fixed_draws(name, severity):
    image = photograph("astronaut", 64)
    random = np.random.default_rng(severity)
    draws = {"chances": random.random(image.shape), "normals": random.normal(size=image.shape)}
    out = corruptset.corrupt(image, name, severity=severity, calibration="imagenet", **draws)
    value = image / 255
    if name == "iso_noise":
        expected = formula(value, 25, 0.7 * SIGMAS[severity - 1], **draws)
    else:
        stretched = (value - value.min()) / (value.max() - value.min())
        expected = formula(stretched**2 * BRIGHTNESSES[severity - 1], 120, 0.1 * SIGMAS[2], **draws)
    difference = np.abs(out.astype(int) - expected.astype(np.uint8))
    assert difference.max() <= 1
    assert np.mean(difference == 0) > 0.999


@pytest.mark.parametrize("severity", range(1, 6))
def test_color_quant_matches_pillow(severity):
    image = photograph("astronaut", 64)
    expected = np.asarray(ImageOps.posterize(Image.fromarray(image), 6 - severity))
    assert np.array_equal(corruptset.corrupt(image, "color_quant", severity=severity, calibration="imagenet"), expected)


def test_draws_depend_on_key_and_have_expected_moments():
    flat = np.full((128, 128, 3), 102, np.uint8)
    one, repeated, other = (corruptset.corrupt(flat, "iso_noise", sigma=0.056, key=key) / 255 for key in "aab")
    assert np.array_equal(one, repeated)
    assert not np.array_equal(one, other)
    assert abs(one.mean() - 0.4 + 0.5 / 255) < 0.002  # rounded down
    assert abs(one.var() - (0.4 / 25 + 0.056**2)) < 0.001
    assert corruptset.corrupt(flat, "low_light", brightness=0.5).mean() < 3, "an image of equal values becomes black"
    for name, parameters in (
        ("iso_noise", {"sigma": 0.1}),
        ("low_light", {"brightness": 0.3}),
        ("color_quant", {"bits": 2}),
    ):
        batch = np.stack([photograph("astronaut", 40), photograph("coffee", 40)])[..., :1]
        out = corruptset.corrupt(batch, name, key=["a", "b"], **parameters)
        assert np.array_equal(out[1], corruptset.corrupt(batch[1], name, key="b", **parameters))
