"""Rotation as MATLAB does it (fixed direction, nearest, the whole canvas, brought back) beside MNIST-C's, which stays
as it was.
"""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

import corruptset
from corruptset.corruptions.arithmetic import decimal_sine_cosine, exact_sine_cosine
from corruptset.corruptions.calibrations import shipped
from corruptset.corruptions.shape.warp import loose_size, resize_into, warp
from corruptset.corruptions.stages import chain_keys, resolve_stage
from corruptset.errors import ParameterError
from pictures import numbers, numeral, painted, photograph

PAPER = {"direction": "clockwise", "interpolation": "nearest", "canvas": "loose"}
SIZES = [(32, 32, 3), (33, 33, 3), (28, 28, 1), (40, 24, 3), (23, 41, 3), (8, 57, 1), (31, 8, 3)]
ANGLES = (-60.0, -30.0, 0.0, 30.0, 60.0, 90.0)


def rotate(image, angle_deg, **options):
    return corruptset.corrupt(image, "rotate", angle_deg=angle_deg, **options)


# --- slow versions -------------------------------------------------------------------------------------------------


def canvas_size(height, width, angle):
    """The least whole canvas, from floats; a sum that is whole but for the last bits is taken for whole."""
    sine, cosine = abs(math.sin(math.radians(angle))), abs(math.cos(math.radians(angle)))
    return math.ceil(height * cosine + width * sine - 1e-9), math.ceil(width * cosine + height * sine - 1e-9)


def turned(image, angle, interpolation, size, fill):
    """Every canvas pixel by itself: where it comes from, counter-clockwise by `angle`; in doubles, as numpy rounds
    them.
    """
    height, width, channels = image.shape
    rows, columns = size
    sine, cosine = exact_sine_cosine(angle)
    out = np.empty((rows, columns, channels))
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


def shares(size_in, size_out, method):
    """The weights of a line's pixels in another's, as fractions: (size_out, size_in)."""
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
    return out


def whole(fractions):
    """Return fractions as whole numbers over their common denominator, and that."""
    below = math.lcm(*(f.denominator for f in fractions.ravel()))
    return (fractions * below).astype(np.int64), below


def resized(image, size, method):
    """Another size in whole numbers, rounded once, halves up."""
    down, below = whole(shares(image.shape[0], size[0], method))
    across, beside = whole(shares(image.shape[1], size[1], method))
    total = below * beside
    mixed = [down @ image[..., c].astype(np.int64) @ across.T for c in range(image.shape[2])]
    return ((2 * np.stack(mixed, axis=-1) + total) // (2 * total)).astype(np.uint8)


def slowly(image, angle, interpolation="nearest", canvas="loose", resize="area", fill=0):
    size = canvas_size(*image.shape[:2], angle) if canvas == "loose" else image.shape[:2]
    out = turned(image, angle, interpolation, size, fill)
    return resized(out, image.shape[:2], resize) if canvas == "loose" else out


@pytest.mark.parametrize("angle", ANGLES)
@pytest.mark.parametrize("shape", SIZES, ids=str)
def test_equals_the_slow_version(shape, angle):
    """Clockwise by an angle is counter-clockwise by its negative; every way of reading, every way back."""
    image = painted(*shape)
    np.testing.assert_array_equal(rotate(image, angle, **PAPER), slowly(image, -angle))
    np.testing.assert_array_equal(
        rotate(image, angle, **PAPER | {"direction": "counterclockwise"}), slowly(image, angle)
    )
    np.testing.assert_array_equal(rotate(image, angle, **PAPER, fill=201), slowly(image, -angle, fill=201))
    for resize in ("bilinear", "nearest"):
        np.testing.assert_array_equal(
            rotate(image, angle, **PAPER, resize=resize, fill=7), slowly(image, -angle, resize=resize, fill=7)
        )
    for canvas in ("loose", "crop"):
        options = PAPER | {"interpolation": "bilinear", "canvas": canvas, "fill": 99}
        want = slowly(image, -angle, "bilinear", canvas, fill=99)
        np.testing.assert_array_equal(rotate(image, angle, **options), want)
    np.testing.assert_array_equal(
        rotate(image, angle, **PAPER | {"canvas": "crop"}), slowly(image, -angle, canvas="crop")
    )


@pytest.mark.parametrize("angle", [0.0, 1.0, 44.9, 45.0, 137.3, -271.5, 360.0, 89.99999, 1e-7])
def test_equals_the_slow_version_at_other_angles(angle):
    for shape in ((29, 32, 3), (9, 40, 1)):
        image = painted(*shape)
        np.testing.assert_array_equal(rotate(image, angle, **PAPER, fill=3), slowly(image, -angle, fill=3))


def test_a_photograph_at_224_equals_the_slow_version():
    image = photograph("astronaut")
    np.testing.assert_array_equal(rotate(image, 30.0, **PAPER), slowly(image, -30.0))


# --- what MNIST-C's rotation was before it had options ---------------------------------------------------------------


@pytest.mark.parametrize("severity", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("calibration", ["imagenet", "inception", "tiny", "cifar", "mnist"])
def test_the_defaults_are_mnist_c_s_at_every_size(calibration, severity):
    """The same angles in every table; the sign is drawn; bilinear, cropped, black outside."""
    image = painted(45, 37)
    angle = math.degrees(0.2 * severity)
    assert shipped(calibration).row("rotate", severity).parameters == {"angle_deg": pytest.approx(angle, rel=1e-12)}
    angle = shipped(calibration).row("rotate", severity).parameters["angle_deg"]
    each = [slowly(image, sign * angle, "bilinear", "crop") for sign in (-1, 1)]
    for sign, want in zip((-1, 1), each, strict=True):
        got = corruptset.corrupt(image, "rotate", severity=severity, calibration=calibration, sign=sign)
        np.testing.assert_array_equal(got, want)
    drawn = {
        corruptset.corrupt(image, "rotate", severity=severity, calibration=calibration, key=str(k)).tobytes()
        for k in range(20)
    }
    assert drawn == {e.tobytes() for e in each}
    spelled = {"direction": "random", "interpolation": "bilinear", "canvas": "crop", "fill": 0, "resize": "area"}
    plain = corruptset.corrupt(image, "rotate", severity=severity, calibration=calibration)
    np.testing.assert_array_equal(
        plain, corruptset.corrupt(image, "rotate", severity=severity, calibration=calibration, **spelled)
    )
    assert dict(
        resolve_stage("rotate", shipped(calibration), parameters=spelled | {"angle_deg": angle}).parameters
    ) == {"angle_deg": angle}


# --- directions ------------------------------------------------------------------------------------------------------


def arrow(side=61):
    """An arrow that points up, on white."""
    image = np.full((side, side, 1), 255, np.uint8)
    middle = side // 2
    for y in range(6, side - 6):
        half = y - 5 if y < 16 else 2
        image[y, middle - half : middle + half + 1] = 0
    return image


def points_to(image, drawn_below=128):
    """The angle, clockwise from up, at which the arrow's head lies from the middle of its ink."""
    y, x = np.nonzero(image[..., 0] < drawn_below)
    dy, dx = y - (image.shape[0] - 1) / 2, x - (image.shape[1] - 1) / 2
    spread = np.linalg.eigh(np.cov(dx, dy))[1][:, 1]
    head = spread * np.sign(((dx - dx.mean()) * spread[0] + (dy - dy.mean()) * spread[1])[np.argmax(np.hypot(dx, dy))])
    # the head is heavier: the ink's middle lies towards it
    head = head * np.sign(dx.mean() * head[0] + dy.mean() * head[1])
    return math.degrees(math.atan2(head[0], -head[1]))


@pytest.mark.parametrize("canvas", ["loose", "crop"])
@pytest.mark.parametrize("interpolation", ["nearest", "bilinear"])
@pytest.mark.parametrize("angle", [30, 60, -30, -60])
def test_clockwise_is_clockwise(angle, interpolation, canvas):
    options = {"interpolation": interpolation, "canvas": canvas, "fill": 255}
    assert abs(points_to(arrow())) < 1
    assert points_to(rotate(arrow(), angle, direction="clockwise", **options)) == pytest.approx(angle, abs=3)
    assert points_to(rotate(arrow(), angle, direction="counterclockwise", **options)) == pytest.approx(-angle, abs=3)
    np.testing.assert_array_equal(
        rotate(arrow(), angle, direction="clockwise", **options),
        rotate(arrow(), -angle, direction="counterclockwise", **options),
    )
    assert points_to(rotate(arrow(), angle, sign=1, **options)) == pytest.approx(-angle, abs=3)


def test_a_quarter_turn_moves_whole_pixels():
    image = painted(32, 32)
    for options in (PAPER, PAPER | {"canvas": "crop"}, PAPER | {"interpolation": "bilinear"}):
        np.testing.assert_array_equal(rotate(image, 90.0, **options), np.rot90(image, -1))
        np.testing.assert_array_equal(rotate(image, -90.0, **options), np.rot90(image))
        np.testing.assert_array_equal(rotate(image, 180.0, **options), image[::-1, ::-1])
        np.testing.assert_array_equal(rotate(image, 0.0, **options), image)
    tall = painted(40, 24)
    np.testing.assert_array_equal(rotate(tall, 90.0, **PAPER), resized(np.rot90(tall, -1), (40, 24), "area"))


def test_a_fixed_direction_draws_nothing():
    images = np.repeat(painted(32, 32)[None], 40, axis=0)
    assert len({o.tobytes() for o in rotate(images, 30.0, **PAPER)}) == 1
    assert len({o.tobytes() for o in rotate(images, 30.0, **PAPER | {"direction": "random"}, key=numbers(40))}) == 2
    np.testing.assert_array_equal(rotate(images[0], 30.0, **PAPER, seed=1), rotate(images[0], 30.0, **PAPER, seed=2))
    for direction in ("clockwise", "counterclockwise"):
        with pytest.raises(ParameterError, match=r"'sign' does not fit: no sign is drawn unless direction is 'random'"):
            rotate(images[0], 30.0, direction=direction, sign=1)


def test_what_is_part_of_the_key():
    """A stage after a rotation to the left draws otherwise than after one to the right; how pixels are read does not
    matter.
    """
    table = shipped("cifar")

    def key(**options):
        stages = [resolve_stage("rotate", table, parameters={"angle_deg": 30.0} | options)]
        return chain_keys([*stages, resolve_stage("salt_pepper", table, parameters={"density": 0.1})], 0)[1]

    assert len({key(), key(direction="clockwise"), key(direction="counterclockwise"), key(angle_deg=-30.0)}) == 4
    assert (
        key()
        == key(interpolation="nearest")
        == key(canvas="loose")
        == key(fill=9)
        == key(resize="nearest")
        == key(direction="random")
    )


# --- the canvas ------------------------------------------------------------------------------------------------------


def test_the_canvas_is_imrotate_s():
    """ceil(h |cos| + w |sin|), in exact decimals: whole only at multiples of 90 degrees, where doubles would be in
    doubt.
    """
    assert loose_size(224, 224, 30.0) == loose_size(224, 224, -60.0) == (306, 306)
    assert loose_size(32, 32, 45.0) == (46, 46)
    assert loose_size(20, 30, 30.0) == (33, 36)
    assert [loose_size(20, 30, a) for a in (0.0, 90.0, 180.0, -90.0, 270.0, 360.0)] == [
        (20, 30),
        (30, 20),
        (20, 30),
        (30, 20),
        (30, 20),
        (20, 30),
    ]
    rng = np.random.default_rng(0)
    for height, width, angle in zip(
        rng.integers(8, 600, 300), rng.integers(8, 600, 300), rng.uniform(-360, 360, 300), strict=True
    ):
        got = loose_size(int(height), int(width), float(angle))
        assert got == canvas_size(int(height), int(width), float(angle))
        assert loose_size(int(height), int(width), -float(angle)) == got


def test_sines_in_decimals_are_exact():
    for degrees, sine in ((30.0, "0.5"), (-30.0, "-0.5"), (150.0, "0.5"), (90.0, "1"), (180.0, "0"), (360.0, "0")):
        assert decimal_sine_cosine(degrees)[0] == Decimal(sine)
    sine, cosine = decimal_sine_cosine(45.0)
    assert abs(sine * sine * 2 - 1) < Decimal("1e-27")
    assert sine == cosine
    assert str(decimal_sine_cosine(60.0)[0]).startswith("0.8660254037844386467637231707529361834714026269")


@pytest.mark.parametrize("fill", [0, 128, 255])
@pytest.mark.parametrize("angle", [30, 60, -30, -60, 45, 10])
def test_corners_are_as_large_as_geometry_says(angle, fill):
    """A square of side s on a canvas of side s (|cos| + |sin|): what is left over is 1 - 1 / (|cos| + |sin|)**2."""
    image = np.full((224, 224, 3), 77, np.uint8)
    out = rotate(image, angle, **PAPER, fill=fill)
    share = (out.astype(float).mean() - 77) / (fill - 77)
    grown = abs(math.cos(math.radians(angle))) + abs(math.sin(math.radians(angle)))
    assert share == pytest.approx(1 - grown**-2, abs=0.005)
    # in the corners nothing but fill, in the middle nothing but the image, and the whole of it
    assert (out[:3, :3] == fill).all()
    assert (out[-3:, -3:] == fill).all()
    assert (out[70:150, 70:150] == 77).all()
    cropped = rotate(image, angle, **PAPER | {"canvas": "crop"}, fill=fill)
    assert (cropped != 77).mean() < (out != 77).mean() - 0.03


def test_nothing_of_the_image_is_lost():
    """Light in the very corner is still there, as much of it as the canvas leaves; cropped, it is gone."""
    for y, x in ((0, 0), (0, 216), (216, 0), (216, 216)):
        image = np.zeros((224, 224, 1), np.uint8)
        image[y : y + 8, x : x + 8] = 255
        for angle in (30, -60):
            out = rotate(image, angle, **PAPER)
            assert out.sum() / image.sum() == pytest.approx((224 / 306) ** 2, rel=0.03)
            assert rotate(image, angle, **PAPER | {"canvas": "crop"}).sum() == 0


@pytest.mark.parametrize("method", ["area", "bilinear", "nearest"])
@pytest.mark.parametrize(
    ("small", "large"),
    [((8, 8), (8, 8)), ((9, 31), (16, 80)), ((31, 9), (8, 11)), ((40, 12), (13, 57)), ((64, 64), (91, 91))],
)
def test_resizing_is_exact(small, large, method):
    """Larger, smaller, and both at once; flat stays flat, and rounding is of the exact value."""
    for channels in (1, 3):
        image = np.random.default_rng(1).integers(0, 256, (*large, channels), dtype=np.uint8)
        out = np.empty((2, *small, channels), np.uint8)
        resize_into(np.stack([image, np.full_like(image, 255)]), out, method)
        np.testing.assert_array_equal(out[0], resized(image, small, method))
        assert (out[1] == 255).all()


def test_halves_are_rounded_up():
    image = np.zeros((8, 16, 1), np.uint8)
    image[:, ::2] = np.arange(8, dtype=np.uint8)[:, None, None] * 2 + 1
    out = np.empty((1, 8, 8, 1), np.uint8)
    resize_into(image[None], out, "area")
    np.testing.assert_array_equal(out[0, :, 0, 0], np.arange(8) + 1)


def test_the_warp_shifts_what_it_picks():
    image = painted(12, 14)
    moved = warp(image[None], np.eye(2)[None], np.array([[3.0, -2.0]]), interpolation="nearest", fill=5)[0]
    want = np.full_like(image, 5)
    want[2:, :-3] = image[:-2, 3:]
    np.testing.assert_array_equal(moved, want)


def test_a_batch_is_one_by_one_and_the_input_untouched():
    for size in ((8, 8, 1), (300, 300, 3), (33, 21, 3)):
        images = np.stack([painted(*size, which) for which in range(3)])
        before = images.copy()
        for options in (PAPER, PAPER | {"direction": "random"}, {"canvas": "loose"}, {"interpolation": "nearest"}):
            ids = ["a", "b", "c"]
            together = rotate(images, 33.0, key=ids, **options)
            assert together.shape == images.shape
            assert not np.shares_memory(together, images)
            for image, name, out in zip(images, ids, together, strict=True):
                np.testing.assert_array_equal(out, rotate(image, 33.0, key=name, **options))
            np.testing.assert_array_equal(images, before)


def test_three_equal_channels_are_grey():
    grey = painted(33, 40, 1)
    for options in (PAPER, {"canvas": "loose", "sign": 1}, {"interpolation": "nearest", "sign": 1}):
        np.testing.assert_array_equal(
            rotate(np.repeat(grey, 3, axis=2), 25.0, **options), np.repeat(rotate(grey, 25.0, **options), 3, axis=2)
        )


@pytest.mark.parametrize(
    "bad",
    [
        {"direction": "left"},
        {"interpolation": "bicubic"},
        {"canvas": "tight"},
        {"resize": "cubic"},
        {"fill": -1},
        {"fill": 256},
        {"fill": 1.5},
        {"fill": "black"},
        {"angle_deg": 361.0},
    ],
    ids=str,
)
def test_nonsense_is_refused(bad):
    (name,) = bad
    with pytest.raises(ParameterError, match=name):
        corruptset.corrupt(numeral(), "rotate", **{"angle_deg": 30.0} | bad)
