"""Compare fog and snow with slow implementations of their definitions."""

from __future__ import annotations

import math

import numpy as np
import pytest
from measures import check_close
from scipy import ndimage
from specification import plain

import corruptset
from corruptset.corruptions.blur.motion import motion_filter
from corruptset.corruptions.calibrations import shipped
from corruptset.corruptions.keys import Keys, sample_keys
from corruptset.corruptions.stages import chain_keys, resolve_stage
from example_images import number_keys, photograph, synthetic_image


def key_of(name, parameters, seed=0):
    return chain_keys([resolve_stage(name, shipped("cifar"), parameters=parameters)], seed)[0]


# --- fog ------------------------------------------------------------------------------------------------------------


def reference_plasma(side, decay, stage, sample):
    """Apply diamond-square on a torus.

    Block b of the stream contains the offsets of a cell's centre, upper edge and left edge.
    """
    quarter = np.float32(0.25)
    grid, first, wibble = np.zeros((1, 1), np.float32), 0, 1.0
    blocks = np.array(plain.words(4 * (side * side - 1) // 3 + 4, int(stage), sample)).reshape(-1, 4)
    while len(grid) < side:
        n = len(grid)
        drawn = blocks[first : first + n * n].astype(np.uint32).view(np.int32).astype(np.float32) * np.float32(
            wibble * wibble * 2.0**-31
        )
        centre, upper, left = (drawn[:, k].reshape(n, n) for k in range(3))
        sums = grid + np.roll(grid, -1, 0)
        centre = (sums + np.roll(sums, -1, 1)) * quarter + centre
        upper = (grid + np.roll(grid, -1, 1) + np.roll(centre, 1, 0) + centre) * quarter + upper
        left = (sums + np.roll(centre, 1, 1) + centre) * quarter + left
        first, wibble = first + n * n, wibble / decay
        grid = np.stack(
            [np.stack([grid, upper], -1).reshape(n, 2 * n), np.stack([left, centre], -1).reshape(n, 2 * n)], 1
        ).reshape(2 * n, 2 * n)
    return (grid - grid.min()) / (grid.max() - grid.min())


@pytest.mark.parametrize(
    ("height", "width", "side", "more"),
    [(32, 32, 32, {}), (20, 37, 64, {}), (8, 8, 8, {}), (28, 28, 64, {"map_side": 64})],
)
def test_fog_draws_diamond_square_with_specified_words(height, width, side, more):
    image = synthetic_image(height, width)
    for decay in (1.4, 3.0):
        columns = {"weight": 1.5, "wibble_decay": decay} | more
        plasma = reference_plasma(side, decay, key_of("fog", columns, 4), "x")
        own = corruptset.corrupt(image, "fog", seed=4, key="x", **columns)
        np.testing.assert_array_equal(own, corruptset.corrupt(image, "fog", plasma=plasma, **columns))


@pytest.mark.parametrize("rounding", ["floor", "round"])
def test_fixed_fog_map_is_blended_as_published(rounding):
    plasma = np.random.default_rng(1).random((128, 128))
    plasma[:2, :2] = [[0, 1], [1, 0]]
    coffee = photograph("coffee", 96)
    for image in (
        coffee,
        coffee // 2,
        synthetic_image(9, 31, 1),
        synthetic_image(31, 9),
        np.zeros((8, 8, 3), np.uint8),
    ):
        maximum, sheet = image.max() / 255.0, plasma[: image.shape[0], : image.shape[1], None]
        for weight in (0.2, 1.5, 3.0):
            value = (image / 255.0 + weight * sheet) * maximum / (maximum + weight) * 255.0
            row = {"weight": weight, "wibble_decay": 2.0, "rounding": rounding}
            result = corruptset.corrupt(image, "fog", plasma=plasma, **row)
            check_close(result, np.floor(value + 0.5 * (rounding == "round")), 0.996)
            assert result.max() <= image.max()
    for bad in (np.zeros((36, 36)), np.zeros((64, 40)), np.full((64, 64), 1.5), np.full((64, 64), np.nan)):
        with pytest.raises(corruptset.errors.ParameterError, match="plasma"):
            corruptset.corrupt(synthetic_image(20, 37), "fog", weight=1.0, wibble_decay=2.0, plasma=bad)


# --- snow -----------------------------------------------------------------------------------------------------------

ROW = {"mean": 0.55, "std": 0.3, "zoom": 2.5, "threshold": 0.85, "radius": 12.0, "sigma": 12.0, "mix": 0.55}


def central_slice(length, window):
    first = (length - window) // 2
    return slice(first, first + window)


def reference_snow(image, normals, angle, *, mean, std, zoom, threshold, radius, sigma, mix):
    """Apply the definition in double precision to the middle of the layer, magnified linearly."""
    layer = mean + std * normals
    crop = tuple(central_slice(n, math.ceil(n / zoom)) for n in layer.shape)
    big = ndimage.zoom(layer[crop], zoom, order=1, mode="nearest")
    layer = big[tuple(central_slice(b, n) for b, n in zip(big.shape, layer.shape, strict=True))]
    layer = np.floor(np.clip(np.where(layer < threshold, 0, layer), 0, 1) * 255).astype(np.uint8)
    streaks = motion_filter(layer[None, :, :, None], radius, sigma, np.array([angle]))[0] / 255.0
    x = image / 255.0
    grey = x @ np.array([[0.299], [0.587], [0.114]]) if image.shape[2] == 3 else x
    x = mix * x + (1 - mix) * np.maximum(x, 1.5 * grey + 0.5)
    return np.floor(np.clip(x + streaks + streaks[::-1, ::-1], 0, 1) * 255)


@pytest.mark.parametrize(
    "row", [ROW, ROW | {"zoom": 4.5}, ROW | {"mean": 0.1, "threshold": 0.5, "zoom": 1.0, "radius": 8.0}], ids=str
)
def test_snow_matches_definition(row):
    """Compare values, where single and double precision may differ if a result is a whole number."""
    for shape in ((64, 64, 3), (31, 75, 3), (75, 31, 1), (8, 8, 3)):
        image = photograph("coffee", 96)[: shape[0], : shape[1], : shape[2]]
        normals = np.random.default_rng(3).standard_normal(shape[:2])
        for angle in (-135.0, -45.0):
            result = corruptset.corrupt(image, "snow", normals=normals, angle_deg=angle, **row)
            check_close(result, reference_snow(image, normals, angle, **row), 0.95)
            assert np.mean(result != image) > 0.9


def test_snow_draws_can_be_passed_back():
    """Test that only the middle of a layer is drawn, and the angle is uniform between -135 and -45 degrees.

    A given layer does not change the angle of each image.
    """
    images, ids, row = np.stack([synthetic_image(40, 33)] * 3), number_keys(3), ROW | {"zoom": 3.0}
    keys = Keys(key_of("snow", row), sample_keys(ids))
    angles = keys.uniforms(stream=1, low=-135.0, high=-45.0)
    normals = np.full((3, 40, 33), 50.0)
    normals[:, 13:27, 11:22] = keys.normals(14, 11, stream=0)
    own = corruptset.corrupt(images, "snow", key=ids, **row)
    for layer, angle, expected in zip(normals, angles, own, strict=True):
        np.testing.assert_array_equal(
            corruptset.corrupt(images[0], "snow", normals=layer, angle_deg=angle, **row), expected
        )
    for out, angle in zip(corruptset.corrupt(images, "snow", key=ids, normals=normals[0], **row), angles, strict=True):
        expected = corruptset.corrupt(images[0], "snow", normals=normals[0], angle_deg=angle, **row)
        np.testing.assert_array_equal(out, expected)
