"""Compare contrast, brightness, saturate, pixelate, JPEG and elastic transform with other libraries."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from measures import check_close
from PIL import Image
from scipy.ndimage import gaussian_filter, map_coordinates
from skimage.color import hsv2rgb, rgb2hsv
from specification import plain

import corruptset
from corruptset.corruptions.calibrations import shipped
from corruptset.corruptions.digital.fields import make_smoother, smooth
from corruptset.errors import ImageError
from example_images import jpeg_round_trip, photograph, synthetic_image

SIZES = {"imagenet": 224, "cifar": 32, "mnist": 28}
BRIGHT = 255 - synthetic_image(8, 300) // 64
"""Its rows' sums do not fit 16 bits."""


def test_contrast_matches_specification_at_any_size():
    for image in (synthetic_image(8, 8), synthetic_image(9, 31, 1), synthetic_image(24, 30), BRIGHT):
        for factor in (0.0, 0.35, 1.0, 3.0):
            expected = plain.contrast(image.tolist(), 0, "", factor=factor)
            np.testing.assert_array_equal(corruptset.corrupt(image, "contrast", factor=factor), expected)


def test_brightness_and_saturate_convert_through_hsv():
    """Test brightness for every pair of largest and smallest channel, because rounding decides some values."""
    maximum, minimum = np.maximum(*np.mgrid[:256, :256]), np.minimum(*np.mgrid[:256, :256])
    pairs = np.stack([minimum, maximum, minimum], -1).astype(np.uint8)
    hsv = rgb2hsv(pairs / 255.0)
    for shift in (0.1, 0.5, -0.25):
        lit = np.dstack([hsv[..., :2], np.clip(hsv[..., 2] + shift, 0, 1)])
        expected = np.floor(np.clip(hsv2rgb(lit), 0, 1) * 255)
        check_close(corruptset.corrupt(pairs, "brightness", shift=shift), expected, 0.99, what=shift)
    greys = np.repeat(np.arange(64, dtype=np.uint8).reshape(8, 8, 1) * 4, 3, axis=2)  # A shift makes these pixels red.
    for image in (photograph("astronaut", 96), photograph("retina", 32), greys):
        hsv = rgb2hsv(image / 255.0)
        rows = [row.parameters.values() for row in shipped("cifar").rows["saturate"].values()]
        for gain, shift in [(0.0, 0.0), (1.0, 0.0), *rows]:
            exact = hsv2rgb(np.dstack([hsv[..., 0], np.clip(hsv[..., 1] * gain + shift, 0, 1), hsv[..., 2]])) * 255
            result = corruptset.corrupt(image, "saturate", gain=gain, shift=shift)
            # The result is floored where rounding errors of the conversion through HSV do not matter.
            decided = np.abs(exact - np.rint(exact)) > 1e-6
            np.testing.assert_array_equal(result[decided], np.uint8(exact)[decided])
            assert np.abs(result - exact)[~decided].max(initial=0) < 1e-5
    np.testing.assert_array_equal(corruptset.corrupt(greys[..., :1], "saturate", gain=20.0, shift=0.2), greys[..., :1])


def test_pixelate_matches_pillow_box_filter():
    rng = np.random.default_rng(11)
    cases = [(synthetic_image(700, 431), 0.37), (photograph("coffee"), 0.25), (BRIGHT, 0.003)]
    for fraction in (0.0, 1.0, 0.5, 1 / 3, *rng.uniform(0, 1, 36)):
        cases.append((rng.integers(0, 256, (*rng.integers(8, 130, 2), rng.choice([1, 3])), np.uint8), float(fraction)))
    for image, fraction in cases:
        height, width = image.shape[:2]
        pil_image = Image.fromarray(image if image.shape[-1] == 3 else image[..., 0])
        # The image is resized in two steps, because newer versions of Pillow filter tall images by columns first.
        small = pil_image.resize((max(int(width * fraction), 1), height), Image.Resampling.BOX)
        small = small.resize((small.width, max(int(height * fraction), 1)), Image.Resampling.BOX)
        expected = np.asarray(small.resize((width, height), Image.Resampling.BOX)).reshape(image.shape)
        result = corruptset.corrupt(image, "pixelate", fraction=fraction)
        np.testing.assert_array_equal(result, expected, f"{image.shape} {fraction}")


def test_jpeg_compression_matches_pillow():
    rng = np.random.default_rng(23)
    cases = [(synthetic_image(*shape), q) for shape in ((8, 8, 3), (9, 31, 1), (224, 300, 3)) for q in (1, 30, 75, 100)]
    for number in range(90):
        height, width = (int(side) for side in rng.integers(8, 70, 2))
        channels, quality = int(rng.choice([1, 3])), int(rng.integers(1, 101))
        noise = rng.integers(0, 256, (height, width, channels))
        patches = noise[::4, ::4].repeat(4, 0).repeat(4, 1)[:height, :width]
        cases.append(((noise, 255 * (noise > 127), patches)[number % 3].astype(np.uint8), quality))
    for image, quality in cases:
        result = corruptset.corrupt(image, "jpeg_compression", quality=quality)
        np.testing.assert_array_equal(result, jpeg_round_trip(image, quality), f"{image.shape} {quality}")
    with pytest.raises(ImageError, match="65500"):
        corruptset.corrupt(np.zeros((8, 65501), np.uint8), "jpeg_compression", quality=50)


# --- elastic transform ----------------------------------------------------------------------------------------------


def bilinear_sample(image, x, y, *, black):
    """Return bilinear samples as float32, where the outside is black or the reflection of the image."""
    (height, width), left, top = image.shape[:2], np.floor(x).astype(int), np.floor(y).astype(int)
    columns, rows = (
        [np.pad(np.arange(n), 5 * n, "symmetric")[first + k + 5 * n] for k in (0, 1)]
        for n, first in ((width, left), (height, top))
    )
    nw, ne, sw, se = (image[r, c].astype(float) for r in rows for c in columns)
    u, v = (x - left)[..., None], (y - top)[..., None]
    out = nw * ((1 - u) * (1 - v)) + ne * (u * (1 - v)) + sw * ((1 - u) * v) + se * (u * v)
    if black:
        out[(x < 0) | (x > width - 1) | (y < 0) | (y > height - 1)] = 0
    return out.astype(np.float32)


def reference_elastic(image, points, field_x, field_y, *, alpha, sigma, affine, border="reflect", rounding="floor"):
    """Apply the definition with SciPy's filter. The affine map reads at multiples of 1/32 pixel."""
    (height, width), black = image.shape[:2], border == "black"
    before = np.float32([width // 2, height // 2] + min(height, width) // 3 * np.array([[1, 1], [1, -1], [-1, -1]]))
    after = before + (points * affine).astype(np.float32)
    forward = np.linalg.solve(np.c_[before, np.ones(3)].astype(float), after.astype(float)).T
    back = np.linalg.inv(np.r_[forward, [[0, 0, 1]]])
    y, x = np.mgrid[:height, :width]
    places = [np.floor((a * x + b * y + c) * 32 + 0.5) / 32 for a, b, c in back[1::-1]]
    mode, planes = "grid-constant" if black else "mirror", np.moveaxis(image, 2, 0) / np.float32(255)
    turned = np.stack([map_coordinates(plane, places, order=1, mode=mode) for plane in planes], axis=-1)
    smoothed = (gaussian_filter(field, sigma, mode="reflect", truncate=3) * alpha for field in (field_x, field_y))
    dx, dy = (np.float32(field).astype(float) for field in smoothed)
    units = np.minimum(bilinear_sample(turned, x + dx, y + dy, black=black), np.float32(1))
    return (units * np.float32(255) + np.float32(0.5 * (rounding == "round"))).astype(np.uint8)


def elastic_draws(height, width):
    rng = np.random.default_rng(5)
    return {"points": rng.uniform(-1, 1, (3, 2))} | {f"field_{a}": rng.uniform(-1, 1, (height, width)) for a in "xy"}


def test_elastic_transform_matches_definition():
    """Test that only a few samples differ by 1/32 pixel, because SciPy's filter has other rounding errors."""
    cases = []
    for calibration, side in SIZES.items():
        image = photograph("chelsea", side)[:60, :72, : 1 if side == 28 else 3]
        cases += [(image, row.parameters) for row in shipped(calibration).rows["elastic_transform"].values()]
    for shape in ((9, 31, 3), (31, 9, 1), (60, 90, 3)):
        for alpha, sigma, affine in ((60.0, 9.0, 1.0), (4.0, 0.0, 3.0)):
            cases.append((synthetic_image(*shape), {"alpha": alpha, "sigma": sigma, "affine": affine}))
    for image, row in cases:
        fixed_draws = elastic_draws(*image.shape[:2])
        result = corruptset.corrupt(np.ascontiguousarray(image), "elastic_transform", **row, **fixed_draws)
        distance = np.abs(result.astype(int) - reference_elastic(image, **row, **fixed_draws))
        assert (np.mean(distance == 0) > 0.95, np.mean(distance <= 1) > 0.99) == (True, True), (image.shape, row)
    white = np.full((28, 28, 1), 255, np.uint8)
    for border, still in itertools.product(("black", "reflect"), ({}, {"alpha": 0.0}, {"affine": 0.0})):
        out = corruptset.corrupt(white, "elastic_transform", severity=2, calibration="mnist", border=border, **still)
        assert (out.min() < 254) == (border == "black"), f"MNIST-C brings in black at each step: {still}"
    for alpha, sigma, affine in ((1e6, 0.0, 0.0), (1e6, 300.0, 1e6), (0.0, 0.0, 1e6)):
        out = corruptset.corrupt(synthetic_image(9, 14), "elastic_transform", alpha=alpha, sigma=sigma, affine=affine)
        assert out.shape == (9, 14, 3)


def test_elastic_transform_equals_double_precision_to_last_grey_level():
    """Test flat areas, steps, edges and large displacements, in which a rounding error would change a grey value."""
    height, width, rng = 40, 53, np.random.default_rng(8)
    flat = rng.integers(0, 256, (8, 11, 3)).astype(np.uint8).repeat(5, 0).repeat(5, 1)[:, :width]
    ramp = np.broadcast_to(np.arange(width, dtype=np.uint8)[None, :, None] * 4, (height, width, 3))
    for image in (
        synthetic_image(height, width),
        flat,
        ramp,
        np.full((height, width, 1), 255, np.uint8),
        flat[..., :1],
    ):
        for alpha, border, rounding in (
            (0.4, "reflect", "floor"),
            (9.0, "black", "floor"),
            (9.0, "reflect", "round"),
            (170.0, "reflect", "floor"),
        ):
            fixed_draws = elastic_draws(height, width)
            fixed_draws["field_x"][::7] = np.floor(fixed_draws["field_x"][::7] * alpha) / max(alpha, 1.0)
            row = {"alpha": alpha, "sigma": 0.0, "affine": 0.0, "border": border, "rounding": rounding}
            result = corruptset.corrupt(image, "elastic_transform", **row, **fixed_draws)
            np.testing.assert_array_equal(
                result, reference_elastic(image, **row, **fixed_draws), f"{image.shape} {row}"
            )


def test_elastic_transform_smooths_fields_like_scipy():
    for shape, sigma in (
        ((224, 224), 170.8),
        ((40, 50), 2.44),
        ((31, 9), 8.1),
        ((9, 31), 30.0),
        ((500, 130), 9.0),
        ((64, 70), 0.1),
    ):
        field = np.random.default_rng(3).uniform(-1, 1, shape)
        distance = smooth(field[None], make_smoother(*shape, sigma), 1.0)[0] - gaussian_filter(
            field, sigma, mode="reflect", truncate=3
        )
        assert np.abs(distance).max() < 1e-6 * max(1.0, 20.0 / sigma), (shape, sigma)
