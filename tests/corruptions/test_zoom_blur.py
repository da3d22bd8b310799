"""Zoom blur: against scipy's own zoom, along each axis by its own length, and the published figures."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.ndimage import zoom as scipy_zoom

import corruptset
from corruptset.corruptions.blur.zoom import zoom_factors, zoom_grid
from corruptset.errors import ParameterError
from pictures import painted, photograph

PUBLISHED = {
    224: ((1.11, 0.01), (1.16, 0.01), (1.21, 0.02), (1.26, 0.02), (1.31, 0.03)),
    32: ((1.06, 0.01), (1.11, 0.01), (1.16, 0.01), (1.21, 0.01), (1.26, 0.01)),
}


def middle(length: int, window: int) -> slice:
    first = (length - window) // 2
    return slice(first, first + window)


def slow(image: np.ndarray, stop: float, step: float) -> np.ndarray:
    """The definition: crop, scipy's zoom, trim; sums in float32."""
    unit = (image / 255.0).astype(np.float32)
    total = np.zeros_like(unit)
    factors = np.arange(1, stop, step)
    for factor in factors:
        crop = unit[tuple(middle(n, math.ceil(n / factor)) for n in image.shape[:2])]
        large = scipy_zoom(crop, (factor, factor, 1), order=1)
        total += large[tuple(middle(n, side) for n, side in zip(large.shape, image.shape[:2], strict=False))]
    return (np.clip((unit + total) / (len(factors) + 1), 0, 1) * 255).astype(np.uint8)


@pytest.mark.parametrize(("stop", "step"), [*PUBLISHED[224], *PUBLISHED[32], (1.0, 0.1), (2.0, 0.3), (3.0, 1.0)])
def test_factors_are_numpys(stop: float, step: float) -> None:
    assert zoom_factors(stop, step) == np.arange(1, stop, step).tolist()


def test_factors_overshoot_as_published() -> None:
    assert [(len(f), round(f[-1], 6)) for f in (zoom_factors(*p) for p in PUBLISHED[224])] == [
        (12, 1.11), (16, 1.15), (11, 1.2), (13, 1.24), (11, 1.3),
    ]  # fmt: skip
    assert [(len(f), round(f[-1], 6)) for f in (zoom_factors(*p) for p in PUBLISHED[32])] == [
        (7, 1.06), (12, 1.11), (16, 1.15), (21, 1.2), (26, 1.25),
    ]  # fmt: skip


@pytest.mark.parametrize(("stop", "step"), [(1.11, 0.01), (1.31, 0.03), (1.26, 0.01), (2.5, 0.25)])
@pytest.mark.parametrize("shape", [(8, 8, 1), (9, 31, 3), (31, 9, 1), (32, 32, 3), (64, 90, 3)])
def test_equals_scipy(shape: tuple[int, int, int], stop: float, step: float) -> None:
    batch = np.stack(
        [np.random.default_rng(6).integers(0, 256, shape, np.uint8), painted(*shape), np.full(shape, 255, np.uint8)]
    )
    before = batch.copy()
    got = corruptset.corrupt(batch, "zoom_blur", stop=stop, step=step)
    assert (batch == before).all()
    for image, out in zip(batch, got, strict=True):
        want = slow(image, stop, step)
        assert np.abs(out.astype(int) - want).max() <= 1
        assert (out != want).mean() <= max(0.001, 2 / want.size)
    assert (got[2] == slow(batch[2], stop, step)).all()


@pytest.mark.parametrize("severity", [1, 2, 3, 4, 5])
def test_photographs_equal_scipy(severity: int) -> None:
    for size, calibration in ((224, "imagenet"), (32, "cifar")):
        image = photograph("coffee", size)
        got = corruptset.corrupt(image, "zoom_blur", severity=severity, calibration=calibration)
        want = slow(image, *PUBLISHED[size][severity - 1])
        assert np.abs(got.astype(int) - want).max() <= 1
        assert (got == want).mean() > 0.999


# PSNR of astronaut and coffee after the released generators
@pytest.mark.parametrize(
    ("size", "severity", "want"),
    [
        (224, 1, (17.379, 19.788)),
        (224, 3, (15.647, 18.059)),
        (224, 5, (14.581, 16.919)),
        (32, 1, (20.107, 22.912)),
        (32, 5, (15.615, 18.108)),
    ],
)
def test_distortion_is_the_published_one(size: int, severity: int, want: tuple[float, float]) -> None:
    for name, psnr in zip(("astronaut", "coffee"), want, strict=True):
        image = photograph(name, size)
        out = corruptset.corrupt(
            image, "zoom_blur", severity=severity, calibration={224: "imagenet", 32: "cifar"}[size]
        )
        assert 10 * np.log10(255**2 / ((out.astype(float) - image) ** 2).mean()) == pytest.approx(psnr, abs=0.002)


@pytest.mark.parametrize("shape", [(32, 32, 3), (8, 31, 1), (48, 41, 3)])
def test_many_small_images_are_each_as_alone(shape: tuple[int, int, int]) -> None:
    """From 16 small images on another kernel takes them side by side; 35 are two such groups and an overlapping one."""
    noise = np.random.default_rng(3).integers(0, 256, (35, *shape), dtype=np.uint8)
    noise[1::2] = noise[1::2, :1, :1]  # flat ones decide ties of the floor
    for stop, step in ((1.26, 0.01), (1.31, 0.03), (1.0, 0.1)):
        many = corruptset.corrupt(noise, "zoom_blur", stop=stop, step=step)
        for image, got in zip(noise, many, strict=True):
            assert np.array_equal(got, corruptset.corrupt(image, "zoom_blur", stop=stop, step=step))


def test_the_grid_never_leaves_the_image() -> None:
    """scipy's grid runs past the last pixel by a rounding at 21 of these sizes, and leaves a black edge there."""
    for side in range(8, 330):
        for factor in (1.0, *zoom_factors(1.31, 0.03), 1.16, 1.22, 1.23, 3.0):
            index, part = zoom_grid(side, factor)
            assert index.min() >= 0
            assert index.max() <= side - 2
            assert part.min() >= 0
            assert part.max() <= 1


def test_no_black_edge_where_scipy_leaves_one() -> None:
    white = np.full((36, 36, 3), 255, np.uint8)
    assert slow(white, 1.22, 0.01).min() < 250
    assert corruptset.corrupt(white, "zoom_blur", stop=1.22, step=0.01).min() >= 254


@pytest.mark.parametrize(
    ("given", "message"),
    [({"stop": 0.9}, "stop"), ({"stop": 3.5}, "stop"), ({"step": 0.0}, "step"), ({"step": 0.001}, "step")],
)
def test_nonsense_is_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        corruptset.corrupt(painted(9, 9), "zoom_blur", severity=1, **given)
