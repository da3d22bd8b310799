"""Test rotation as in MATLAB, which keeps the whole canvas, and as in MNIST-C."""

from __future__ import annotations

import functools
import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from measures import check_close
from skimage.transform import AffineTransform, warp

import corruptset
from corruptset.corruptions.arithmetic import exact_sine_cosine
from corruptset.corruptions.calibrations import SHIPPED, shipped
from corruptset.corruptions.shape.warp import loose_size
from corruptset.corruptions.stages import chain_keys, resolve_stage
from corruptset.errors import ParameterError
from example_images import number_keys, photograph, synthetic_image

PAPER = {"direction": "clockwise", "interpolation": "nearest", "canvas": "loose"}


def rotate(image, angle_deg, **options):
    return corruptset.corrupt(image, "rotate", angle_deg=angle_deg, **options)


def nearest_canvas(image, angle, size, fill):
    """Compute each pixel of the canvas from the nearest pixel, rotated counterclockwise by `angle`."""
    (height, width), (rows, columns) = image.shape[:2], size
    sine, cosine = exact_sine_cosine(angle)
    v, u = (np.arange(rows) - (rows - 1) / 2)[:, None], np.arange(columns) - (columns - 1) / 2
    left = np.floor((cosine * u - sine * v) + width / 2).astype(int)
    top = np.floor((sine * u + cosine * v) + height / 2).astype(int)
    framed = np.pad(image, ((1, 1), (1, 1), (0, 0)), constant_values=fill)
    return framed[np.clip(top, -1, height) + 1, np.clip(left, -1, width) + 1]


def bilinear_canvas(image, angle, size, fill):
    """Compute the canvas with bilinear interpolation by scikit-image."""
    turn, centres = np.array([[0, 1], [-1, 0]]), [(np.array(s[1::-1]) - 1) / 2 for s in (image.shape, size)]
    sine, cosine = exact_sine_cosine(angle)
    full = np.eye(3)
    full[:2, :2] = cosine * np.eye(2) - sine * turn
    full[:2, 2] = centres[0] - full[:2, :2] @ centres[1]
    planes = [
        warp(plane.astype(float), AffineTransform(full), output_shape=size, cval=fill)
        for plane in np.moveaxis(image, 2, 0)
    ]
    return np.stack(planes, axis=-1).round().astype(np.uint8)


@functools.cache
def overlap_weights(size_in, size_out, method):
    """Return the weights of the pixels of a line in those of another one, and their common denominator."""
    out = np.full((size_out, size_in), Fraction(0), object)
    for i in range(size_out):
        begin, end = Fraction(i * size_in, size_out), Fraction((i + 1) * size_in, size_out)
        centre = (begin + end) / 2
        if method == "area":
            for k in range(size_in):
                out[i, k] = max(Fraction(0), min(end, k + 1) - max(begin, k)) / (end - begin)
        elif method == "nearest":
            out[i, math.floor(centre)] = Fraction(1)
        else:
            place = min(max(centre - Fraction(1, 2), 0), size_in - 1)
            left = min(math.floor(place), size_in - 2)
            out[i, left : left + 2] = [1 - (place - left), place - left]
    below = math.lcm(*(f.denominator for f in out.ravel()))
    return (out * below).astype(np.int64), below


def reference_resize(image, size, method):
    """Resize in whole numbers, rounding once with halves up."""
    (down, below), (across, beside) = (overlap_weights(image.shape[axis], size[axis], method) for axis in (0, 1))
    total = below * beside
    mixed = [down @ image[..., c].astype(np.int64) @ across.T for c in range(image.shape[2])]
    return ((2 * np.stack(mixed, axis=-1) + total) // (2 * total)).astype(np.uint8)


def reference_rotate(image, angle, canvas="loose", resize="area", fill=0, reading=nearest_canvas):
    out = reading(image, angle, loose_size(*image.shape[:2], angle) if canvas == "loose" else image.shape[:2], fill)
    return reference_resize(out, image.shape[:2], resize) if canvas == "loose" else out


SHAPES = [(28, 28, 1), (40, 23, 3), (8, 57, 1)]
OPTIONS = [{}, {"fill": 201}, {"resize": "bilinear", "fill": 7}, {"resize": "nearest"}, {"canvas": "crop"}]


def test_rotate_matches_reference_for_every_interpolation_and_inverse():
    for shape, angle, options in itertools.product(SHAPES, (-60.0, 0.0, 30.0, 90.0), OPTIONS):
        image = synthetic_image(*shape)
        result = rotate(image, angle, **PAPER | options)
        np.testing.assert_array_equal(result, reference_rotate(image, -angle, **options), f"{shape} {angle} {options}")
        if not options:  # A clockwise rotation is a counterclockwise one by the negative angle.
            other = rotate(image, -angle, **PAPER | {"direction": "counterclockwise"})
            np.testing.assert_array_equal(result, other)
        if "resize" not in options:  # Halves may be rounded to either side.
            result = rotate(image, angle, **PAPER | options | {"interpolation": "bilinear"})
            check_close(result, reference_rotate(image, -angle, **options, reading=bilinear_canvas), 0.97)
    for angle in (1.0, 44.9, 45.0, 137.3, -271.5, 360.0, 89.99999, 1e-7):
        image = synthetic_image(9, 40, 1)
        np.testing.assert_array_equal(rotate(image, angle, **PAPER, fill=3), reference_rotate(image, -angle, fill=3))
    image = photograph("astronaut", 96)
    np.testing.assert_array_equal(rotate(image, 30.0, **PAPER), reference_rotate(image, -30.0))
    image = synthetic_image(32, 32)
    for options in (PAPER, PAPER | {"canvas": "crop"}, PAPER | {"interpolation": "bilinear"}):
        np.testing.assert_array_equal(rotate(image, 90.0, **options), np.rot90(image, -1), "whole pixels, clockwise")


def test_defaults_match_mnist_c_at_every_size():
    """Test that all tables have the same angles and the options of MNIST-C, with a drawn sign."""
    image = synthetic_image(45, 37)
    for calibration, severity in itertools.product(SHIPPED, range(1, 6)):
        angle = shipped(calibration).row("rotate", severity).parameters["angle_deg"]
        assert angle == pytest.approx(math.degrees(0.2 * severity), rel=1e-12)
        for sign in (-1, 1):
            result = corruptset.corrupt(image, "rotate", severity=severity, calibration=calibration, sign=sign)
            check_close(result, reference_rotate(image, sign * angle, "crop", reading=bilinear_canvas), 0.97)


def test_fixed_direction_draws_nothing_and_is_part_of_key():
    """Test that the direction affects the draws of the next stage, and that the interpolation does not."""
    images = np.repeat(synthetic_image(32, 32)[None], 40, axis=0)
    for direction, kinds in (("clockwise", 1), ("random", 2)):
        outs = rotate(images, 30.0, **PAPER | {"direction": direction}, key=number_keys(40))
        assert len({out.tobytes() for out in outs}) == kinds
    with pytest.raises(ParameterError, match="'sign' is invalid: it is used only if direction is 'random'"):
        rotate(images[0], 30.0, direction="clockwise", sign=1)
    table = shipped("cifar")

    def key(**options):
        stages = [resolve_stage("rotate", table, parameters={"angle_deg": 30.0} | options)]
        return chain_keys([*stages, resolve_stage("salt_pepper", table, parameters={"density": 0.1})], 0)[1]

    assert len({key(), key(direction="clockwise"), key(direction="counterclockwise"), key(angle_deg=-30.0)}) == 4
    assert key() == key(interpolation="nearest") == key(canvas="loose") == key(fill=9) == key(resize="nearest")
    assert key() == key(direction="random", fill=0), "defaults that are spelled out change nothing"


def test_canvas_matches_imrotate():
    """Test ceil(h |cos| + w |sin|) in exact decimals. The sums are whole numbers only at multiples of 90 degrees."""
    for (height, width), angle, size in (
        ((224, 224), 30.0, (306, 306)),
        ((224, 224), -60.0, (306, 306)),
        ((20, 30), 30.0, (33, 36)),
        ((20, 30), 180.0, (20, 30)),
        ((20, 30), -90.0, (30, 20)),
        ((20, 30), 1e-9, (21, 31)),
    ):
        assert loose_size(height, width, angle) == size
