"""Rotation as MATLAB does it, the whole canvas brought back; and as MNIST-C does."""

from __future__ import annotations

import functools
import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

import corruptset
from corruptset.corruptions.arithmetic import decimal_sine_cosine, exact_sine_cosine
from corruptset.corruptions.calibrations import SHIPPED, shipped
from corruptset.corruptions.shape.warp import loose_size, resize_into
from corruptset.corruptions.stages import chain_keys, resolve_stage
from corruptset.errors import ParameterError
from pictures import numbers, painted, photograph

PAPER = {"direction": "clockwise", "interpolation": "nearest", "canvas": "loose"}
SIZES = [(32, 32, 3), (33, 33, 3), (28, 28, 1), (40, 24, 3), (23, 41, 3), (8, 57, 1), (31, 8, 3)]


def rotate(image, angle_deg, **options):
    return corruptset.corrupt(image, "rotate", angle_deg=angle_deg, **options)


def canvas_size(height, width, angle):
    """The least whole canvas, from floats.

    A sum that is whole but for the last bits is taken for whole.
    """
    sine, cosine = abs(math.sin(math.radians(angle))), abs(math.cos(math.radians(angle)))
    return math.ceil(height * cosine + width * sine - 1e-9), math.ceil(width * cosine + height * sine - 1e-9)


def turned(image, angle, interpolation, size, fill):
    """Every canvas pixel by itself: where it comes from, counter-clockwise by `angle`.

    In doubles, as numpy rounds them.
    """
    height, width = image.shape[:2]
    rows, columns = size
    sine, cosine = exact_sine_cosine(angle)
    if interpolation == "nearest":
        v, u = np.meshgrid(np.arange(rows) - (rows - 1) / 2, np.arange(columns) - (columns - 1) / 2, indexing="ij")
        left = np.floor((cosine * u - sine * v) + width / 2).astype(int)
        top = np.floor((sine * u + cosine * v) + height / 2).astype(int)
        outside = (left < 0) | (top < 0) | (left >= width) | (top >= height)
        out = image[np.clip(top, 0, height - 1), np.clip(left, 0, width - 1)].copy()
        out[outside] = fill
        return out
    cx, cy, ox, oy = (width - 1) / 2, (height - 1) / 2, (columns - 1) / 2, (rows - 1) / 2
    y, x = np.mgrid[:rows, :columns]
    sx = cosine * x + -sine * y + (cx - cosine * ox - -sine * oy)
    sy = sine * x + cosine * y + (cy - sine * ox - cosine * oy)
    left, top = np.floor(sx).astype(int), np.floor(sy).astype(int)
    far = ~((sx > -1) & (sy > -1) & (sx < width) & (sy < height))
    # a frame of two pixels: what is further away is only fill
    framed = np.pad(image.astype(float), ((2, 2), (2, 2), (0, 0)), constant_values=fill)
    at = [np.clip(top, -2, height) + 2, np.clip(left, -2, width) + 2]
    u, v = (sx - left)[..., None], (sy - top)[..., None]
    total = (1 - u) * (1 - v) * framed[at[0], at[1]] + u * (1 - v) * framed[at[0], at[1] + 1]
    total = total + (1 - u) * v * framed[at[0] + 1, at[1]] + u * v * framed[at[0] + 1, at[1] + 1]
    total[far] = fill
    return np.rint(total).astype(np.uint8)


@functools.cache
def shares(size_in, size_out, method):
    """The weights of a line's pixels in another's, and their common denominator."""
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


def resized(image, size, method):
    """Another size in whole numbers, rounded once, halves up."""
    (down, below), (across, beside) = (shares(image.shape[axis], size[axis], method) for axis in (0, 1))
    total = below * beside
    mixed = [down @ image[..., c].astype(np.int64) @ across.T for c in range(image.shape[2])]
    return ((2 * np.stack(mixed, axis=-1) + total) // (2 * total)).astype(np.uint8)


def slowly(image, angle, interpolation="nearest", canvas="loose", resize="area", fill=0):
    size = canvas_size(*image.shape[:2], angle) if canvas == "loose" else image.shape[:2]
    out = turned(image, angle, interpolation, size, fill)
    return resized(out, image.shape[:2], resize) if canvas == "loose" else out


@pytest.mark.parametrize("angle", [-60.0, -30.0, 0.0, 30.0, 60.0, 90.0])
def test_equals_the_slow_version(angle):
    """Clockwise by an angle is counter-clockwise by its negative.

    Every way of reading, every way back.
    """
    for shape in SIZES:
        image = painted(*shape)
        both = rotate(np.stack([image, 255 - image]), angle, **PAPER | {"direction": "counterclockwise"})
        np.testing.assert_array_equal(both, [slowly(image, angle), slowly(255 - image, angle)])
        for options in (
            {}, {"fill": 201}, {"resize": "bilinear", "fill": 7}, {"resize": "nearest"}, {"canvas": "crop"},
            {"interpolation": "bilinear", "fill": 99}, {"interpolation": "bilinear", "canvas": "crop", "fill": 99},
        ):  # fmt: skip
            np.testing.assert_array_equal(
                rotate(image, angle, **PAPER | options), slowly(image, -angle, **options), f"{shape} {options}"
            )


def test_equals_the_slow_version_at_other_angles_and_on_a_photograph():
    for angle in (1.0, 44.9, 45.0, 137.3, -271.5, 360.0, 89.99999, 1e-7):
        for image in (painted(29, 32), painted(9, 40, 1)):
            np.testing.assert_array_equal(rotate(image, angle, **PAPER, fill=3), slowly(image, -angle, fill=3))
    np.testing.assert_array_equal(
        rotate(photograph("astronaut"), 30.0, **PAPER), slowly(photograph("astronaut"), -30.0)
    )


@pytest.mark.parametrize("calibration", SHIPPED)
def test_the_defaults_are_mnist_c_s_at_every_size(calibration):
    """The same angles in every table; the sign is drawn; bilinear, cropped, black outside."""
    image = painted(45, 37)
    for severity in range(1, 6):
        angle = shipped(calibration).row("rotate", severity).parameters["angle_deg"]
        assert angle == pytest.approx(math.degrees(0.2 * severity), rel=1e-12)
        each = [slowly(image, sign * angle, "bilinear", "crop") for sign in (-1, 1)]
        for sign, want in zip((-1, 1), each, strict=True):
            got = corruptset.corrupt(image, "rotate", severity=severity, calibration=calibration, sign=sign)
            np.testing.assert_array_equal(got, want)
    drawn = corruptset.corrupt(np.stack([image] * 20), "rotate", severity=5, calibration=calibration, key=numbers(20))
    assert {one.tobytes() for one in drawn} == {e.tobytes() for e in each}
    spelled = {
        "direction": "random",
        "interpolation": "bilinear",
        "canvas": "crop",
        "fill": 0,
        "resize": "area",
        "angle_deg": angle,
    }
    assert dict(resolve_stage("rotate", shipped(calibration), parameters=spelled).parameters) == {"angle_deg": angle}


def test_clockwise_is_clockwise_and_a_quarter_turn_moves_whole_pixels():
    image, tall = painted(32, 32), painted(40, 24)
    for options in (PAPER, PAPER | {"canvas": "crop"}, PAPER | {"interpolation": "bilinear"}):
        np.testing.assert_array_equal(rotate(image, 90.0, **options), np.rot90(image, -1))
        np.testing.assert_array_equal(rotate(image, -90.0, **options), np.rot90(image))
        np.testing.assert_array_equal(rotate(image, 180.0, **options), image[::-1, ::-1])
    np.testing.assert_array_equal(rotate(tall, 90.0, **PAPER), resized(np.rot90(tall, -1), (40, 24), "area"))


def test_a_fixed_direction_draws_nothing_and_is_part_of_the_key():
    """A stage after a rotation to the left draws otherwise than after one right.

    How pixels are read does not matter.
    """
    images = np.repeat(painted(32, 32)[None], 40, axis=0)
    for direction, kinds in (("clockwise", 1), ("random", 2)):
        outs = rotate(images, 30.0, **PAPER | {"direction": direction}, key=numbers(40))
        assert len({out.tobytes() for out in outs}) == kinds
    for direction in ("clockwise", "counterclockwise"):
        with pytest.raises(ParameterError, match="'sign' does not fit: no sign is drawn unless direction is 'random'"):
            rotate(images[0], 30.0, direction=direction, sign=1)
    table = shipped("cifar")

    def key(**options):
        stages = [resolve_stage("rotate", table, parameters={"angle_deg": 30.0} | options)]
        return chain_keys([*stages, resolve_stage("salt_pepper", table, parameters={"density": 0.1})], 0)[1]

    assert len({key(), key(direction="clockwise"), key(direction="counterclockwise"), key(angle_deg=-30.0)}) == 4
    assert key() == key(interpolation="nearest") == key(canvas="loose") == key(fill=9) == key(resize="nearest")


def test_the_canvas_is_imrotate_s():
    """ceil(h |cos| + w |sin|), in exact decimals.

    Whole only at multiples of 90 degrees, where doubles would be in doubt.
    """
    assert loose_size(224, 224, 30.0) == loose_size(224, 224, -60.0) == (306, 306)
    assert loose_size(20, 30, 30.0) == (33, 36)
    assert [loose_size(20, 30, a) for a in (0.0, 90.0, 180.0, -90.0)] == [(20, 30), (30, 20)] * 2
    rng = np.random.default_rng(0)
    for height, width, angle in zip(
        rng.integers(8, 600, 300), rng.integers(8, 600, 300), rng.uniform(-360, 360, 300), strict=True
    ):
        for sign in (1, -1):
            assert loose_size(int(height), int(width), sign * float(angle)) == canvas_size(
                int(height), int(width), float(angle)
            )
    for degrees, sine in ((30.0, "0.5"), (-30.0, "-0.5"), (150.0, "0.5"), (90.0, "1"), (180.0, "0"), (360.0, "0")):
        assert decimal_sine_cosine(degrees)[0] == Decimal(sine)
    assert str(decimal_sine_cosine(60.0)[0]).startswith("0.8660254037844386467637231707529361834714026269")


@pytest.mark.parametrize("method", ["area", "bilinear", "nearest"])
def test_resizing_is_exact(method):
    """Larger, smaller, and both at once.

    Flat stays flat, and rounding is of the exact value, halves up.
    """
    for small, large in (
        ((8, 8), (8, 8)),
        ((9, 31), (16, 80)),
        ((31, 9), (8, 11)),
        ((40, 12), (13, 57)),
        ((64, 64), (91, 91)),
        ((8, 8), (8, 16)),
    ):
        image = np.random.default_rng(1).integers(0, 256, (*large, 3), dtype=np.uint8)
        image[:, ::2, 0] = np.arange(large[0], dtype=np.uint8)[:, None] % 8 * 2 + 1
        image[:, 1::2, 0] = 0
        out = np.empty((2, *small, 3), np.uint8)
        resize_into(np.stack([image, np.full_like(image, 255)]), out, method)
        np.testing.assert_array_equal(out[0], resized(image, small, method))
        assert (out[1] == 255).all()
