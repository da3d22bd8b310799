"""Gaussian blur: against scipy, value for value, since a last bit of a flat area becomes a whole level."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter as scipy_filter

import corruptset
from corruptset.corruptions.arithmetic import gaussian_weights, pairwise_sum
from corruptset.corruptions.separable import gaussian_filter
from corruptset.errors import ParameterError
from pictures import painted, photograph


def published(image: np.ndarray, sigma: float) -> np.ndarray:
    blurred = scipy_filter(image / 255.0, (sigma, sigma, 0), mode="nearest", truncate=4.0)
    return (np.clip(blurred, 0, 1) * 255).astype(np.uint8)


@pytest.mark.parametrize("sigma", [0.05, 0.25, 0.4, 0.7, 1.0, 1.1, 2.5, 3.0, 6.0, 33.3])
@pytest.mark.parametrize("shape", [(8, 8, 1), (9, 31, 3), (31, 9, 1), (50, 64, 3)])
def test_equals_scipy(shape: tuple[int, int, int], sigma: float) -> None:
    noise = np.random.default_rng(3).integers(0, 256, shape, np.uint8)
    blocks = np.ascontiguousarray(noise[::4, ::4].repeat(4, 0).repeat(4, 1)[: shape[0], : shape[1]])
    images = np.stack(
        [noise, blocks, *(np.full(shape, v, np.uint8) for v in (255, 254, 128, 57, 1, 0)), painted(*shape)]
    )
    before = images.copy()
    got = gaussian_filter(images, sigma)
    assert (images == before).all()
    for image, out in zip(images, got, strict=True):
        assert (out == published(image, sigma)).all()


@pytest.mark.parametrize("name", ["astronaut", "coffee"])
def test_photographs_equal_scipy(name: str) -> None:
    image = photograph(name)
    for severity, sigma in enumerate((1, 2, 3, 4, 6), 1):
        assert (corruptset.corrupt(image, "gaussian_blur", severity=severity) == published(image, sigma)).all()


# PSNR of astronaut and coffee after the released generators
@pytest.mark.parametrize(
    ("size", "severity", "want"),
    [
        (224, 1, (28.471, 30.849)),
        (224, 3, (20.532, 23.598)),
        (224, 5, (17.129, 19.997)),
        (32, 1, (36.441, 38.804)),
        (32, 5, (19.594, 22.48)),
    ],
)
def test_distortion_is_the_published_one(size: int, severity: int, want: tuple[float, float]) -> None:
    for name, psnr in zip(("astronaut", "coffee"), want, strict=True):
        image = photograph(name, size)
        out = corruptset.corrupt(
            image, "gaussian_blur", severity=severity, calibration={224: "imagenet", 32: "cifar"}[size]
        )
        assert 10 * np.log10(255**2 / ((out.astype(float) - image) ** 2).mean()) == pytest.approx(psnr, abs=0.001)


@pytest.mark.parametrize("count", [1, 7, 8, 9, 25, 127, 128, 129, 300, 1001])
def test_sums_are_numpys(count: int) -> None:
    values = np.random.default_rng(count).normal(size=count)
    assert pairwise_sum(values.tolist()) == values.sum()


def test_weights_are_scipys_to_the_last_bit_of_exp() -> None:
    x = np.arange(-24, 25)
    phi = np.exp(-0.5 / 36.0 * x**2)
    assert np.abs(gaussian_weights(6.0, 24) / (phi / phi.sum()) - 1).max() < 1e-15


def test_a_wide_filter_on_a_large_image_is_not_absurdly_slow() -> None:
    image = painted(700, 1000)
    gaussian_filter(image[None, :16, :16].copy(), 2.0)
    start = time.process_time()
    gaussian_filter(image[None], 60.0)
    assert time.process_time() - start < 5  # 0.3 s when alone


@pytest.mark.parametrize("given", [{"sigma": 0.0}, {"sigma": -1.0}, {"sigma": 1e9}, {"sigma": float("inf")}])
def test_nonsense_is_refused(given: dict[str, Any]) -> None:
    with pytest.raises(ParameterError, match="sigma"):
        corruptset.corrupt(painted(9, 9), "gaussian_blur", **given)
