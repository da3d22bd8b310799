"""Gaussian, defocus and zoom blur: against scipy and OpenCV, value for value."""

from __future__ import annotations

import math

import cv2
import numpy as np
import pytest
from measures import check_near
from scipy.ndimage import gaussian_filter, zoom

import corruptset
from corruptset.corruptions.arithmetic import gaussian_weights, pairwise_sum
from corruptset.corruptions.blur.disk import disk_kernel
from corruptset.corruptions.blur.zoom import zoom_factors, zoom_grid
from corruptset.corruptions.calibrations import shipped
from corruptset.errors import ParameterError
from pictures import painted, photograph

SHAPES = [(8, 8, 1), (9, 31, 3), (31, 9, 1), (50, 64, 3)]


def rows(calibration, name):
    """Return the parameters of each severity, as the published table has them."""
    return [tuple(row.parameters.values()) for row in shipped(calibration).rows[name].values()]


def pictures(shape):
    """Return noise, blocks, flat areas and a painted picture: flat areas decide ties of the floor."""
    noise = np.random.default_rng(3).integers(0, 256, shape, np.uint8)
    blocks = noise[::4, ::4].repeat(4, 0).repeat(4, 1)[: shape[0], : shape[1]]
    return np.stack(
        [
            noise,
            blocks,
            noise // 128 * 255,
            *(np.full(shape, v, np.uint8) for v in (255, 254, 100, 57, 1, 0)),
            painted(*shape),
        ]
    )


# --- gaussian -------------------------------------------------------------------------------------------------------


def gaussian(image, sigma):
    blurred = gaussian_filter(image / 255.0, (sigma, sigma, 0), mode="nearest", truncate=4.0)
    return (np.clip(blurred, 0, 1) * 255).astype(np.uint8)


@pytest.mark.parametrize("sigma", [0.05, 0.4, 1.0, 2.5, 6.0, 33.3])
def test_gaussian_blur_equals_scipy(sigma):
    for shape in SHAPES:
        images = pictures(shape)
        for image, out in zip(images, corruptset.corrupt(images, "gaussian_blur", sigma=sigma), strict=True):
            np.testing.assert_array_equal(out, gaussian(image, sigma), str(shape))


def test_the_sums_and_weights_of_a_gaussian_are_numpys():
    for count in (1, 7, 8, 9, 25, 127, 128, 129, 300, 1001):
        values = np.random.default_rng(count).normal(size=count)
        assert pairwise_sum(values.tolist()) == values.sum()
    phi = np.exp(-0.5 / 36.0 * np.arange(-24, 25) ** 2)
    assert np.abs(gaussian_weights(6.0, 24) / (phi / phi.sum()) - 1).max() < 1e-15


# --- defocus --------------------------------------------------------------------------------------------------------


def opencv_kernel(radius, alias_sigma):
    half, taps = (8, 3) if radius <= 8 else (int(radius), 5)
    axis = np.arange(-half, half + 1)
    disk = (axis[:, None] ** 2 + axis**2 <= radius**2).astype(np.float32)
    return cv2.GaussianBlur(disk / disk.sum(), (taps, taps), sigmaX=alias_sigma)


def taps_of(image, kernel):
    """Plain taps in doubles over the mirrored image, floored."""
    half = len(kernel) // 2
    padded = np.pad(image.astype(float), ((half, half), (half, half), (0, 0)), mode="reflect")
    total = np.zeros(image.shape)
    for i, row in enumerate(kernel.astype(float)):
        for j, weight in enumerate(row):
            total += weight * padded[i : i + image.shape[0], j : j + image.shape[1]]
    return np.minimum(total + 1e-9, 255).astype(np.uint8)


@pytest.mark.parametrize("calibration", ["imagenet", "cifar", "inception"])
def test_defocus_blur_has_the_published_kernel_and_applies_it(calibration):
    others = [(7.3, 0.5), (12.0, 0.5), (5.5, 0.3), (20.0, 0.5)] if calibration == "imagenet" else []
    for radius, alias_sigma in rows(calibration, "defocus_blur") + others:
        want, kernel = opencv_kernel(radius, alias_sigma), disk_kernel(float(radius), alias_sigma)
        assert kernel.shape == want.shape
        assert np.abs(kernel - want).max() <= 2e-7 * want.max()
        # which side of 1 the sum is on decides whether flat areas keep their value
        assert np.sign(kernel.astype(float).sum() - 1) == np.sign(want.astype(float).sum() - 1)
        for shape in SHAPES:
            images = pictures(shape)[[0, 2, 3, 5, 9]]
            got = corruptset.corrupt(images, "defocus_blur", radius=float(radius), alias_sigma=alias_sigma)
            for image, out in zip(images, got, strict=True):
                np.testing.assert_array_equal(out, taps_of(image, kernel), f"{radius} {shape}")


def test_defocus_blur_equals_opencvs_filter_and_brightens_where_the_disk_touches_its_window():
    image = photograph("chelsea")
    for severity, row in enumerate(rows("imagenet", "defocus_blur"), 1):
        planes = [cv2.filter2D(np.ascontiguousarray(image[..., c]) / 255.0, -1, opencv_kernel(*row)) for c in range(3)]
        want = (np.clip(np.stack(planes, axis=-1), 0, 1) * 255).astype(np.uint8)
        check_near(corruptset.corrupt(image, "defocus_blur", severity=severity), want, 0.999)
    assert [round(float(disk_kernel(r, 0.5).astype(float).sum()), 4) for r in (6.0, 8.0, 10.0)] == [1.0, 1.013, 1.0108]
    flat = np.full((40, 40, 3), 200, np.uint8)
    assert corruptset.corrupt(flat, "defocus_blur", severity=5, calibration="imagenet").max() == 202
    broken = corruptset.corrupt(painted(40, 50), "defocus_blur", radius=8.7, alias_sigma=0.6)
    check_near(broken, taps_of(painted(40, 50), disk_kernel(8.7, 0.6)), 0.9)
    with pytest.raises(ParameterError, match="after scaling"):
        corruptset.corrupt(
            painted(70, 80), "defocus_blur", radius=400.0, alias_sigma=0.5, calibration="cifar", scale="side"
        )


# --- zoom -----------------------------------------------------------------------------------------------------------


def middle(length, window):
    first = (length - window) // 2
    return slice(first, first + window)


def zoomed(image, stop, step):
    """The definition: crop, scipy's zoom, trim; sums in float32."""
    unit = (image / 255.0).astype(np.float32)
    total, factors = np.zeros_like(unit), np.arange(1, stop, step)
    for factor in factors:
        crop = unit[tuple(middle(n, math.ceil(n / factor)) for n in image.shape[:2])]
        large = zoom(crop, (factor, factor, 1), order=1)
        total += large[tuple(middle(n, side) for n, side in zip(large.shape, image.shape[:2], strict=False))]
    return (np.clip((unit + total) / (len(factors) + 1), 0, 1) * 255).astype(np.uint8)


def test_zoom_factors_are_numpys_overshoot_included():
    for stop, step in [*rows("imagenet", "zoom_blur"), *rows("cifar", "zoom_blur"), (1.0, 0.1), (2.0, 0.3), (3.0, 1.0)]:
        assert zoom_factors(stop, step) == np.arange(1, stop, step).tolist()
    lengths = {c: [len(zoom_factors(*row)) for row in rows(c, "zoom_blur")] for c in ("imagenet", "cifar")}
    assert lengths == {"imagenet": [12, 16, 11, 13, 11], "cifar": [7, 12, 16, 21, 26]}


@pytest.mark.parametrize(("stop", "step"), [(1.11, 0.01), (1.31, 0.03), (1.26, 0.01), (2.5, 0.25)])
def test_zoom_blur_equals_scipy(stop, step):
    for shape in [*SHAPES, (32, 32, 3)]:
        images = pictures(shape)[[0, 3, 9]]
        got = corruptset.corrupt(images, "zoom_blur", stop=stop, step=step)
        for image, out in zip(images, got, strict=True):
            check_near(out, zoomed(image, stop, step), 1 - max(0.001, 2 / image.size), what=shape)
        np.testing.assert_array_equal(got[1], zoomed(images[1], stop, step))
    check_near(
        corruptset.corrupt(photograph("coffee"), "zoom_blur", stop=stop, step=step),
        zoomed(photograph("coffee"), stop, step),
        0.999,
    )


def test_the_grid_of_zoom_blur_never_leaves_the_image():
    """scipy's grid runs past the last pixel by a rounding at 21 of these sizes, and leaves a black edge there."""
    for side in range(8, 330):
        for factor in (1.0, *zoom_factors(1.31, 0.03), 1.16, 1.22, 1.23, 3.0):
            index, part = zoom_grid(side, factor)
            assert 0 <= index.min() <= index.max() <= side - 2
            assert 0 <= part.min() <= part.max() <= 1
    white = np.full((36, 36, 3), 255, np.uint8)
    assert zoomed(white, 1.22, 0.01).min() < 250
    assert corruptset.corrupt(white, "zoom_blur", stop=1.22, step=0.01).min() >= 254
