"""Compare shape corruptions with scikit-image, recorded outputs of ImageMagick, and NumPy."""

from __future__ import annotations

import hashlib
import itertools
import math

import numpy as np
import pytest
from measures import check_close
from skimage.feature import canny
from skimage.transform import AffineTransform, warp

import corruptset
from corruptset.corruptions.calibrations import shipped
from corruptset.corruptions.keys import Keys, sample_keys
from corruptset.corruptions.registry import get_corruption
from corruptset.errors import ParameterError
from example_images import digit_image, number_keys, photograph, synthetic_image

PICTURES = [digit_image(0), synthetic_image(28, 28, 3), synthetic_image(21, 40, 1)]


def corrupt(image, name, severity=1, **options):
    return corruptset.corrupt(image, name, severity=severity, calibration="mnist", **options)


def reference_warp(image, matrix, shift=(0.0, 0.0)):
    """Apply the published call of scikit-image: an inverse map about the centre, bilinear, black outside, rounded."""
    centre, full = (np.array(image.shape[1::-1]) - 1) / 2, np.eye(3)
    full[:2, :2], full[:2, 2] = matrix, centre - matrix @ centre + shift
    planes = [warp(plane / 255.0, AffineTransform(full), clip=False) for plane in np.moveaxis(image, 2, 0)]
    return np.round(np.clip(np.stack(planes, axis=-1), 0, 1) * 255)


def test_shear_rotate_scale_and_translate_match_published_maps():
    """Compare values, where halves may be rounded to either side."""
    for image, severity, sign in itertools.product(PICTURES, (1, 2, 5), (-1, 1)):
        sine, cosine = math.sin(sign * 0.2 * severity), math.cos(0.2 * severity)
        for name, matrix in (("shear", [[1, -sine], [0, cosine]]), ("rotate", [[cosine, -sine], [sine, cosine]])):
            check_close(corrupt(image, name, severity, sign=sign), reference_warp(image, np.array(matrix)))
        check_close(corrupt(image, "scale", severity), reference_warp(image, np.eye(2) * 10 / (10 - severity)), 0.97)
        for signs in ([sign, -1], [sign, 1]):
            result = corrupt(image, "translate", severity, signs=signs)
            np.testing.assert_array_equal(result, reference_warp(image, np.eye(2), np.array(signs) * severity))


def test_draws_are_integers_of_keys_and_can_be_fixed():
    """Test the ranges of draws: rows 0 .. H - 2, columns 0 .. 4 and 22 .. 26 of 28, and -5 .. 4 for the zigzag."""
    keys, images = Keys(np.uint64(9), sample_keys(number_keys(20))), np.repeat(digit_image(1)[None], 20, axis=0)
    sign, rows = {"sign": 2 * keys.integers(2)[:, 0] - 1}, keys.integers(27, 27)
    columns = keys.integers(5, 5, stream=1) + np.array([0, 22])
    for name, values in {
        "shear": sign,
        "rotate": sign,
        "translate": {"signs": 2 * keys.integers(2, 2) - 1},
        "line": {"rows": rows, "columns": columns},
        "dotted_line": {"rows": rows},
        "zigzag": {"rows": np.cumsum(keys.integers(27, 10) + np.array([0, -5]), axis=1)},
    }.items():
        drawn = get_corruption(name).apply(images, shipped("mnist").row(name, 1).parameters, keys.stage, keys.samples)
        assert len({image.tobytes() for image in drawn}) > 1
        for i in range(6):
            options = {draw: value[i] for draw, value in values.items()}
            np.testing.assert_array_equal(drawn[i], corrupt(images[i], name, key="other", **options), name)


# --- strokes --------------------------------------------------------------------------------------------------------


def reference_stroke(image, points, reach=2.3, dot=0):
    """Draw the published strokes on a grid of any size."""
    out = image / 255.0
    rows, columns = np.ogrid[: image.shape[0], : image.shape[1]]
    for (c0, r0), (c1, r1) in itertools.pairwise(points):
        distance = np.clip(np.abs(rows - ((r1 - r0) / (c1 - c0) * (columns - c0) + r0)), 0, reach - 1e-10)
        ink = np.clip(np.log(1 - distance / reach) + 1, 0, 1)
        ink *= (columns >= np.floor(c0)) & (columns < np.ceil(c1)) & (not dot or columns // dot % 2 == 1)
        out = np.clip(out + ink[:, :, None], 0, 1)
    return np.round(out * 255)


def zigzag_corners(rows, left, right, a=2.0, b=2.0):
    """Return the published corners of a zigzag."""
    theta = math.atan((rows[1] - rows[0]) / (right - left))
    length = (right - left) / math.cos(theta)
    corners = [(0.0, 0.0)] + [((2 * i + 1) * a, (-1) ** i * b) for i in range(int((length - a) // (2 * a)) + 1)]
    corners.append((length, corners[-1][1] / (2 * (length - 2 * a * (length // (2 * a))))))
    c, s = math.cos(theta), math.sin(theta)
    return [(x * c - y * s + left, x * s + y * c + rows[0]) for x, y in corners]


def test_strokes_match_published_ones():
    for image in PICTURES:
        width = image.shape[1]
        for rows in ([0, 19], [26, 3], [14, 14]):
            ends = zip([4, 22], rows, strict=True)
            check_close(corrupt(image, "line", rows=rows, columns=[4, 22]), reference_stroke(image, list(ends)))
            ends = zip([0, width - 1], rows, strict=True)
            check_close(corrupt(image, "dotted_line", rows=rows), reference_stroke(image, list(ends), dot=2))
        for rows in ([0, -5], [10, 14], [26, 26], [13, 10]):
            corners = zigzag_corners(rows, 2 * width // 28, 25 * width // 28)
            check_close(corrupt(image, "zigzag", rows=rows), reference_stroke(image, corners))
    for scale, thick in (("side", 11), ("none", 3)):
        stroke = corrupt(np.zeros((112, 112), np.uint8), "line", scale=scale, rows=[50, 50], columns=[0, 110])
        assert np.count_nonzero(stroke[:, 60]) == thick, "under scale='side' a stroke keeps its look"


# --- canny edges, stripe, quantize, inverse, fisheye ----------------------------------------------------------------


def test_canny_edges_match_scikit_image():
    """Test ramps, on which all gradients are equal except for rounding, so the order of additions matters."""
    y, x = np.mgrid[:28, :28] - 13.5
    slopes = (x, y, x + y, 2 * x - y, 0.3 * x + 0.7 * y, np.round(np.hypot(x, y)))
    ramps = [np.clip(100 + step * slope, 0, 255).astype(np.uint8) for step in (2.0, 9.3, 60.0) for slope in slopes]
    images = [photograph("coffee", 96)[:, :, 0], digit_image(0)[:, :, 0]]
    cases = list(itertools.product(ramps, [(1.0, 0.01, 0.02), (1.0, 0.1, 0.2), (1.0, 0.3, 0.5)]))
    edges = 0
    for image, (sigma, low, high) in cases + list(itertools.product(images, [(1.0, 0.1, 0.2), (2.0, 0.05, 0.4)])):
        expected = canny(image / 255.0, sigma=sigma, low_threshold=low, high_threshold=high)
        result = corruptset.corrupt(image, "canny_edges", sigma=sigma, low=low, high=high)
        np.testing.assert_array_equal(result, 255 * expected)
        edges += np.count_nonzero(expected)
    assert edges > 2000
    with pytest.raises(ParameterError, match=r"low is 0\.3 and high is 0\.2"):
        corrupt(digit_image(), "canny_edges", low=0.3)
    halves = np.zeros((20, 20, 3), np.uint8)
    halves[:, :10], halves[:, 10:] = (255, 0, 0), (0, 130, 0)
    assert not corrupt(halves, "canny_edges").any(), "76 beside 76 of luma is no edge"


def test_stripe_quantize_and_inverse_match_definitions():
    image = synthetic_image(28, 28, 3)
    striped = 255 - image
    np.testing.assert_array_equal(corrupt(image, "inverse"), striped)
    np.testing.assert_array_equal(corruptset.corrupt(image, "stripe", share=0.5), striped)
    np.testing.assert_array_equal(corruptset.corrupt(image, "stripe", share=0.0), image)
    striped[:, 7:21] = image[:, 7:21]
    np.testing.assert_array_equal(corrupt(image, "stripe"), striped)
    ramp = np.arange(256, dtype=np.uint8).reshape(16, 16)
    for bits in range(1, 9):
        steps = 2**bits - 1
        expected = np.round(np.round(ramp / 255 * steps) * (255 / steps))
        np.testing.assert_array_equal(corruptset.corrupt(ramp, "quantize", bits=bits), expected)


# sha256 of what ImageMagick 6.9.11-60 Q16 makes with -filter point -interpolate bilinear -virtual-pixel edge -distort
# barrel, in 8 bits
FISHEYE = {
    (0.05, 0.05, 0.05): (
        "b714b7c40d492d54c283424e0ad34bc2f4ba3b3afd247e9ab961a66d424a638a",
        "91af68f6f301e6867496dc8ff3af5bf0153ccd26da94fb31d7a2ec7a78749235",
    ),
    (0.1, 0.3, 0.6): (
        "e62fa9dc30a5c09487c4b0662a3ab2b0a95b7247d1d9844b588d77669448ecd8",
        "344ff19e2b81063d0165b437a0e51c618d9370b33fc54e68b0a68c45a3afd1ee",
    ),
    (-0.3, 0.2, -0.5): (
        "3343bc294b62327b1ab0dfafd1c1a5cc64d4bc7c6747c9e9fef51efcaa993df5",
        "8206c9d588e816f9294722f059fd751be397cbe06b011791faa73108587654fd",
    ),
}


@pytest.mark.parametrize("coefficients", FISHEYE)
def test_fisheye_equals_recorded_imagemagick_outputs(coefficients):
    row = dict(zip(("cubic", "quadratic", "linear"), coefficients, strict=True))
    for image, digest in zip((synthetic_image(61, 83), synthetic_image(45, 37, 1)), FISHEYE[coefficients], strict=True):
        assert hashlib.sha256(corruptset.corrupt(image, "fisheye", **row).tobytes()).hexdigest() == digest
