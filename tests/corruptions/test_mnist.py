"""MNIST-C's options of shared corruptions, its table, and when it is chosen."""

from __future__ import annotations

import cv2
import numpy as np
import pytest
from measures import check_near
from scipy import ndimage
from skimage import color

import corruptset
from corruptset.corruptions import call
from corruptset.corruptions.calibrations import Calibration, fitting, shipped
from corruptset.corruptions.registry import get_corruption
from corruptset.corruptions.stages import chain_keys, resolve_stage
from corruptset.errors import ParameterError
from pictures import numeral, painted

FIFTEEN = {
    "shot_noise": 5,
    "impulse_noise": 4,
    "glass_blur": 1,
    "motion_blur": 1,
    "shear": 2,
    "scale": 3,
    "rotate": 2,
    "brightness": 5,
    "translate": 3,
    "stripe": 1,
    "fog": 5,
    "spatter": 4,
    "dotted_line": 1,
    "zigzag": 1,
    "canny_edges": 1,
}
PICTURES = [numeral(0), numeral(1), numeral(2), painted(28, 28, 1)]


def corrupt(image, name, severity, **options):
    return corruptset.corrupt(image, name, severity=severity, calibration="mnist", **options)[..., 0].astype(int)


def stored(values):
    return np.round(np.clip(values, 0, 1) * 255)


@pytest.mark.parametrize("severity", [1, 2, 3, 4, 5])
def test_blur_contrast_brightness_and_saturate_are_the_published_arithmetic(severity):
    """Blur across rows only; brightness and saturate through colour; all rounded."""
    rows = {
        name: shipped("mnist").row(name, severity).parameters
        for name in ("gaussian_blur", "contrast", "brightness", "saturate")
    }
    gain, more = rows["saturate"]["gain"], rows["saturate"]["shift"]
    for image in PICTURES:
        x = image[..., 0] / 255.0
        want = stored(ndimage.gaussian_filter1d(x, rows["gaussian_blur"]["sigma"], axis=0, mode="nearest"))
        check_near(corrupt(image, "gaussian_blur", severity), want)
        check_near(corrupt(image, "contrast", severity), stored((x - x.mean()) * rows["contrast"]["factor"] + x.mean()))
        hsv = color.rgb2hsv(color.gray2rgb(x))
        bright = hsv.copy()
        bright[..., 2] = np.clip(bright[..., 2] + rows["brightness"]["shift"], 0, 1)
        lit, saturated = (
            np.float32(np.clip(color.rgb2gray(color.hsv2rgb(v)), 0, 1) * 255)
            for v in (bright, np.clip(hsv * gain + more, 0, 1))
        )
        np.testing.assert_array_equal(corrupt(image, "brightness", severity), np.round(lit))
        check_near(corrupt(image, "saturate", severity), np.round(saturated))
    photo = painted(40, 30)
    want = np.clip(color.hsv2rgb(np.clip(color.rgb2hsv(photo / 255.0) * gain + more, 0, 1)), 0, 1) * 255
    got = corruptset.corrupt(photo, "saturate", gain=float(gain), shift=float(more), scaled="hsv", rounding="round")
    check_near(got, np.round(want), 0.98)


@pytest.mark.parametrize("severity", [1, 2, 3, 4, 5])
def test_elastic_transform_brings_in_black(severity):
    """OpenCV's affine warp and scipy's interpolation with a constant border, as published.

    Both at their own precision.
    """
    alpha, sigma, affine, *_ = shipped("mnist").row("elastic_transform", severity).parameters.values()
    rng = np.random.default_rng(severity)
    points, (field_x, field_y) = rng.uniform(-1, 1, (3, 2)), rng.uniform(-1, 1, (2, 28, 28))
    before = np.float32([[23, 23], [23, 5], [5, 5]])
    matrix = cv2.getAffineTransform(before, before + np.float32(points * affine))
    dx, dy = (
        np.float32(ndimage.gaussian_filter(f, sigma, mode="reflect", truncate=3) * alpha) for f in (field_x, field_y)
    )
    columns, rows = np.meshgrid(np.arange(28), np.arange(28))
    for image in PICTURES:
        x = cv2.warpAffine(np.float32(image[..., 0]) / 255.0, matrix, (28, 28), borderMode=cv2.BORDER_CONSTANT)
        want = stored(ndimage.map_coordinates(x, [rows + dy, columns + dx], order=1, mode="constant"))
        got = corrupt(image, "elastic_transform", severity, points=points, field_x=field_x, field_y=field_y)
        # OpenCV 5 reads at exact places, OpenCV 4 and this package at multiples of 1/32 pixel
        gap = np.abs(got - want)
        assert np.percentile(gap, 98) <= 6
        assert gap.mean() < 1
    white = np.full((28, 28, 1), 255, np.uint8)
    assert (corrupt(white, "elastic_transform", 2) == 0).any()
    assert (corrupt(white, "elastic_transform", 2, border="reflect") >= 254).all()


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
    assert all(severity in table.rows[name] for name, severity in FIFTEEN.items())
    assert corrupt(np.full((28, 28, 1), 255, np.uint8), "fog", 3).std() < 15, "a nearly flat corner of a map of 256"


def test_options_of_a_row_reach_the_stage_its_record_and_where_they_shape_draws_the_key():
    table = shipped("mnist")
    stage = resolve_stage("glass_blur", table, severity=1)
    plain, options = (
        {"sigma": 0.7, "max_delta": 1, "iterations": 2},
        {"axes": "rows", "exchange": "swap", "rounding": "round"},
    )
    assert (stage.severity, stage.as_json()["parameters"]) == (1, plain | options)
    image = numeral(2)
    whole = corruptset.corrupt(image, "glass_blur", severity=1, calibration="mnist")
    np.testing.assert_array_equal(whole, corruptset.corrupt(image, [stage.as_json()], calibration="mnist"))
    np.testing.assert_array_equal(whole, corruptset.corrupt(image, "glass_blur", **plain, **options))

    def key(name, parameters, **more):
        return chain_keys([resolve_stage(name, table, parameters=parameters | more)], 0)[0]

    assert (
        key("glass_blur", plain) == key("glass_blur", plain, rounding="round") == key("glass_blur", plain, axes="rows")
    )
    assert key("glass_blur", plain) != key("glass_blur", plain, exchange="swap")
    fog = {"weight": 1.0, "wibble_decay": 2.0}
    assert key("fog", fog) == key("fog", fog, rounding="round") != key("fog", fog, map_side=256)


def test_the_calibration_follows_from_size_and_channels_and_falls_back_to_cifar(monkeypatch):
    for shape, calibration in (
        ((28, 28), "mnist"),
        ((28, 28, 1), "mnist"),
        ((8, 40, 1), "mnist"),
        ((29, 29, 1), "cifar"),
        ((28, 28, 3), "cifar"),
    ):
        image = np.random.default_rng(0).integers(0, 256, shape, np.uint8)
        got = corruptset.corrupt(image, "contrast", severity=2)
        np.testing.assert_array_equal(got, corruptset.corrupt(image, "contrast", severity=2, calibration=calibration))
    mnist, image = shipped("mnist"), numeral(0)
    assert fitting("mnist").otherwise is shipped("cifar")
    short = Calibration("mnist", 28, {n: r for n, r in mnist.rows.items() if n != "gaussian_blur"}, shipped("cifar"))
    monkeypatch.setattr(call, "fitting", lambda name: short)
    np.testing.assert_array_equal(
        corruptset.corrupt(image, "gaussian_blur", severity=2, scale="side"),
        corruptset.corrupt(image, "gaussian_blur", severity=2, scale="side", calibration="cifar"),
    )
    with pytest.raises(ParameterError, match=r"shear has no rows in calibration 'cifar'.*\(it has some in mnist\)"):
        corruptset.corrupt(image, "shear", severity=2, calibration="cifar")
    with pytest.raises(ParameterError, match="expected a whole number from 1 to 1"):
        corruptset.corrupt(image, "stripe", severity=2)
