"""Compare water and mud of spatter with a slow implementation."""

from __future__ import annotations

import cv2
import numpy as np
import pytest
from measures import check_close
from scipy import ndimage

import corruptset
from corruptset.corruptions.calibrations import shipped
from example_images import photograph, synthetic_image

WATER = {"mean": 0.65, "std": 0.3, "sigma": 2.0, "threshold": 0.68, "intensity": 0.5, "mud": 0}
MUD = {"mean": 0.65, "std": 0.3, "sigma": 1.0, "threshold": 0.65, "intensity": 1.5, "mud": 1}


def distances(edges):
    """Return the chamfer distance to the nearest edge pixel, with straight, knight's and diagonal moves."""
    y, x = np.mgrid[: edges.shape[0], : edges.shape[1]]
    best = np.full(edges.shape, 2**29 - 1)
    for v, u in zip(*np.nonzero(edges), strict=True):
        short, long = np.sort([np.abs(y - v), np.abs(x - u)], axis=0)
        flat = 143976 * short + 65536 * (long - 2 * short)
        steep = 143976 * (long - short) + 91750 * (2 * short - long)
        best = np.minimum(best, np.where(2 * short <= long, flat, steep))
    return best


def reference_spatter(image, normals, *, mean, std, sigma, threshold, intensity, mud, brown=(63, 42, 20)):
    """Apply the definition step by step, before the last floor."""
    layer = ndimage.gaussian_filter(mean + std * normals, sigma, mode="nearest", truncate=4)
    x = image / 255.0
    if mud:
        splash = ndimage.gaussian_filter((layer > threshold).astype(np.float32), intensity, mode="nearest", truncate=4)
        splash = np.where(splash < 0.8, 0, splash)[..., None]
        out = x * (1 - splash) + np.array(brown) / 255 * splash
    else:
        liquid = np.where(layer < threshold, 0, np.floor(layer * 255)).astype(np.uint8)
        distance = np.minimum(distances(cv2.Canny(liquid, 50, 150)), 20 * 65536)
        total = 9 * ndimage.uniform_filter(distance.astype(np.float64), 3, mode="mirror")
        level = (np.rint(total).astype(np.int64) // (9 * 65536)).astype(np.uint8)
        light = ndimage.correlate(
            cv2.equalizeHist(level).astype(int), np.array([[-2, -1, 0], [-1, 1, 1], [0, 1, 2]]), mode="mirror"
        )
        light = np.rint(ndimage.uniform_filter(np.clip(light, 0, 255).astype(np.float64), 3, mode="mirror"))
        depth = (liquid * light)[..., None]
        out = x + depth / depth.max() * intensity * np.array([175, 238, 238]) / 255
    # Single precision, as published, keeps an unchanged grey value from falling below itself.
    return np.clip(out, 0, 1) * 255 + 1e-5


@pytest.mark.parametrize(
    "columns", [WATER, WATER | {"sigma": 4.0, "threshold": 0.69}, MUD, MUD | {"mean": 0.67, "std": 0.4}], ids=str
)
def test_spatter_matches_definition(columns):
    for shape in ((64, 64), (30, 75), (75, 30)):
        image = photograph("coffee", 96)[: shape[0], : shape[1]]
        normals = np.random.default_rng(3).standard_normal(shape)
        normals[5:25, 5:25] += columns["sigma"] > 3  # This layer certainly contains a drop.
        result = corruptset.corrupt(image, "spatter", normals=normals, **columns)
        assert np.mean(result != image) > 0.01
        check_close(result, np.floor(reference_spatter(image, normals, **columns)), what=shape)


def test_large_drop_has_constant_depth_beyond_twenty_pixels():
    """Test that the relief is flat where the distance is capped. Drops of random layers are too small to test this."""
    image = synthetic_image(120, 130) // 2
    y, x = np.ogrid[:120, :130]
    distance = np.hypot(y - 60, x - 65)
    normals = np.where(distance < 50, 0.9, -2.0)
    result = corruptset.corrupt(image, "spatter", normals=normals, **WATER)
    check_close(result, np.floor(reference_spatter(image, normals, **WATER)))
    assert np.ptp(result[distance < 20].astype(int) - image[distance < 20], axis=0).max() <= 1


def test_image_without_drops_is_unchanged_and_grey_uses_luma():
    """Test a layer without liquid, for which the published code divides by zero and stores black.

    Mud of MNIST-C has another grey value, and is rounded.
    """
    grey, normals = synthetic_image(48, 40, 1), np.random.default_rng(3).standard_normal((48, 40))
    for columns in (WATER, MUD):
        np.testing.assert_array_equal(corruptset.corrupt(grey, "spatter", **columns | {"threshold": 9.0}), grey)
        out = corruptset.corrupt(grey, "spatter", normals=normals, **columns).astype(float)
        colour = corruptset.corrupt(np.repeat(grey, 3, axis=2), "spatter", normals=normals, **columns)
        opaque = (colour < 255).all(axis=2) & (out[..., 0] < 255)
        assert np.abs(out[..., 0] - colour @ [0.299, 0.587, 0.114])[opaque].max() <= 1.01
    for severity in (1, 4, 5):
        row = shipped("mnist").row("spatter", severity).parameters
        columns = {name: value for name, value in row.items() if name in MUD}
        result = corruptset.corrupt(grey, "spatter", severity=severity, calibration="mnist", normals=normals)
        check_close(result, np.floor(reference_spatter(grey, normals, **columns, brown=(63,)) + 0.5))


def test_scale_by_side_scales_all_distances_of_liquid():
    """Test that the same fraction of the image is covered at a larger scale."""
    image, normals = synthetic_image(448, 450), np.random.default_rng(3).standard_normal((448, 450))
    for severity, row in ((2, WATER | {"sigma": 3.0, "intensity": 0.6}), (4, MUD)):
        options = {"severity": severity, "calibration": "imagenet", "normals": normals}
        result = corruptset.corrupt(image, "spatter", scale="side", **options)
        doubled = row | {"sigma": 2 * row["sigma"], "normals": normals}
        np.testing.assert_array_equal(result, corruptset.corrupt(image, "spatter", liquid_scale=2.0, **doubled))
        before = np.mean(corruptset.corrupt(image, "spatter", **options) != image)
        assert np.mean(result != image) == pytest.approx(before, rel=0.2)
