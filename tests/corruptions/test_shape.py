"""MNIST-C's own corruptions: against scikit-image and plain numpy, at any size, in grey and in colour."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from skimage.feature import canny
from skimage.transform import AffineTransform, warp

import corruptset
from corruptset.corruptions.arithmetic import exact_sine_cosine
from corruptset.corruptions.calibrations import shipped
from corruptset.corruptions.keys import sample_keys
from corruptset.corruptions.registry import get_corruption
from corruptset.corruptions.stages import chain_keys, resolve_stage
from corruptset.errors import ParameterError
from pictures import numbers, numeral, painted, photograph

ELEVEN = "shear scale rotate translate line dotted_line zigzag stripe canny_edges quantize inverse".split()
FIVE = "shear scale rotate translate quantize".split()
RANDOM = "shear rotate translate line dotted_line zigzag".split()
DRAWS = {
    "shear": {"sign": -1},
    "rotate": {"sign": 1},
    "translate": {"signs": [-1, 1]},
    "line": {"rows": [3, 20], "columns": [2, 25]},
    "dotted_line": {"rows": [20, 4]},
    "zigzag": {"rows": [8, 11]},
}
every = pytest.mark.parametrize("name", ELEVEN)
PICTURES = [numeral(0), numeral(1), numeral(2), painted(28, 28, 1), painted(28, 28, 3), painted(21, 40, 1)]


def corrupt(image, name, severity=1, **options):
    return corruptset.corrupt(image, name, severity=severity, calibration="mnist", **options)


def assert_near(got, want, identical=0.99):
    """Within one level, and nearly all the same: halves may fall to either side."""
    gap = np.abs(got.astype(int) - np.asarray(want).astype(int))
    assert gap.max() <= 1
    assert (gap == 0).mean() >= identical


@every
def test_it_has_its_published_severities_and_revision(name):
    declared = get_corruption(name)
    assert (declared.role, declared.revision) == ("test", 2 if name == "canny_edges" else 1)
    assert declared.deterministic == (name not in RANDOM)
    assert sorted(shipped("mnist").rows[name]) == ([1, 2, 3, 4, 5] if name in FIVE else [1])


@every
@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("size", [(28, 28), (224, 300)], ids=str)
def test_published_and_large_sizes(name, size, channels):
    images = np.stack([painted(*size, channels, which) for which in range(3)])
    before = images.copy()
    severity = max(shipped("mnist").rows[name])
    ids = ["a", "b", "a"]
    out = corrupt(images, name, severity, key=ids)
    assert out.shape == images.shape
    assert out.dtype == np.uint8
    assert not np.shares_memory(out, images)
    np.testing.assert_array_equal(images, before)
    for image, key, one in zip(images, ids, out, strict=True):
        np.testing.assert_array_equal(one, corrupt(image, name, severity, key=key))
        assert not np.array_equal(one, image)
    frozen = np.asfortranarray(images)
    frozen.setflags(write=False)
    np.testing.assert_array_equal(out, corrupt(frozen, name, severity, key=ids))


@every
def test_three_equal_channels_are_grey(name):
    grey = painted(33, 40, 1)
    np.testing.assert_array_equal(
        corrupt(np.repeat(grey, 3, axis=2), name, key="0"), np.repeat(corrupt(grey, name, key="0"), 3, axis=2)
    )


@every
def test_severities_differ(name):
    image = numeral(0)
    outs = [corrupt(image, name, s, **DRAWS.get(name, {})).astype(int) for s in sorted(shipped("mnist").rows[name])]
    gaps = [np.abs(out - image).mean() for out in outs]
    assert len(set(gaps)) == len(gaps)
    assert 0 < gaps[0] == min(gaps)


@every
def test_keys_and_given_draws(name):
    image = numeral(1)
    many = corrupt(np.repeat(image[None], 60, axis=0), name, key=numbers(60))
    assert (len({m.tobytes() for m in many}) > 1) == (name in RANDOM)
    assert get_corruption(name).deterministic == (len({m.tobytes() for m in many}) == 1)
    if name in RANDOM:
        given = corrupt(np.repeat(image[None], 60, axis=0), name, key=numbers(60), **DRAWS[name])
        assert len({m.tobytes() for m in given}) == 1
        for draw in DRAWS[name]:
            for bad in (7.5, "text", [1, 2, 3], [math.nan, 1]):
                with pytest.raises(ParameterError, match=draw):
                    corrupt(image, name, **{draw: bad})


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
@pytest.mark.parametrize("sign", [-1, 1])
@pytest.mark.parametrize("picture", range(len(PICTURES)))
def test_shear_and_rotate_are_the_published_maps(picture, sign, severity):
    image, angle = PICTURES[picture], sign * 0.2 * severity
    sine, cosine = math.sin(angle), math.cos(angle)
    assert_near(corrupt(image, "shear", severity, sign=sign), mapped(image, np.array([[1, -sine], [0, cosine]])))
    assert_near(
        corrupt(image, "rotate", severity, sign=sign), mapped(image, np.array([[cosine, -sine], [sine, cosine]]))
    )


@pytest.mark.parametrize("severity", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("picture", range(len(PICTURES)))
def test_scale_and_translate_are_the_published_maps(picture, severity):
    image = PICTURES[picture]
    assert_near(corrupt(image, "scale", severity), mapped(image, np.eye(2) * 10 / (10 - severity)), 0.97)
    for signs in ([-1, -1], [-1, 1], [1, -1], [1, 1]):
        got = corrupt(image, "translate", severity, signs=signs)
        np.testing.assert_array_equal(got, mapped(image, np.eye(2), np.array(signs) * severity))


def test_directions_as_they_are_documented():
    dot = np.zeros((29, 29, 1), np.uint8)
    dot[4, 14] = 255
    # counter-clockwise: what was above goes to the left
    assert corruptset.corrupt(dot, "rotate", angle_deg=90.0, sign=1)[14, 4, 0] == 255
    assert corruptset.corrupt(dot, "rotate", angle_deg=-90.0, sign=1)[14, 24, 0] == 255
    np.testing.assert_array_equal(corruptset.corrupt(dot, "rotate", angle_deg=180.0), dot[::-1, ::-1])
    # the content moves against the signs; half a pixel is shared
    assert corruptset.corrupt(dot, "translate", distance=3.0, signs=[1, -1])[7, 11, 0] == 255
    assert corruptset.corrupt(dot, "translate", distance=0.5, signs=[1, 1])[3:5, 13:15, 0].tolist() == [
        [64, 64],
        [64, 64],
    ]
    assert np.count_nonzero(corruptset.corrupt(np.full((20, 20, 1), 200, np.uint8), "scale", factor=0.5)) == 10 * 10
    np.testing.assert_array_equal(corruptset.corrupt(dot, "scale", factor=1.0), dot)


def test_signs_are_fair():
    images = np.repeat(numeral(0)[None], 400, axis=0)
    for name, options in (("shear", [-1, 1]), ("rotate", [-1, 1])):
        each = [corrupt(numeral(0), name, 3, sign=s).tobytes() for s in options]
        drawn = [o.tobytes() for o in corrupt(images, name, 3, key=numbers(400))]
        assert set(drawn) == set(each)
        assert 150 < drawn.count(each[0]) < 250
    each = [corrupt(numeral(0), "translate", 3, signs=[a, b]).tobytes() for a in (-1, 1) for b in (-1, 1)]
    drawn = [o.tobytes() for o in corrupt(images, "translate", 3, key=numbers(400))]
    assert all(65 < drawn.count(e) < 135 for e in each)


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


def turns(rows, left=2.0, right=25.0, a=2.0, b=2.0):
    """The published corners of a zigzag."""
    theta = math.atan((rows[1] - rows[0]) / (right - left))
    length = (right - left) / math.cos(theta)
    corners = [(0.0, 0.0)]
    for i in range(int((length - a) // (2 * a)) + 1):
        corners.append(((2 * i + 1) * a, (-1) ** i * b))
    corners.append((length, corners[-1][1] / (2 * (length - 2 * a * (length // (2 * a))))))
    c, s = math.cos(theta), math.sin(theta)
    return [(x * c - y * s + left, x * s + y * c + rows[0]) for x, y in corners]


@pytest.mark.parametrize("picture", range(len(PICTURES)))
def test_strokes_are_the_published_ones(picture):
    image = PICTURES[picture]
    width = image.shape[1]
    for rows in ([0, 19], [26, 3], [14, 14]):
        columns = [4, 22]
        got = corrupt(image, "line", rows=rows, columns=columns)
        assert_near(got, inked(image, list(zip(columns, rows, strict=True))))
        got = corrupt(image, "dotted_line", rows=rows)
        assert_near(got, inked(image, [(0, rows[0]), (width - 1, rows[1])], dot=2))
    for rows in ([0, -5], [10, 14], [26, 26], [13, 10]):
        ends = {"left": 2 * width // 28, "right": 25 * width // 28}
        assert_near(corrupt(image, "zigzag", rows=rows), inked(image, turns(rows, **ends)))


def test_where_strokes_are_drawn():
    """Where the ends fall, over 3000 images: no row beyond 26, columns 0..4 and 22..26, the zigzag's ends -5..4
    apart.
    """
    black = np.zeros((3000, 28, 28, 1), np.uint8)
    out = corrupt(black, "line", key=numbers(3000))[..., 0].astype(int)
    inked_columns = out.max(axis=1) > 0
    first, last = inked_columns.argmax(axis=1), 27 - inked_columns[:, ::-1].argmax(axis=1)
    assert sorted(set(first)) == [0, 1, 2, 3, 4]
    assert sorted(set(last)) == [21, 22, 23, 24, 25]
    assert np.bincount(first).min() > 500
    # a whole row is hit in full, so the left end is where the first column is white
    starts = out[np.arange(3000), :, first].argmax(axis=1)
    assert sorted(set(starts)) == list(range(27))
    assert np.bincount(starts).min() > 70
    zig = corrupt(black, "zigzag", key=numbers(3000))[..., 0].astype(int)
    assert not zig[:, :, :2].any()
    assert not zig[:, :, 26:].any()
    assert sorted(set(zig[:, :, 2].argmax(axis=1))) == list(range(27))
    possible = {
        corrupt(black[0], "zigzag", rows=[top, top + step])[..., 0].astype(int).tobytes(): step
        for top in range(27)
        for step in range(-5, 5)
    }
    steps = [possible[one.tobytes()] for one in zig]
    assert min(steps.count(step) for step in range(-5, 5)) > 220
    dotted = corrupt(black, "dotted_line", key=numbers(3000))[..., 0].any(axis=(0, 1))
    assert dotted.tolist() == [*([False, False, True, True] * 7)[:27], False]


@pytest.mark.parametrize("name", ["astronaut", "coffee"])
def test_canny_is_scikit_images(name):
    for image in (photograph(name, 96)[:, :, :1], numeral(0), numeral(1), numeral(2)):
        for sigma, low, high in ((1.0, 0.1, 0.2), (2.0, 0.05, 0.4)):
            want = canny(image[..., 0] / 255.0, sigma=sigma, low_threshold=low, high_threshold=high)
            got = corruptset.corrupt(image, "canny_edges", sigma=sigma, low=low, high=high)[..., 0]
            assert set(np.unique(got)) <= {0, 255}
            np.testing.assert_array_equal(got == 255, want)
            assert want.any()


def test_canny_is_scikit_images_on_ramps():
    """All gradients of a ramp are equal but for rounding, so every sum has to be added in the same order."""
    y, x = np.mgrid[:28, :28] - 13.5
    edges = 0
    for step in (2.0, 5.0, 7.5, 9.3, 20.0, 60.0):
        for slope in (x, y, x + y, 2 * x - y, 0.3 * x + 0.7 * y, np.round(np.hypot(x, y))):
            image = np.clip(100 + step * slope, 0, 255).astype(np.uint8)
            for low, high in ((0.01, 0.02), (0.1, 0.2), (0.3, 0.5)):
                want = canny(image / 255.0, sigma=1.0, low_threshold=low, high_threshold=high)
                np.testing.assert_array_equal(corrupt(image, "canny_edges", sigma=1.0, low=low, high=high) == 255, want)
                edges += int(want.sum())
    assert edges > 5000


def test_canny_refuses_crossed_thresholds_and_takes_the_luma():
    with pytest.raises(ParameterError, match=r"low is 0\.3 and high is 0\.2"):
        corrupt(numeral(), "canny_edges", low=0.3)
    halves = np.zeros((20, 20, 3), np.uint8)
    halves[:, :10] = (255, 0, 0)
    halves[:, 10:] = (0, 130, 0)
    assert not corrupt(halves, "canny_edges").any(), "76 beside 76 is no edge"
    halves[:, 10:] = (0, 255, 0)
    assert corrupt(halves, "canny_edges")[8:12, 8:12].any()


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


def test_lengths_scale_and_keys_do_not():
    """Under scale="side" a stroke keeps its look; the key is that of the table's row."""
    table = shipped("mnist")
    large = np.zeros((112, 112, 1), np.uint8)
    wide = corrupt(large, "line", scale="side", rows=[50, 50], columns=[0, 110])
    thin = corrupt(large, "line", rows=[50, 50], columns=[0, 110])
    assert wide[:, 60].astype(bool).sum() == 11
    assert thin[:, 60].astype(bool).sum() == 3
    moved = corrupt(np.repeat(numeral().repeat(4, 0).repeat(4, 1), 1, 2), "translate", 3, scale="side", signs=[1, 1])
    np.testing.assert_array_equal(
        moved, np.pad(numeral().repeat(4, 0).repeat(4, 1)[12:, 12:], ((0, 12), (0, 12), (0, 0)))
    )
    keys = {name: chain_keys([resolve_stage(name, table, severity=1)], 0)[0] for name in ELEVEN}
    assert len(set(keys.values())) == len(ELEVEN)
    assert sample_keys(["x"]).dtype == np.uint64


def test_sines_are_exact():
    for degrees in (0.0, 1.0, 11.459155902616466, 45.0, 60.0, 90.0, 123.4, 180.0, 270.0, 359.0, -30.0):
        sine, cosine = exact_sine_cosine(degrees)
        assert sine == pytest.approx(math.sin(math.radians(degrees)), abs=4e-16)
        assert cosine == pytest.approx(math.cos(math.radians(degrees)), abs=4e-16)
    assert exact_sine_cosine(150.0)[0] == 0.5
    assert exact_sine_cosine(180.0) == (0.0, -1.0)
