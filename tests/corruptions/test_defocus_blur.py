"""Defocus blur: its kernel against OpenCV's, the decomposition against plain taps, and the published figures."""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np
import pytest

import corruptset
from corruptset.corruptions.blur.disk import disk_kernel
from corruptset.errors import ParameterError
from pictures import painted, photograph

PUBLISHED = {
    224: ((3, 0.1), (4, 0.5), (6, 0.5), (8, 0.5), (10, 0.5)),
    32: ((0.3, 0.4), (0.4, 0.5), (0.5, 0.6), (1, 0.2), (1.5, 0.1)),
}


def opencv_kernel(radius: float, alias_sigma: float) -> np.ndarray:
    half, taps = (8, 3) if radius <= 8 else (int(radius), 5)
    axis = np.arange(-half, half + 1)
    disk = (axis[:, None] ** 2 + axis**2 <= radius**2).astype(np.float32)
    return cv2.GaussianBlur(disk / disk.sum(), (taps, taps), sigmaX=alias_sigma)


def slow(image: np.ndarray, kernel: np.ndarray) -> np.ndarray:
    """Plain taps in doubles over the mirrored image, floored."""
    half = len(kernel) // 2
    padded = np.pad(image.astype(float), ((half, half), (half, half), (0, 0)), mode="reflect")
    total = np.zeros(image.shape)
    for i, row in enumerate(kernel.astype(float)):
        for j, weight in enumerate(row):
            total += weight * padded[i : i + image.shape[0], j : j + image.shape[1]]
    return np.minimum(total + 1e-9, 255).astype(np.uint8)


@pytest.mark.parametrize(("radius", "alias_sigma"), [*PUBLISHED[224], *PUBLISHED[32], (12, 0.5), (5.5, 0.3)])
def test_the_kernel_is_opencvs(radius: float, alias_sigma: float) -> None:
    want = opencv_kernel(radius, alias_sigma)
    got = disk_kernel(float(radius), alias_sigma)
    assert got.shape == want.shape
    assert np.abs(got - want).max() <= 2e-7 * want.max()
    # which side of 1 the sum is on decides whether flat areas keep their value
    assert np.sign(got.astype(float).sum() - 1) == np.sign(want.astype(float).sum() - 1)


def test_kernels_that_touch_their_window_brighten() -> None:
    assert [round(float(disk_kernel(r, 0.5).astype(float).sum()), 4) for r in (6.0, 8.0, 10.0)] == [1.0, 1.013, 1.0108]
    flat = np.full((40, 40, 3), 200, np.uint8)
    assert corruptset.corrupt(flat, "defocus_blur", severity=4, calibration="imagenet").min() == 202
    assert corruptset.corrupt(flat, "defocus_blur", severity=5, calibration="imagenet").max() == 202
    assert corruptset.corrupt(flat + 55, "defocus_blur", severity=5, calibration="imagenet").min() == 255


@pytest.mark.parametrize(
    ("radius", "alias_sigma"), [*PUBLISHED[224], *PUBLISHED[32], (7.3, 0.5), (11, 1.0), (20, 0.5), (0, 0.5)]
)
@pytest.mark.parametrize("shape", [(8, 8, 1), (9, 31, 3), (31, 9, 1), (36, 50, 3)])
def test_equals_plain_taps(shape: tuple[int, int, int], radius: float, alias_sigma: float) -> None:
    noise = np.random.default_rng(4).integers(0, 256, shape, np.uint8)
    batch = np.stack(
        [noise, noise // 128 * 255, painted(*shape), np.full(shape, 255, np.uint8), np.full(shape, 100, np.uint8)]
    )
    before = batch.copy()
    got = corruptset.corrupt(batch, "defocus_blur", radius=float(radius), alias_sigma=alias_sigma)
    assert (batch == before).all()
    kernel = disk_kernel(float(radius), alias_sigma)
    for image, out in zip(batch, got, strict=True):
        assert (out == slow(image, kernel)).all()


def test_a_broken_radius_is_close_to_plain_taps() -> None:
    image = painted(40, 50)
    got = corruptset.corrupt(image, "defocus_blur", radius=8.7, alias_sigma=0.6).astype(int)
    assert np.abs(got - slow(image, disk_kernel(8.7, 0.6))).max() <= 1


@pytest.mark.parametrize("severity", [1, 2, 3, 4, 5])
def test_photographs_equal_opencvs_filter(severity: int) -> None:
    image = photograph("chelsea")
    kernel = opencv_kernel(*PUBLISHED[224][severity - 1])
    planes = [cv2.filter2D(np.ascontiguousarray(image[..., c]) / 255.0, -1, kernel) for c in range(3)]
    want = (np.clip(np.stack(planes, axis=-1), 0, 1) * 255).astype(np.uint8)
    got = corruptset.corrupt(image, "defocus_blur", severity=severity)
    assert np.abs(got.astype(int) - want).max() <= 1
    assert (got == want).mean() > 0.999


# PSNR of astronaut and coffee after the released generators
@pytest.mark.parametrize(
    ("size", "severity", "want"),
    [
        (224, 1, (23.892, 26.624)),
        (224, 4, (18.216, 21.231)),
        (224, 5, (17.117, 19.996)),
        (32, 1, (36.046, 38.475)),
        (32, 5, (19.45, 22.435)),
    ],
)
def test_distortion_is_the_published_one(size: int, severity: int, want: tuple[float, float]) -> None:
    for name, psnr in zip(("astronaut", "coffee"), want, strict=True):
        image = photograph(name, size)
        out = corruptset.corrupt(
            image, "defocus_blur", severity=severity, calibration={224: "imagenet", 32: "cifar"}[size]
        )
        assert 10 * np.log10(255**2 / ((out.astype(float) - image) ** 2).mean()) == pytest.approx(psnr, abs=0.002)


def test_a_radius_beyond_the_integers_after_scaling_is_refused() -> None:
    with pytest.raises(ParameterError, match="after scaling"):
        corruptset.corrupt(
            painted(70, 80), "defocus_blur", radius=400.0, alias_sigma=0.5, calibration="cifar", scale="side"
        )


@pytest.mark.parametrize(
    ("given", "message"),
    [({"radius": -1.0}, "radius"), ({"radius": 501.0}, "radius"), ({"alias_sigma": 0.0}, "alias_sigma")],
)
def test_nonsense_is_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        corruptset.corrupt(painted(9, 9), "defocus_blur", severity=1, **given)
