"""Compare gaussian, defocus and zoom blur with SciPy and OpenCV, value by value."""

from __future__ import annotations

import math

import cv2
import numpy as np
import pytest
from measures import check_close
from scipy.ndimage import gaussian_filter, zoom

import corruptset
from corruptset.corruptions.blur.disk import disk_kernel, make_disk
from corruptset.corruptions.calibrations import shipped
from corruptset.errors import ParameterError
from example_images import photograph, synthetic_image

SHAPES = [(8, 8, 1), (9, 31, 3), (31, 9, 1), (50, 64, 3)]


def parameter_rows(name):
    """Return the parameters of each severity at 224 and 32 pixels from the published tables."""
    tables = (shipped(calibration).rows[name] for calibration in ("imagenet", "cifar"))
    return [tuple(row.parameters.values()) for table in tables for row in table.values()]


def example_images(shape):
    """Return noise, black, white, a drawn image, and flat images, whose values decide ties of the floor."""
    noise = np.random.default_rng(3).integers(0, 256, shape, np.uint8)
    flat = (np.full(shape, level, np.uint8) for level in (255, 254, 100, 57, 1))
    return np.stack([noise, noise // 128 * 255, synthetic_image(*shape), *flat])


@pytest.mark.parametrize("sigma", [0.05, 0.4, 1.0, 2.5, 6.0, 33.3])
def test_gaussian_blur_equals_scipy(sigma):
    for shape in SHAPES:
        images = example_images(shape)
        for image, out in zip(images, corruptset.corrupt(images, "gaussian_blur", sigma=sigma), strict=True):
            blurred = gaussian_filter(image / 255.0, (sigma, sigma, 0), mode="nearest", truncate=4.0)
            np.testing.assert_array_equal(out, (np.clip(blurred, 0, 1) * 255).astype(np.uint8), str(shape))


# --- defocus --------------------------------------------------------------------------------------------------------


def opencv_kernel(radius, alias_sigma):
    half, taps = (8, 3) if radius <= 8 else (int(radius), 5)
    axis = np.arange(-half, half + 1)
    disk = (axis[:, None] ** 2 + axis**2 <= radius**2).astype(np.float32)
    return cv2.GaussianBlur(disk / disk.sum(), (taps, taps), sigmaX=alias_sigma)


def kernel_taps(image, kernel):
    """Apply the taps in double precision to the reflected image, and floor the result."""
    half = len(kernel) // 2
    padded = np.pad(image.astype(float), ((half, half), (half, half), (0, 0)), mode="reflect")
    windows = np.lib.stride_tricks.sliding_window_view(padded, kernel.shape, axis=(0, 1))
    total = np.zeros(image.shape)
    for i, j in np.ndindex(kernel.shape):
        total += kernel[i, j].astype(float) * windows[..., i, j]
    return np.minimum(total + 1e-9, 255).astype(np.uint8)


def test_defocus_blur_applies_published_kernel():
    for radius, alias_sigma in [*parameter_rows("defocus_blur"), (7.3, 0.5), (5.5, 0.3), (20.0, 0.5)]:
        expected, kernel = opencv_kernel(radius, alias_sigma), disk_kernel(float(radius), alias_sigma)
        assert kernel.shape == expected.shape
        assert np.abs(kernel - expected).max() <= 2e-7 * expected.max()
        # Flat areas keep their value if the sum of the kernel is not below 1.
        assert np.sign(kernel.astype(float).sum() - 1) == np.sign(expected.astype(float).sum() - 1)
        # The row sums of the last case do not fit in 16 bits.
        for images in (
            example_images((8, 8, 1))[1:5],
            example_images((31, 9, 3))[1:5],
            255 - example_images((8, 300, 3))[1:2] // 64,
        ):
            result = corruptset.corrupt(images, "defocus_blur", radius=float(radius), alias_sigma=alias_sigma)
            for image, out in zip(images, result, strict=True):
                np.testing.assert_array_equal(out, kernel_taps(image, kernel), f"{radius} {image.shape}")


def test_defocus_blur_works_with_strict_numpy_errors():
    with np.errstate(all="raise"):
        assert make_disk.__wrapped__(3.0, 0.1).taps.size == 2


def test_defocus_blur_brightens_at_window_edge_and_accepts_any_fitting_radius():
    flat = np.full((40, 40, 3), 200, np.uint8)
    assert corruptset.corrupt(flat, "defocus_blur", severity=5, calibration="imagenet").max() == 202
    large = {"radius": 400.0, "alias_sigma": 0.5, "calibration": "cifar", "scale": "side"}
    with pytest.raises(ParameterError, match="after scaling"):
        corruptset.corrupt(synthetic_image(70, 80), "defocus_blur", **large)


# --- zoom -----------------------------------------------------------------------------------------------------------


def central_slice(length, window):
    first = (length - window) // 2
    return slice(first, first + window)


def reference_zoom(image, stop, step):
    """Apply the definition: crop, zoom with SciPy, trim, and add in float32, with NumPy's additional last factor."""
    unit = (image / 255.0).astype(np.float32)
    total, factors = np.zeros_like(unit), np.arange(1, stop, step)
    for factor in factors:
        crop = unit[tuple(central_slice(n, math.ceil(n / factor)) for n in image.shape[:2])]
        large = zoom(crop, (factor, factor, 1), order=1)
        total += large[tuple(central_slice(n, side) for n, side in zip(large.shape, image.shape[:2], strict=False))]
    return (np.clip((unit + total) / (len(factors) + 1), 0, 1) * 255).astype(np.uint8)


def test_zoom_blur_equals_scipy():
    for stop, step in ((1.11, 0.01), (1.31, 0.03), (1.26, 0.01), (2.5, 0.25)):
        for shape in [*SHAPES, (32, 32, 3)]:
            images = example_images(shape)[[0, 2, 3]]
            result = corruptset.corrupt(images, "zoom_blur", stop=stop, step=step)
            for image, out in zip(images, result, strict=True):
                check_close(out, reference_zoom(image, stop, step), 1 - max(0.001, 2 / image.size), what=shape)
    image = photograph("coffee")
    check_close(corruptset.corrupt(image, "zoom_blur", stop=1.31, step=0.03), reference_zoom(image, 1.31, 0.03), 0.999)


def test_zoom_blur_has_no_black_edge():
    """Test sizes for which SciPy's grid exceeds the last pixel by a rounding error, which leaves a black edge."""
    for side in range(8, 330, 7):
        white = np.full((side, side), 255, np.uint8)
        assert corruptset.corrupt(white, "zoom_blur", stop=1.31, step=0.03).min() >= 254
    white = np.full((36, 36, 3), 255, np.uint8)
    assert reference_zoom(white, 1.22, 0.01).min() < 250
    assert corruptset.corrupt(white, "zoom_blur", stop=1.22, step=0.01).min() >= 254
