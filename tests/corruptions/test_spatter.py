"""Spatter: water and mud against a slow reading; edges and distances by themselves."""

from __future__ import annotations

import cv2
import numpy as np
import pytest
from measures import check_near
from scipy import ndimage

import corruptset
from corruptset.corruptions.calibrations import shipped
from corruptset.corruptions.weather.edges import canny
from corruptset.corruptions.weather.water import chamfer
from pictures import painted, photograph

WATER = {"mean": 0.65, "std": 0.3, "sigma": 2.0, "threshold": 0.68, "intensity": 0.5, "mud": 0}
MUD = {"mean": 0.65, "std": 0.3, "sigma": 1.0, "threshold": 0.65, "intensity": 1.5, "mud": 1}
LUMA = np.array([0.299, 0.587, 0.114])


def brute_force(edges):
    """The chamfer norm to every edge pixel, the least taken.

    Straight and knight's moves, or knight's and diagonal.
    """
    y, x = np.mgrid[: edges.shape[0], : edges.shape[1]]
    best = np.full(edges.shape, 2**29 - 1)
    for v, u in zip(*np.nonzero(edges), strict=True):
        a, b = np.abs(y - v), np.abs(x - u)
        long, short = np.maximum(a, b), np.minimum(a, b)
        flat = 143976 * short + 65536 * (long - 2 * short)
        steep = 143976 * (long - short) + 91750 * (2 * short - long)
        best = np.minimum(best, np.where(2 * short <= long, flat, steep))
    return best


@pytest.mark.parametrize("share", [0.002, 0.02, 0.3])
def test_distances_are_the_chamfer_s(share):
    for shape in ((8, 8), (31, 9), (9, 31), (40, 60)):
        rng = np.random.default_rng(int(1000 * share))
        edges = (rng.random(shape) < share).astype(np.uint8) * 255
        edges[rng.integers(shape[0]), rng.integers(shape[1])] = 255
        distance = np.empty((shape[0] + 4, shape[1] + 4), np.int32)
        chamfer(edges[None], distance[None])
        np.testing.assert_array_equal(distance[2:-2, 2:-2], brute_force(edges))


def test_edges_are_opencvs():
    rng = np.random.default_rng(17)
    for number in range(90):
        height, width = (int(side) for side in rng.integers(8, 60, 2))
        noise = rng.integers(0, 256, (height, width)).astype(np.uint8)
        soft = cv2.GaussianBlur(noise, (0, 0), rng.uniform(0.5, 3.0))
        drops = np.uint8((cv2.GaussianBlur(rng.random((height, width)), (0, 0), 1.5) > 0.5) * rng.integers(100, 256))
        picture = np.ascontiguousarray((noise, soft, drops)[number % 3])
        both, got = np.stack([picture, picture[::-1]]), np.empty((2, height, width), np.uint8)
        canny(both, 50, 150, got)
        np.testing.assert_array_equal(got, [cv2.Canny(one, 50, 150) for one in both])


def slow(image, normals, *, mean, std, sigma, threshold, intensity, mud, brown=(63, 42, 20)):
    """The definition, a step at a time, before the last floor."""
    layer = ndimage.gaussian_filter(mean + std * normals, sigma, mode="nearest", truncate=4)
    x = image / 255.0
    if mud:
        splash = ndimage.gaussian_filter((layer > threshold).astype(np.float32), intensity, mode="nearest", truncate=4)
        splash = np.where(splash < 0.8, 0, splash)[..., None]
        out = x * (1 - splash) + np.array(brown) / 255 * splash
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
    # single precision, as published, keeps a level that is untouched from falling below itself
    return np.clip(out, 0, 1) * 255 + 1e-5


@pytest.mark.parametrize(
    "columns", [WATER, WATER | {"sigma": 4.0, "threshold": 0.69}, MUD, MUD | {"mean": 0.67, "std": 0.4}], ids=str
)
def test_equals_the_definition(columns):
    for shape in ((64, 64), (30, 75), (75, 30)):
        image = photograph("coffee", 96)[: shape[0], : shape[1]]
        normals = np.random.default_rng(3).standard_normal(shape)
        normals[5:25, 5:25] += columns["sigma"] > 3  # a drop for certain
        got = corruptset.corrupt(image, "spatter", normals=normals, **columns)
        assert np.mean(got != image) > 0.01
        check_near(got, np.floor(slow(image, normals, **columns)), what=shape)


def test_a_large_drop_stops_deepening_twenty_pixels_from_its_edge():
    """Where the distance is capped the relief is flat.

    Drops of drawn layers are smaller than that, and do not tell.
    """
    image = painted(120, 130) // 2
    y, x = np.mgrid[:120, :130]
    away = np.hypot(y - 60, x - 65)
    normals = np.where(away < 50, 0.9, -2.0)
    got = corruptset.corrupt(image, "spatter", normals=normals, **WATER)
    check_near(got, np.floor(slow(image, normals, **WATER)))
    assert np.ptp(got[away < 20].astype(int) - image[away < 20], axis=0).max() <= 1


def test_without_a_drop_the_image_stays_and_grey_gets_the_luma():
    """The published code divides by zero there and stores black.

    MNIST-C's mud has a level of its own, and it rounds.
    """
    image, grey = painted(24, 32), painted(48, 40, 1)
    normals = np.random.default_rng(3).standard_normal((48, 40))
    for columns in (WATER, MUD):
        np.testing.assert_array_equal(corruptset.corrupt(image, "spatter", **(columns | {"threshold": 9.0})), image)
        out = corruptset.corrupt(grey, "spatter", normals=normals, **columns).astype(float)
        colour = corruptset.corrupt(np.repeat(grey, 3, axis=2), "spatter", normals=normals, **columns)
        whole = (colour < 255).all(axis=2) & (out[..., 0] < 255)
        assert np.abs(out[..., 0] - colour @ LUMA)[whole].max() <= 1.01
    for severity in (1, 4, 5):
        row = shipped("mnist").row("spatter", severity).parameters
        columns = {name: value for name, value in row.items() if name in MUD}
        got = corruptset.corrupt(grey, "spatter", severity=severity, calibration="mnist", normals=normals)
        check_near(got, np.floor(slow(grey, normals, **columns, brown=(63,)) + 0.5))


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
            np.testing.assert_array_equal(
                got, corruptset.corrupt(image, "spatter", **(doubled | {"std": 0.6, "intensity": 3.0}))
            )
        before = np.mean(corruptset.corrupt(image, "spatter", **table) != image)
        assert np.mean(got != image) == pytest.approx(before, rel=0.2), "as much of the picture is hit as before"


def test_a_given_layer_is_standard():
    image, normals = painted(32, 40), np.random.default_rng(3).standard_normal((32, 40))
    for columns in (WATER, MUD):
        shifted = columns | {"std": 0.15, "mean": columns["mean"] + 0.075}
        np.testing.assert_array_equal(
            corruptset.corrupt(image, "spatter", normals=normals * 2 - 0.5, **shifted),
            corruptset.corrupt(image, "spatter", normals=normals, **columns),
        )
