"""MNIST-C's way with the shared corruptions: the options, the table, and the choice of the calibration by size.

Each is compared with the published arithmetic, written here with numpy, scipy, scikit-image and OpenCV.
"""

from __future__ import annotations

import cv2
import numpy as np
import pytest
from scipy import ndimage
from skimage import color

import corruptset
from corruptset.corruptions.calibrations import fitting, shipped
from corruptset.corruptions.noise.tables import gaussian_cumulative, shot_cumulative, speckle_cumulative
from corruptset.corruptions.registry import get_corruption
from corruptset.corruptions.stages import chain_keys, resolve_stage
from corruptset.errors import ParameterError
from pictures import numbers, numeral, painted

FIFTEEN = {
    "shot_noise": 5, "impulse_noise": 4, "glass_blur": 1, "motion_blur": 1, "shear": 2, "scale": 3, "rotate": 2,
    "brightness": 5,
    "translate": 3, "stripe": 1, "fog": 5, "spatter": 4, "dotted_line": 1, "zigzag": 1, "canny_edges": 1,
}  # fmt: skip
PICTURES = [numeral(0), numeral(1), numeral(2), painted(28, 28, 1)]
pictures = pytest.mark.parametrize("picture", range(len(PICTURES)))


def corrupt(image, name, severity, **options):
    return corruptset.corrupt(image, name, severity=severity, calibration="mnist", **options)[..., 0].astype(int)


def stored(values):
    return np.round(np.clip(values, 0, 1) * 255)


def assert_near(got, want, identical=0.99):
    gap = np.abs(got - want)
    assert gap.max() <= 1
    assert (gap == 0).mean() >= identical


def row(name, severity):
    return shipped("mnist").row(name, severity).parameters


@pytest.mark.parametrize("severity", [1, 2, 3, 4, 5])
@pictures
def test_gaussian_blur_is_across_rows_only_and_rounded(picture, severity):
    image = PICTURES[picture]
    want = stored(
        ndimage.gaussian_filter1d(image[..., 0] / 255.0, [1, 2, 3, 4, 6][severity - 1], axis=0, mode="nearest")
    )
    assert_near(corrupt(image, "gaussian_blur", severity), want)
    floored = corrupt(image, "gaussian_blur", severity, rounding="floor")
    assert (floored <= want).all()
    assert (floored < want).mean() > 0.05
    colour = corruptset.corrupt(painted(20, 30), "gaussian_blur", sigma=2.0, axes="rows")
    for c in range(3):
        alone = corruptset.corrupt(painted(20, 30)[:, :, c : c + 1].copy(), "gaussian_blur", sigma=2.0, axes="rows")
        np.testing.assert_array_equal(colour[:, :, c], alone[:, :, 0])


@pytest.mark.parametrize("severity", [1, 2, 3, 4, 5])
def test_glass_swaps_every_second_pixel(severity):
    image = numeral(0)
    p = row("glass_blur", severity)
    d, shape = p["max_delta"], (p["iterations"], 28 - 2 * p["max_delta"], 28 - 2 * p["max_delta"])
    rng = np.random.default_rng(severity)
    deltas, swaps = rng.integers(-d, d, (*shape, 2)), rng.integers(0, 2, shape)

    def blurred(x):
        return ndimage.gaussian_filter1d(x / 255.0, p["sigma"], axis=0, mode="nearest")

    x = np.uint8(blurred(image[..., 0]) * 255)
    for i in range(shape[0]):
        for a, h in enumerate(range(28 - d, d, -1)):
            for b, w in enumerate(range(28 - d, d, -1)):
                if swaps[i, a, b]:
                    dx, dy = deltas[i, a, b]
                    x[h, w], x[h + dy, w + dx] = int(x[h + dy, w + dx]), int(x[h, w])
    assert_near(corrupt(image, "glass_blur", severity, deltas=deltas, swaps=swaps), stored(blurred(x)))
    drawn = [corrupt(image, "glass_blur", severity, key=str(k), swaps=swaps) for k in range(2)]
    assert not np.array_equal(*drawn)


def test_drawn_swaps_keep_every_pixel_and_are_fair():
    ramp = np.arange(256, dtype=np.uint8).reshape(16, 16, 1)
    # a blur of no width, so that only the exchange is left; its floor may take one level
    own = {"sigma": 0.01, "max_delta": 1, "iterations": 1, "exchange": "swap", "rounding": "round"}
    base = corruptset.corrupt(ramp, "gaussian_blur", sigma=0.01)
    nothing = corruptset.corrupt(ramp, "glass_blur", **own, swaps=np.zeros((1, 14, 14), np.uint8))
    np.testing.assert_array_equal(nothing, base)
    moved = []
    for key in range(40):
        out = corruptset.corrupt(ramp, "glass_blur", **own, key=str(key))
        assert sorted(out.ravel()) == sorted(base.ravel())
        moved.append((out != base).mean())
    ones = np.ones((1, 14, 14), np.uint8)
    every = np.mean(
        [(corruptset.corrupt(ramp, "glass_blur", **own, key=str(k), swaps=ones) != base).mean() for k in range(40)]
    )
    assert 0.3 < np.mean(moved) < every - 0.1
    with pytest.raises(ParameterError, match="unless exchange is 'swap'"):
        corruptset.corrupt(ramp, "glass_blur", sigma=0.5, max_delta=1, iterations=1, swaps=ones)


@pytest.mark.parametrize("severity", [1, 5])
@pictures
def test_fog_is_a_corner_of_a_map_of_256(picture, severity):
    image = PICTURES[picture]
    weight = [1.5, 2.0, 2.5, 2.5, 3.0][severity - 1]
    rng = np.random.default_rng(5)
    plasma = rng.random((256, 256)).astype(np.float32)
    x = image[..., 0] / 255.0
    want = stored((x + weight * plasma[:28, :28]) * x.max() / (x.max() + weight))
    assert_near(corrupt(image, "fog", severity, plasma=plasma), want)
    white = np.full((28, 28, 1), 255, np.uint8)
    corners = np.stack([corrupt(white, "fog", severity, key=str(k)) for k in range(20)])
    whole = np.stack([corrupt(white, "fog", severity, key=str(k), map_side=28) for k in range(20)])
    assert corners.std(axis=(1, 2)).mean() < 0.5 * whole.std(axis=(1, 2)).mean()
    assert corners.mean(axis=(1, 2)).std() > 1.5 * whole.mean(axis=(1, 2)).std()


@pytest.mark.parametrize("severity", [1, 2, 3, 4, 5])
@pictures
def test_brightness_and_saturate_go_through_colour(picture, severity):
    image = PICTURES[picture]
    shift = [0.1, 0.2, 0.3, 0.4, 0.5][severity - 1]
    gain, more = [(0.3, 0), (0.1, 0), (2, 0), (5, 0.1), (20, 0.2)][severity - 1]
    hsv = color.rgb2hsv(color.gray2rgb(image[..., 0] / 255.0))
    bright = hsv.copy()
    bright[..., 2] = np.clip(bright[..., 2] + shift, 0, 1)
    want = np.round(np.float32(np.clip(color.rgb2gray(color.hsv2rgb(bright)), 0, 1) * 255))
    np.testing.assert_array_equal(corrupt(image, "brightness", severity), want)
    want = np.round(np.float32(np.clip(color.rgb2gray(color.hsv2rgb(np.clip(hsv * gain + more, 0, 1))), 0, 1) * 255))
    assert_near(corrupt(image, "saturate", severity), want)
    photo = painted(40, 30)
    want = np.clip(color.hsv2rgb(np.clip(color.rgb2hsv(photo / 255.0) * gain + more, 0, 1)), 0, 1) * 255
    got = corruptset.corrupt(
        photo, "saturate", gain=float(gain), shift=float(more), scaled="hsv", rounding="round"
    ).astype(int)
    assert_near(got, np.round(want), 0.98)


@pytest.mark.parametrize("severity", [1, 2, 3, 4, 5])
@pictures
def test_contrast_and_spatter_are_rounded_and_mud_is_63(picture, severity):
    image = PICTURES[picture]
    x = image[..., 0] / 255.0
    factor = [0.4, 0.3, 0.2, 0.1, 0.05][severity - 1]
    assert_near(corrupt(image, "contrast", severity), stored((x - x.mean()) * factor + x.mean()))
    mean, std = (0.67, 0.4) if severity == 5 else (0.65, 0.3)
    sigma, threshold, blur = [(4, 0.69, 0.6), (3, 0.68, 0.6), (2, 0.68, 0.5), (1, 0.65, 1.5), (1, 0.65, 1.5)][
        severity - 1
    ]
    normals = np.random.default_rng(severity).normal(size=(28, 28))
    liquid = ndimage.gaussian_filter(mean + std * normals, sigma, mode="nearest")
    mud = ndimage.gaussian_filter((liquid > threshold).astype(np.float32), blur, mode="nearest")
    mud[mud < 0.8] = 0
    want = stored(np.float32(x) * (1 - mud) + 63 / 255 * mud)
    assert_near(corrupt(image, "spatter", severity, normals=normals), want)
    assert np.any(mud > 0)


@pytest.mark.parametrize("severity", [1, 2, 3, 4, 5])
@pictures
def test_elastic_transform_brings_in_black(picture, severity):
    """OpenCV's affine warp and scipy's interpolation with a constant border, as published; both at their own
    precision.
    """
    image = PICTURES[picture]
    alpha, sigma, affine = (
        28 * v
        for v in [(2, 0.7, 0.1), (2, 0.08, 0.2), (0.05, 0.01, 0.02), (0.07, 0.01, 0.02), (0.12, 0.01, 0.02)][
            severity - 1
        ]
    )
    rng = np.random.default_rng(severity)
    points = rng.uniform(-1, 1, (3, 2))
    field_x, field_y = rng.uniform(-1, 1, (2, 28, 28))
    x = np.float32(image[..., 0]) / 255.0
    before = np.float32([[23, 23], [23, 5], [5, 5]])
    matrix = cv2.getAffineTransform(before, before + np.float32(points * affine))
    x = cv2.warpAffine(x, matrix, (28, 28), borderMode=cv2.BORDER_CONSTANT)
    dx, dy = (
        np.float32(ndimage.gaussian_filter(f, sigma, mode="reflect", truncate=3) * alpha) for f in (field_x, field_y)
    )
    columns, rows = np.meshgrid(np.arange(28), np.arange(28))
    want = stored(ndimage.map_coordinates(x, [rows + dy, columns + dx], order=1, mode="constant"))
    got = corrupt(image, "elastic_transform", severity, points=points, field_x=field_x, field_y=field_y)
    # OpenCV 5 reads at exact places, OpenCV 4 and this package at multiples of 1/32 pixel
    gap = np.abs(got - want)
    assert np.percentile(gap, 98) <= 6
    assert gap.mean() < 1
    black = corrupt(np.full((28, 28, 1), 255, np.uint8), "elastic_transform", 2)
    assert (black == 0).any()
    assert (corrupt(np.full((28, 28, 1), 255, np.uint8), "elastic_transform", 2, border="reflect") >= 254).all()


@pictures
def test_snow_frost_zoom_and_defocus_are_rounded(picture):
    """What is rounded lies above what is floored, by one level at most, on about half of the pixels that have
    fractions.
    """
    image = PICTURES[picture]
    for name in ("snow", "zoom_blur", "defocus_blur", "frost"):
        rounded, floored = corrupt(image, name, 3), corrupt(image, name, 3, rounding="floor")
        gap = rounded - floored
        assert set(np.unique(gap)) <= {0, 1}, name
        assert 0.01 < (gap == 1).mean() < 0.8, name
    texture = np.full((28, 28, 1), 101, np.uint8)
    want = np.floor(np.clip(0.8 * image[..., 0] + 0.6 * texture[..., 0], 0, 255) + 0.5)
    assert_near(corrupt(image, "frost", 2, texture=texture), want)


def test_noise_is_rounded():
    """Half a level, exactly: the mean of rounded noise is that of the noise, of floored noise it is half a
    level lower.
    """
    grey = np.full((200, 28, 28, 1), 128, np.uint8)
    for name, sigma in (("gaussian_noise", 0.02 * 255), ("speckle_noise", 0.02 * 128)):
        rounded = corruptset.corrupt(grey, name, sigma=0.02, rounding="round", key=numbers(200)).mean() - 128
        floored = corruptset.corrupt(grey, name, sigma=0.02, key=numbers(200)).mean() - 128
        tolerance = 5 * sigma / np.sqrt(grey.size)
        assert abs(rounded) < tolerance
        assert abs(floored + 0.5) < tolerance
    counts = corruptset.corrupt(grey, "shot_noise", photons=4.0, rounding="round", key=numbers(200))
    assert set(np.unique(counts)) == {0, 64, 128, 191, 255}
    assert set(np.unique(corruptset.corrupt(grey, "shot_noise", photons=4.0, key=numbers(200)))) == {
        0,
        63,
        127,
        191,
        255,
    }
    for cumulative, parameter in ((gaussian_cumulative, 0.1), (speckle_cumulative, 0.1), (shot_cumulative, 4.0)):
        plain, shifted = cumulative(parameter), cumulative(parameter, 0.5)
        assert (shifted <= plain).all()
        assert (shifted < plain).any()
        assert (np.diff(shifted) >= 0).all()


def test_the_rows_say_what_mnist_c_does():
    table = shipped("mnist")
    assert table.side == 28
    published = {
        n: rows
        for n, rows in table.rows.items()
        if all(row.source.startswith("Mu & Gilmer 2019") for row in rows.values())
    }
    assert len(published) >= 30
    rounded = {
        n for n, rows in published.items() if all(r.parameters.get("rounding") == "round" for r in rows.values())
    }
    assert rounded == {n for n in published if any(p.name == "rounding" for p in get_corruption(n).parameters)}
    assert {n for n, rows in table.rows.items() if "axes" in rows[1].parameters} == {"gaussian_blur", "glass_blur"}
    for name, severity in FIFTEEN.items():
        assert severity in table.rows[name]


def test_options_of_a_row_reach_the_stage_and_its_record():
    table = shipped("mnist")
    stage = resolve_stage("glass_blur", table, severity=1)
    options = {"axes": "rows", "exchange": "swap", "rounding": "round"}
    assert stage.as_json()["parameters"] == {"sigma": 0.7, "max_delta": 1, "iterations": 2, **options}
    assert stage.severity == 1
    image = numeral(2)
    whole = corruptset.corrupt(image, "glass_blur", severity=1, calibration="mnist")
    again = corruptset.corrupt(image, [stage.as_json()], calibration="mnist")
    np.testing.assert_array_equal(whole, again)
    np.testing.assert_array_equal(
        whole, corruptset.corrupt(image, "glass_blur", sigma=0.7, max_delta=1, iterations=2, **options)
    )
    # rounding is no part of the key, what shapes the draws is
    plain = {"sigma": 0.7, "max_delta": 1, "iterations": 2}

    def key(**more):
        return chain_keys([resolve_stage("glass_blur", table, parameters=plain | more)], 0)[0]

    assert key() == key(rounding="round") == key(axes="rows")
    assert key() != key(exchange="swap")
    fog = {"weight": 1.0, "wibble_decay": 2.0}
    keys = [
        chain_keys([resolve_stage("fog", table, parameters=fog | more)], 0)[0]
        for more in ({}, {"map_side": 256}, {"rounding": "round"})
    ]
    assert keys[0] == keys[2] != keys[1]


def test_the_calibration_follows_from_size_and_channels():
    for shape, calibration in (
        ((28, 28), "mnist"), ((28, 28, 1), "mnist"), ((8, 40, 1), "mnist"), ((29, 29, 1), "cifar"), ((28, 28, 3),
        "cifar"),
    ):  # fmt: skip
        image = np.random.default_rng(0).integers(0, 256, shape, np.uint8)
        got = corruptset.corrupt(image, "contrast", severity=2)
        np.testing.assert_array_equal(got, corruptset.corrupt(image, "contrast", severity=2, calibration=calibration))


def test_a_corruption_without_a_row_falls_back_to_cifar(monkeypatch):
    from corruptset.corruptions import calibrations
    from corruptset.corruptions import call as resolution

    mnist = shipped("mnist")
    short = calibrations.Calibration(
        "mnist", 28, {n: r for n, r in mnist.rows.items() if n != "gaussian_blur"}, shipped("cifar")
    )
    assert short.row("gaussian_blur", 2) == shipped("cifar").row("gaussian_blur", 2)
    assert (short.of("gaussian_blur").side, short.of("fog").side) == (32, 28)
    assert fitting("mnist").otherwise is shipped("cifar")
    assert fitting("cifar") is shipped("cifar")
    monkeypatch.setattr(resolution, "fitting", lambda name: short)
    image = numeral(0)
    np.testing.assert_array_equal(
        corruptset.corrupt(image, "gaussian_blur", severity=2, scale="side"),
        corruptset.corrupt(image, "gaussian_blur", severity=2, scale="side", calibration="cifar"),
    )
    with pytest.raises(ParameterError, match=r"shear has no rows in calibration 'cifar'.*\(it has some in mnist\)"):
        corruptset.corrupt(image, "shear", severity=2, calibration="cifar")
    with pytest.raises(ParameterError, match="expected a whole number from 1 to 1"):
        corruptset.corrupt(image, "stripe", severity=2)
