"""Spatter: water and mud against a slow reading of the definition, the distances by brute force, published figures."""

from __future__ import annotations

import cv2
import numpy as np
import pytest
from scipy import ndimage

import corruptset
from corruptset.corruptions.weather.edges import canny
from corruptset.corruptions.weather.water import chamfer
from pictures import numbers, painted, photograph

WATER = {"mean": 0.65, "std": 0.3, "sigma": 2.0, "threshold": 0.68, "intensity": 0.5, "mud": 0}
MUD = {"mean": 0.65, "std": 0.3, "sigma": 1.0, "threshold": 0.65, "intensity": 1.5, "mud": 1}


def brute_force(edges: np.ndarray) -> np.ndarray:
    """The chamfer norm to every edge pixel, the least taken: straight and knight's moves, or knight's and diagonal."""
    y, x = np.mgrid[: edges.shape[0], : edges.shape[1]]
    best = np.full(edges.shape, 2**29 - 1)
    for v, u in zip(*np.nonzero(edges), strict=True):
        a, b = np.abs(y - v), np.abs(x - u)
        long, short = np.maximum(a, b), np.minimum(a, b)
        flat = 143976 * short + 65536 * (long - 2 * short)
        steep = 143976 * (long - short) + 91750 * (2 * short - long)
        best = np.minimum(best, np.where(2 * short <= long, flat, steep))
    return best


@pytest.mark.parametrize("shape", [(8, 8), (31, 9), (9, 31), (40, 60)])
@pytest.mark.parametrize("share", [0.002, 0.02, 0.3])
def test_distances_are_the_chamfer_s(shape, share):
    rng = np.random.default_rng(int(1000 * share))
    edges = (rng.random(shape) < share).astype(np.uint8) * 255
    edges[rng.integers(shape[0]), rng.integers(shape[1])] = 255
    distance = np.empty((shape[0] + 4, shape[1] + 4), np.int32)
    chamfer(edges[None], distance[None])
    np.testing.assert_array_equal(distance[2:-2, 2:-2], brute_force(edges))


def slow(image: np.ndarray, normals: np.ndarray, *, mean, std, sigma, threshold, intensity, mud) -> np.ndarray:
    """The definition, a step at a time."""
    layer = ndimage.gaussian_filter(mean + std * normals, sigma, mode="nearest", truncate=4)
    x = image / 255.0
    if mud:
        splash = ndimage.gaussian_filter((layer > threshold).astype(np.float32), intensity, mode="nearest", truncate=4)
        splash = np.where(splash < 0.8, 0, splash)[..., None]
        out = x * (1 - splash) + np.array([63, 42, 20]) / 255 * splash
    else:
        liquid = np.where(layer < threshold, 0, np.floor(layer * 255)).astype(np.uint8)
        distance = np.minimum(brute_force(cv2.Canny(liquid, 50, 150)), 20 * 65536)
        total = 9 * ndimage.uniform_filter(distance.astype(np.float64), 3, mode="mirror")
        level = (np.rint(total).astype(np.int64) // (9 * 65536)).astype(np.uint8)
        light = ndimage.correlate(
            cv2.equalizeHist(level).astype(int), np.array([[-2, -1, 0], [-1, 1, 1], [0, 1, 2]]), mode="mirror"
        )
        light = np.rint(ndimage.uniform_filter(np.clip(light, 0, 255).astype(np.float64), 3, mode="mirror"))
        depth = (liquid * light)[..., None]
        out = x + depth / depth.max() * intensity * np.array([175, 238, 238]) / 255
    # Single precision, as published, keeps a level that is untouched from falling below itself.
    return np.floor(np.clip(out, 0, 1) * 255 + 1e-5).astype(np.uint8)


@pytest.mark.parametrize(
    "columns", [WATER, WATER | {"sigma": 4.0, "threshold": 0.69}, MUD, MUD | {"mean": 0.67, "std": 0.4}], ids=str
)
@pytest.mark.parametrize("shape", [(64, 64), (30, 75), (75, 30)])
def test_equals_the_definition(columns, shape):
    image = photograph("coffee", 96)[: shape[0], : shape[1]]
    normals = np.random.default_rng(3).standard_normal(shape)
    if columns["sigma"] > 3:
        normals[5:25, 5:25] += 1  # a drop for certain
    got = corruptset.corrupt(image, "spatter", normals=normals, **columns)
    want = slow(image, normals, **columns)
    assert np.mean(got != image) > 0.01
    off = np.abs(got.astype(int) - want)
    assert off.max() <= 1
    assert np.mean(off == 0) > 0.99


def test_a_large_drop_stops_deepening_twenty_pixels_from_its_edge():
    """Where the distance is capped the relief is flat. Drops of drawn layers are smaller than that, and do not tell."""
    image = painted(120, 130) // 2
    y, x = np.mgrid[:120, :130]
    away = np.hypot(y - 60, x - 65)
    normals = np.where(away < 50, 0.9, -2.0)
    got = corruptset.corrupt(image, "spatter", normals=normals, **WATER)
    off = np.abs(got.astype(int) - slow(image, normals, **WATER))
    assert off.max() <= 1
    assert np.mean(off == 0) > 0.99
    assert np.ptp(got[away < 20].astype(int) - image[away < 20], axis=0).max() <= 1


def test_no_drop_leaves_the_image():
    """The published code divides by zero there and stores black."""
    image = painted(24, 32)
    for columns in (WATER, MUD):
        np.testing.assert_array_equal(corruptset.corrupt(image, "spatter", **(columns | {"threshold": 9.0})), image)


def test_grey_gets_the_luma_of_the_liquid():
    normals = np.random.default_rng(3).standard_normal((48, 40))
    grey = painted(48, 40, 1)
    for columns in (WATER, MUD):
        out = corruptset.corrupt(grey, "spatter", normals=normals, **columns).astype(float)
        colour = corruptset.corrupt(np.repeat(grey, 3, axis=2), "spatter", normals=normals, **columns)
        whole = (colour < 255).all(axis=2) & (out[..., 0] < 255)
        assert np.abs(out[..., 0] - colour @ np.array([0.299, 0.587, 0.114]))[whole].max() <= 1.01


def test_scale_by_side_scales_every_distance_of_the_liquid():
    image = painted(448, 450)
    normals = np.random.default_rng(3).standard_normal((448, 450))
    for severity in (2, 4):
        table = (WATER | {"sigma": 3.0, "intensity": 0.6} if severity == 2 else MUD) | {"normals": normals}
        got = corruptset.corrupt(
            image, "spatter", severity=severity, calibration="imagenet", scale="side", normals=normals
        )
        doubled = table | {"sigma": 2 * table["sigma"]}
        np.testing.assert_array_equal(got, corruptset.corrupt(image, "spatter", liquid_scale=2.0, **doubled))
        assert not np.array_equal(got, corruptset.corrupt(image, "spatter", **(doubled | {"std": 0.6})))
        if severity == 4:
            want = corruptset.corrupt(image, "spatter", **(doubled | {"std": 0.6, "intensity": 3.0}))
            np.testing.assert_array_equal(got, want)
        # As much of the picture is hit as before.
        before = np.mean(corruptset.corrupt(image, "spatter", **table) != image)
        assert np.mean(got != image) == pytest.approx(before, rel=0.2)


def test_a_given_layer_serves_the_batch_and_is_standard():
    images = np.stack([painted(32, 40, 3, w) for w in range(3)])
    normals = np.random.default_rng(3).standard_normal((32, 40))
    for columns in (WATER, MUD):
        outs = corruptset.corrupt(images, "spatter", normals=normals, **columns)
        for image, out in zip(images, outs, strict=True):
            np.testing.assert_array_equal(out, corruptset.corrupt(image, "spatter", normals=normals, **columns))
        shifted = corruptset.corrupt(
            images[0],
            "spatter",
            normals=normals * 2 - 0.5,
            **(columns | {"std": 0.15, "mean": columns["mean"] + 0.075}),
        )
        np.testing.assert_array_equal(shifted, outs[0])


# psnr of astronaut, coffee, chelsea, rocket (3 seeds each) and its spread over seeds (a mean of 8 images), measured
# with the released generators
PUBLISHED = {
    ("imagenet", 224, 2): ([24.660, 24.170, 24.424, 23.615], 0.216),
    ("imagenet", 224, 3): ([22.242, 21.939, 21.843, 21.767], 0.074),
    ("imagenet", 224, 4): ([17.938, 18.710, 20.742, 23.717], 0.119),
    ("imagenet", 224, 5): ([15.763, 16.802, 18.617, 21.571], 0.105),
    ("cifar", 32, 2): ([26.442, 25.713, 25.050, 25.683], 0.718),
    ("cifar", 32, 3): ([22.844, 21.708, 21.251, 22.621], 0.163),
    ("cifar", 32, 5): ([20.743, 22.521, 23.395, 26.157], 0.420),
}


@pytest.mark.parametrize("case", PUBLISHED, ids=str)
def test_psnr_is_the_published_one(case):
    calibration, size, severity = case
    want, spread = PUBLISHED[case]
    got = []
    count = 6 if size > 100 else 24
    for name in ("astronaut", "coffee", "chelsea", "rocket"):
        image = photograph(name, size)
        outs = corruptset.corrupt(
            np.stack([image] * count), "spatter", severity=severity, calibration=calibration, key=numbers(count)
        )
        errors = np.mean((outs.astype(float) - image) ** 2, axis=(1, 2, 3))
        got.append(np.mean(10 * np.log10(255**2 / errors)))
    assert np.mean(got) == pytest.approx(np.mean(want), abs=4.5 * spread + 0.03)


def test_edges_are_opencvs():
    rng = np.random.default_rng(17)
    for round_ in range(90):
        height, width = (int(side) for side in rng.integers(8, 60, 2))
        noise = rng.integers(0, 256, (height, width)).astype(np.uint8)
        soft = cv2.GaussianBlur(noise, (0, 0), rng.uniform(0.5, 3.0))
        drops = np.uint8((cv2.GaussianBlur(rng.random((height, width)), (0, 0), 1.5) > 0.5) * rng.integers(100, 256))
        picture = np.ascontiguousarray((noise, soft, drops)[round_ % 3])
        got = np.empty((2, height, width), np.uint8)
        canny(np.stack([picture, picture[::-1]]), 50, 150, got)
        np.testing.assert_array_equal(got[0], cv2.Canny(picture, 50, 150))
        np.testing.assert_array_equal(got[1], cv2.Canny(np.ascontiguousarray(picture[::-1]), 50, 150))
