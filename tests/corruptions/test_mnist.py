"""Test the options that corruptions have for MNIST-C, its table, and when it is selected."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from measures import check_close
from scipy import ndimage
from skimage import color

import corruptset
from corruptset.corruptions import call
from corruptset.corruptions.calibrations import Calibration, for_shape, shipped, with_fallback
from corruptset.corruptions.stages import resolve_stage
from corruptset.errors import ParameterError
from example_images import digit_image, synthetic_image

PICTURES = [digit_image(0), digit_image(1), synthetic_image(28, 28, 1)]


def corrupt(image, name, severity, **options):
    return corruptset.corrupt(image, name, severity=severity, calibration="mnist", **options)[..., 0].astype(int)


def to_uint8(values):
    return np.round(np.clip(values, 0, 1) * 255)


def apply_hsv(grey, change):
    """Return a grey image in 0..1 after a change in HSV, computed by scikit-image, in grey values."""
    hsv = change(color.rgb2hsv(color.gray2rgb(grey)))
    return np.round(np.float32(np.clip(color.rgb2gray(color.hsv2rgb(np.clip(hsv, 0, 1))), 0, 1) * 255))


def test_blur_contrast_brightness_and_saturate_match_published_arithmetic():
    """Test blurs along rows only, brightness and saturate through colour, and rounding."""
    names = ("gaussian_blur", "contrast", "brightness", "saturate")
    for severity, image in itertools.product(range(1, 6), PICTURES):
        blur, contrast, brightness, saturate = (shipped("mnist").row(n, severity).parameters for n in names)
        gain, shift = saturate["gain"], saturate["shift"]
        x = image[..., 0] / 255.0
        expected = to_uint8(ndimage.gaussian_filter1d(x, blur["sigma"], axis=0, mode="nearest"))
        check_close(corrupt(image, "gaussian_blur", severity), expected)
        expected = to_uint8((x - x.mean()) * contrast["factor"] + x.mean())
        check_close(corrupt(image, "contrast", severity), expected)
        lit = apply_hsv(x, lambda hsv, by=brightness["shift"]: hsv + np.array([0, 0, by]))
        np.testing.assert_array_equal(corrupt(image, "brightness", severity), lit)
        expected = apply_hsv(x, lambda hsv, gain=gain, shift=shift: hsv * gain + shift)
        check_close(corrupt(image, "saturate", severity), expected)
        photo = synthetic_image(40, 30)
        expected = to_uint8(color.hsv2rgb(np.clip(color.rgb2hsv(photo / 255.0) * gain + shift, 0, 1)))
        row = {"gain": float(gain), "shift": float(shift), "scaled": "hsv", "rounding": "round"}
        check_close(corruptset.corrupt(photo, "saturate", **row), expected, 0.98)


def test_fog_uses_corner_of_map_of_256():
    assert corrupt(np.full((28, 28, 1), 255, np.uint8), "fog", 3).std() < 15, "it is nearly flat"


def test_options_of_row_reach_stage_and_record():
    table, image = shipped("mnist"), digit_image(2)
    row = {"sigma": 0.7, "max_delta": 1, "iterations": 2, "axes": "rows", "exchange": "swap", "rounding": "round"}
    stage = resolve_stage("glass_blur", table, severity=1)
    assert (stage.severity, stage.as_json()["parameters"]) == (1, row)
    result = corruptset.corrupt(image, "glass_blur", severity=1, calibration="mnist")
    np.testing.assert_array_equal(result, corruptset.corrupt(image, [stage.as_json()], calibration="mnist"))
    np.testing.assert_array_equal(result, corruptset.corrupt(image, "glass_blur", **row))


def test_calibration_follows_size_and_channels_with_cifar_as_fallback(monkeypatch):
    for shape, name in (((28, 28), "mnist"), ((8, 40, 1), "mnist"), ((29, 29, 1), "cifar"), ((28, 28, 3), "cifar")):
        image = np.random.default_rng(0).integers(0, 256, shape, np.uint8)
        expected = corruptset.corrupt(image, "contrast", severity=2, calibration=name)
        np.testing.assert_array_equal(corruptset.corrupt(image, "contrast", severity=2), expected)
    assert [for_shape(side, 99) for side in (48, 49, 96, 97)] == ["cifar", "tiny", "tiny", "imagenet"]
    mnist, image = shipped("mnist"), digit_image(0)
    assert with_fallback("mnist").fallback is shipped("cifar")
    short = Calibration("mnist", 28, {n: r for n, r in mnist.rows.items() if n != "gaussian_blur"}, shipped("cifar"))
    monkeypatch.setattr(call, "with_fallback", lambda name: short)
    np.testing.assert_array_equal(
        corruptset.corrupt(image, "gaussian_blur", severity=2, scale="side"),
        corruptset.corrupt(image, "gaussian_blur", severity=2, scale="side", calibration="cifar"),
    )
    with pytest.raises(
        ParameterError, match=r"shear has no rows in calibration 'cifar'\..*a calibration that has rows for it: mnist\."
    ):
        corruptset.corrupt(image, "shear", severity=2, calibration="cifar")
