"""Corruptions of shape: against scikit-image, recorded ImageMagick outputs and plain numpy."""

from __future__ import annotations

import hashlib
import itertools
import math

import numpy as np
import pytest
from measures import check_near
from skimage.feature import canny
from skimage.transform import AffineTransform, warp

import corruptset
from corruptset.corruptions.arithmetic import exact_sine_cosine
from corruptset.corruptions.calibrations import shipped
from corruptset.corruptions.keys import Keys, sample_keys
from corruptset.corruptions.registry import get_corruption
from corruptset.errors import ParameterError
from pictures import numbers, numeral, painted, photograph

PICTURES = [numeral(0), numeral(1), numeral(2), painted(28, 28, 1), painted(28, 28, 3), painted(21, 40, 1)]
ELEVEN = "shear scale rotate translate line dotted_line zigzag stripe canny_edges quantize inverse".split()


def corrupt(image, name, severity=1, **options):
    return corruptset.corrupt(image, name, severity=severity, calibration="mnist", **options)


def test_three_equal_channels_are_grey():
    grey = painted(33, 40, 1)
    for name in ELEVEN:
        colour = corrupt(np.repeat(grey, 3, axis=2), name, key="0")
        np.testing.assert_array_equal(colour, np.repeat(corrupt(grey, name, key="0"), 3, axis=2), name)


# --- affine maps ----------------------------------------------------------------------------------------------------


def mapped(image, matrix, shift=(0.0, 0.0)):
    """The published use of scikit-image: an inverse map about the centre, bilinear, black outside, rounded."""
    height, width = image.shape[:2]
    centre = np.array([(width - 1) / 2, (height - 1) / 2])
    full = np.eye(3)
    full[:2, :2] = matrix
    full[:2, 2] = centre - matrix @ centre + shift
    planes = [warp(image[..., c] / 255.0, AffineTransform(full), clip=False) for c in range(image.shape[2])]
    return np.round(np.clip(np.stack(planes, axis=-1), 0, 1) * 255)


@pytest.mark.parametrize("severity", [1, 2, 3, 4, 5])
def test_shear_rotate_scale_and_translate_are_the_published_maps(severity):
    """Halves may fall to either side."""
    for image, sign in itertools.product(PICTURES, (-1, 1)):
        sine, cosine = math.sin(sign * 0.2 * severity), math.cos(0.2 * severity)
        check_near(corrupt(image, "shear", severity, sign=sign), mapped(image, np.array([[1, -sine], [0, cosine]])))
        check_near(
            corrupt(image, "rotate", severity, sign=sign), mapped(image, np.array([[cosine, -sine], [sine, cosine]]))
        )
        check_near(corrupt(image, "scale", severity), mapped(image, np.eye(2) * 10 / (10 - severity)), 0.97)
        for signs in ([sign, -1], [sign, 1]):
            got = corrupt(image, "translate", severity, signs=signs)
            np.testing.assert_array_equal(got, mapped(image, np.eye(2), np.array(signs) * severity))


def test_directions_are_as_documented():
    dot = np.zeros((29, 29, 1), np.uint8)
    dot[4, 14] = 255
    # counter-clockwise: what was above goes to the left
    assert corruptset.corrupt(dot, "rotate", angle_deg=90.0, sign=1)[14, 4, 0] == 255
    assert corruptset.corrupt(dot, "rotate", angle_deg=-90.0, sign=1)[14, 24, 0] == 255
    # the content moves against the signs; half a pixel is shared
    assert corruptset.corrupt(dot, "translate", distance=3.0, signs=[1, -1])[7, 11, 0] == 255
    assert corruptset.corrupt(dot, "translate", distance=0.5, signs=[1, 1])[3:5, 13:15, 0].tolist() == [
        [64, 64],
        [64, 64],
    ]
    assert np.count_nonzero(corruptset.corrupt(np.full((20, 20, 1), 200, np.uint8), "scale", factor=0.5)) == 10 * 10
    np.testing.assert_array_equal(corruptset.corrupt(dot, "scale", factor=1.0), dot)


def test_sines_are_exact():
    for degrees in (0.0, 1.0, 11.459155902616466, 45.0, 123.4, 270.0, 359.0, -30.0):
        angle = math.radians(degrees)
        assert exact_sine_cosine(degrees) == pytest.approx((math.sin(angle), math.cos(angle)), abs=4e-16)
    assert exact_sine_cosine(150.0)[0] == 0.5
    assert exact_sine_cosine(180.0) == (0.0, -1.0)


# --- draws ----------------------------------------------------------------------------------------------------------


def test_draws_are_whole_numbers_of_the_keys_and_can_be_given():
    """Signs are fair; rows and columns are uniform on their published ranges.

    Rows are 0 .. H - 2; columns 0 .. 4 and 22 .. 26 of 28; the zigzag's second row is -5 .. 4 from the first.
    """
    keys, ids = Keys(np.uint64(9), sample_keys(numbers(60))), numbers(60)
    rows = keys.whole_numbers(27, 27)
    near = keys.whole_numbers(27, 10) + np.array([0, -5])
    draws = {
        "shear": {"sign": 2 * keys.whole_numbers(2)[:, 0] - 1},
        "rotate": {"sign": 2 * keys.whole_numbers(2)[:, 0] - 1},
        "translate": {"signs": 2 * keys.whole_numbers(2, 2) - 1},
        "line": {"rows": rows, "columns": keys.whole_numbers(5, 5, stream=1) + np.array([0, 22])},
        "dotted_line": {"rows": rows},
        "zigzag": {"rows": np.cumsum(near, axis=1)},
    }
    images = np.repeat(numeral(1)[None], 60, axis=0)
    for name, values in draws.items():
        row = shipped("mnist").row(name, 1).parameters
        drawn = get_corruption(name).apply(images, row, keys.stage, keys.samples)
        assert len({one.tobytes() for one in drawn}) > 1
        for i in (0, 1, 2, 30, 59):
            given = {draw: value[i] for draw, value in values.items()}
            np.testing.assert_array_equal(drawn[i], corrupt(images[i], name, key=ids[0], **given), name)
        for draw in values:
            for bad in (7.5, "text", [1, 2, 3], [math.nan, 1], [5e6, 5e6]):
                with pytest.raises(ParameterError, match=draw):
                    corrupt(images[0], name, **{draw: bad})


# --- strokes --------------------------------------------------------------------------------------------------------


def inked(image, points, reach=2.3, dot=0):
    """The published strokes, on a grid of any size."""
    height, width = image.shape[:2]
    out = image / 255.0
    columns, rows = np.arange(width)[None, :], np.arange(height)[:, None]
    for (c0, r0), (c1, r1) in itertools.pairwise(points):
        distance = np.clip(np.abs(rows - ((r1 - r0) / (c1 - c0) * (columns - c0) + r0)), 0, reach - 1e-10)
        ink = np.clip(np.log(1 - distance / reach) + 1, 0, 1)
        ink[:, : int(np.floor(c0))] = 0
        ink[:, int(np.ceil(c1)) :] = 0
        if dot:
            ink[:, np.arange(width) // dot % 2 == 0] = 0
        out = np.clip(out + ink[:, :, None], 0, 1)
    return np.round(out * 255)


def turns(rows, left, right, a=2.0, b=2.0):
    """The published corners of a zigzag."""
    theta = math.atan((rows[1] - rows[0]) / (right - left))
    length = (right - left) / math.cos(theta)
    corners = [(0.0, 0.0)]
    for i in range(int((length - a) // (2 * a)) + 1):
        corners.append(((2 * i + 1) * a, (-1) ** i * b))
    corners.append((length, corners[-1][1] / (2 * (length - 2 * a * (length // (2 * a))))))
    c, s = math.cos(theta), math.sin(theta)
    return [(x * c - y * s + left, x * s + y * c + rows[0]) for x, y in corners]


def test_strokes_are_the_published_ones():
    for image in PICTURES:
        width = image.shape[1]
        for rows in ([0, 19], [26, 3], [14, 14]):
            check_near(
                corrupt(image, "line", rows=rows, columns=[4, 22]), inked(image, list(zip([4, 22], rows, strict=True)))
            )
            check_near(
                corrupt(image, "dotted_line", rows=rows), inked(image, [(0, rows[0]), (width - 1, rows[1])], dot=2)
            )
        for rows in ([0, -5], [10, 14], [26, 26], [13, 10]):
            check_near(
                corrupt(image, "zigzag", rows=rows), inked(image, turns(rows, 2 * width // 28, 25 * width // 28))
            )
    large = np.zeros((112, 112, 1), np.uint8)
    for scale, thick in (("side", 11), ("none", 3)):
        stroke = corrupt(large, "line", scale=scale, rows=[50, 50], columns=[0, 110])
        assert stroke[:, 60].astype(bool).sum() == thick, "under scale='side' a stroke keeps its look"


# --- canny edges, stripe, quantize, inverse -------------------------------------------------------------------------


def test_canny_edges_are_scikit_images():
    """On ramps all gradients are equal but for rounding: the order of sums tells."""
    y, x = np.mgrid[:28, :28] - 13.5
    slopes = (x, y, x + y, 2 * x - y, 0.3 * x + 0.7 * y, np.round(np.hypot(x, y)))
    ramps = [
        np.clip(100 + step * slope, 0, 255).astype(np.uint8)[..., None]
        for step in (2.0, 5.0, 9.3, 20.0, 60.0)
        for slope in slopes
    ]
    pictures = [photograph(name, 96)[:, :, :1] for name in ("astronaut", "coffee")] + [numeral(i) for i in range(3)]
    cases = [(p, *row) for p in pictures for row in ((1.0, 0.1, 0.2), (2.0, 0.05, 0.4))]
    edges = 0
    for image, sigma, low, high in cases + [
        (r, 1.0, *row) for r in ramps for row in ((0.01, 0.02), (0.1, 0.2), (0.3, 0.5))
    ]:
        want = canny(image[..., 0] / 255.0, sigma=sigma, low_threshold=low, high_threshold=high)
        got = corruptset.corrupt(image, "canny_edges", sigma=sigma, low=low, high=high)
        np.testing.assert_array_equal(got[..., 0], 255 * want)
        edges += int(want.sum())
    assert edges > 5000
    with pytest.raises(ParameterError, match=r"low is 0\.3 and high is 0\.2"):
        corrupt(numeral(), "canny_edges", low=0.3)
    halves = np.zeros((20, 20, 3), np.uint8)
    halves[:, :10], halves[:, 10:] = (255, 0, 0), (0, 130, 0)
    assert not corrupt(halves, "canny_edges").any(), "76 beside 76 of luma is no edge"


def test_stripe_quantize_and_inverse():
    image = painted(28, 28, 3)
    out = corrupt(image, "stripe")
    np.testing.assert_array_equal(out[:, 7:21], image[:, 7:21])
    for side in (slice(0, 7), slice(21, 28)):
        np.testing.assert_array_equal(out[:, side], 255 - image[:, side])
    np.testing.assert_array_equal(corruptset.corrupt(image, "stripe", share=0.0), image)
    np.testing.assert_array_equal(corruptset.corrupt(image, "stripe", share=0.5), 255 - image)
    np.testing.assert_array_equal(corrupt(image, "inverse"), 255 - image)
    ramp = np.arange(256, dtype=np.uint8).reshape(16, 16, 1)
    for bits in range(1, 9):
        steps = 2**bits - 1
        want = np.round(np.round(ramp / 255 * steps) * (255 / steps))
        np.testing.assert_array_equal(corruptset.corrupt(ramp, "quantize", bits=bits), want)


# --- fisheye --------------------------------------------------------------------------------------------------------


def barrel(image, cubic, quadratic, linear):
    """The definition, a pixel at a time."""
    height, width, _ = image.shape
    half = min(height, width) / 2
    out = np.empty_like(image)
    for y, x in np.ndindex(height, width):
        dx, dy = x + 0.5 - width / 2, y + 0.5 - height / 2
        r = math.sqrt(dx**2 + dy**2) / half
        factor = cubic * r**3 + quadratic * r**2 + linear * r + 1 - cubic - quadratic - linear
        sx = min(max(dx * factor + width / 2 - 0.5, 0), width - 1)
        sy = min(max(dy * factor + height / 2 - 0.5, 0), height - 1)
        left, upper = min(int(sx), width - 2), min(int(sy), height - 2)
        u, v = sx - left, sy - upper
        four = image[upper : upper + 2, left : left + 2].astype(np.float64)
        value = (1 - v) * ((1 - u) * four[0, 0] + u * four[0, 1]) + v * ((1 - u) * four[1, 0] + u * four[1, 1])
        out[y, x] = np.floor(257 * value + 0.5) // 257
    return out


def fisheye(images, coefficients):
    return corruptset.corrupt(
        images, "fisheye", **dict(zip(("cubic", "quadratic", "linear"), coefficients, strict=True))
    )


FISHEYE = [(0.0, 0.03, 0.03), (0.05, 0.05, 0.05), (0.1, 0.1, 0.1), (0.2, 0.2, 0.2), (0.1, 0.3, 0.6)]


@pytest.mark.parametrize("shape", [(8, 8, 3), (8, 31, 1), (40, 23, 3)])
def test_fisheye_is_its_definition(shape):
    for coefficients in [*FISHEYE, (-0.3, 0.2, -0.5), (2.0, 2.0, 2.0), (0.0, -2.0, 0.0)]:
        images = np.stack([painted(*shape, which=which) for which in range(2)])
        np.testing.assert_array_equal(fisheye(images, coefficients), [barrel(image, *coefficients) for image in images])


# sha256 of what ImageMagick 6.9.11-60 Q16 makes with -filter point -interpolate bilinear -virtual-pixel edge -distort
# barrel, in 8 bits
RECORDED = {
    ((61, 83, 3), (0.05, 0.05, 0.05)): "b714b7c40d492d54c283424e0ad34bc2f4ba3b3afd247e9ab961a66d424a638a",
    ((61, 83, 3), (0.1, 0.3, 0.6)): "e62fa9dc30a5c09487c4b0662a3ab2b0a95b7247d1d9844b588d77669448ecd8",
    ((61, 83, 3), (-0.3, 0.2, -0.5)): "3343bc294b62327b1ab0dfafd1c1a5cc64d4bc7c6747c9e9fef51efcaa993df5",
    ((45, 37, 1), (0.05, 0.05, 0.05)): "91af68f6f301e6867496dc8ff3af5bf0153ccd26da94fb31d7a2ec7a78749235",
    ((45, 37, 1), (0.1, 0.3, 0.6)): "344ff19e2b81063d0165b437a0e51c618d9370b33fc54e68b0a68c45a3afd1ee",
    ((45, 37, 1), (-0.3, 0.2, -0.5)): "8206c9d588e816f9294722f059fd751be397cbe06b011791faa73108587654fd",
}


def test_fisheye_equals_recorded_imagemagick_outputs_in_the_released_rows():
    for (shape, coefficients), digest in RECORDED.items():
        assert hashlib.sha256(fisheye(painted(*shape), coefficients).tobytes()).hexdigest() == digest
    rows = shipped("imagenet").rows["fisheye"]
    assert [tuple(rows[s].parameters.values()) for s in range(1, 6)] == FISHEYE
    flat = np.full((40, 24, 3), 127, np.uint8)
    np.testing.assert_array_equal(fisheye(flat, (0.1, 0.3, 0.6)), flat)
