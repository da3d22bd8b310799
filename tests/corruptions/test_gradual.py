"""Gradual degradations: slow versions of their definitions, with the words of the specification."""

from __future__ import annotations

import io
import re
from fractions import Fraction
from math import floor

import cv2
import numpy as np
import pytest
from measures import check_near
from PIL import Image
from specification import plain

import corruptset
from corruptset.corruptions.calibrations import LADDERS, ladder
from corruptset.corruptions.gradual import describe_level
from corruptset.corruptions.keys import sample_keys
from corruptset.corruptions.registry import corruption_names, get_corruption
from corruptset.errors import ParameterError
from pictures import painted, photograph

STAGE = np.uint64(0x9E3779B97F4A7C15)
RAMP = np.arange(256, dtype=np.uint8).reshape(1, 16, 16, 1)
STREAMS = 16
"""Of each level: draw d of level k has stream 16 k + d."""


def step(name, images, level=1, which="evaluated", **given):
    """One step of a gradual degradation, of the sample "a"."""
    parameters = dict(ladder(which)[name].parameters)
    parameters |= {key: given.pop(key) for key in list(given) if key in parameters}
    return get_corruption(name).apply(images, parameters, STAGE, sample_keys(["a"] * len(images)), level=level, **given)


def words(count, level, draw=0):
    return np.array(plain.words(count, int(STAGE), "a", STREAMS * level + draw), np.int64)


def below(drawn, count):
    """Return whole numbers, uniform on 0 .. count - 1, of words."""
    return drawn * count >> 32


# --- lines ----------------------------------------------------------------------------------------------------------


def test_ends_of_lines_are_their_words():
    """The first end lies on the left or the top edge, by a coin.

    The last one lies on the right or the bottom edge.
    """
    for name, ink in (("black_lines", 0), ("white_lines", 255)):
        for level, height, width in ((1, 20, 33), (2, 20, 33), (7, 33, 20), (30, 40, 40)):
            drawn = below(words(6, level), [2, height, width] * 2)
            first = (0, drawn[1]) if drawn[0] == 0 else (drawn[2], 0)
            last = (width - 1, drawn[4]) if drawn[3] == 0 else (drawn[5], height - 1)
            image = np.full((1, height, width, 3), 255 - ink, np.uint8)
            want = image[0].copy()
            cv2.line(want, [int(v) for v in first], [int(v) for v in last], (ink,) * 3, 1, cv2.LINE_AA)
            np.testing.assert_array_equal(step(name, image, level)[0], want)
            np.testing.assert_array_equal(step(name, image, 1, ends=np.array([[first, last]]))[0], want)


def test_a_line_is_drawn_in_fixed_numbers():
    """Should an OpenCV release draw lines otherwise, this says so before the golden digests do."""
    flat = np.zeros((1, 12, 16, 1), np.uint8)
    out = step("white_lines", flat, ends=np.array([[(0, 5), (15, 5)]]))[0, :, :, 0]
    assert out[:, 8].tolist() == [0, 0, 0, 0, 53, 232, 58, 0, 0, 0, 0, 0]
    out = step("white_lines", flat, ends=np.array([[(0, 2), (15, 9)]]))[0, :, :, 0]
    assert out[:, 7].tolist() == [0, 0, 0, 0, 20, 228, 128, 0, 0, 0, 0, 0]
    out = step("black_lines", np.full((1, 12, 16, 3), 255, np.uint8), ends=np.array([[(0, 5), (15, 5)]]))[0]
    assert (out[:, 8] == np.array([255] * 4 + [202, 23, 197] + [255] * 5)[:, None]).all()


# --- rectangles and blurs -------------------------------------------------------------------------------------------


def mean_filter(image, reach):
    """The rounded mean over a window, mirrored about the outermost pixels, in whole numbers."""
    height, width, _ = image.shape
    rows, columns = (np.pad(np.arange(n), reach, mode="reflect" if n > 1 else "edge") for n in (height, width))
    padded = image.astype(np.int64)[rows][:, columns]
    side = 2 * reach + 1
    total = sum(padded[a : a + height, b : b + width] for a in range(side) for b in range(side))
    return ((2 * total + side * side) // (2 * side * side)).astype(np.uint8)


def boxed(image, boxes, what):
    out = image.copy()
    for x, y, wide, high in boxes:
        part = out[y : y + high, x : x + wide]
        if what == "black":
            part[:] = 0
        elif what == "mean":
            part[:] = (2 * part.astype(int).sum(axis=(0, 1)) + wide * high) // (2 * wide * high)
        else:
            part[:] = mean_filter(part, what)
    return out


def rectangles(level, height, width, density, least, most):
    """Four words are the sides and the corner of a rectangle."""
    drawn = words(4 * int(density * (height + width) + 1e-9), level).reshape(-1, 4)
    wide, high = (
        np.minimum(least + below(drawn[:, k], most - least + 1), side) for k, side in ((0, width), (1, height))
    )
    return np.stack([below(drawn[:, 2], width - wide + 1), below(drawn[:, 3], height - high + 1), wide, high], axis=1)


@pytest.mark.parametrize(
    ("name", "which", "least", "most", "what"),
    [
        ("random_boxes", "evaluated", 3, 6, "black"),
        ("random_boxes", "text", 2, 5, "black"),
        ("local_blur", "evaluated", 2, 10, 2),
        ("local_blur", "text", 2, 10, "mean"),
    ],
)
def test_rectangles_are_their_words(name, which, least, most, what):
    density = ladder(which)[name].parameters["density"]
    for shape in ((30, 41, 1), (24, 31, 3), (8, 9, 3)):
        for level in (1, 4):
            image = painted(*shape)
            boxes = rectangles(level, *shape[:2], density, least, most)
            want = boxed(image, boxes, what)
            np.testing.assert_array_equal(step(name, image[None], level, which)[0], want)
            np.testing.assert_array_equal(
                step(name, image[None], level, which, boxes=np.stack([boxes] * level))[0], want
            )


@pytest.mark.parametrize("reach", [1, 2, 3, 7])
def test_blurs_are_means_of_any_reach_and_see_nothing_beyond_their_rectangles(reach):
    rng = np.random.default_rng(5)
    sides = rng.integers(1, 13, (60, 2))  # of all sizes, overlapping
    boxes = np.concatenate([rng.integers(0, [41, 30] - sides + 1), sides], axis=1)
    for shape in ((30, 41, 3), (30, 41, 1)):
        image = painted(*shape)
        got = step("local_blur", image[None], boxes=boxes[None], reach=reach)[0]
        np.testing.assert_array_equal(got, boxed(image, boxes, reach))
    for shape in ((8, 8, 1), (9, 40, 3), (41, 8, 1), (50, 33, 3)):
        np.testing.assert_array_equal(
            step("global_blur", painted(*shape)[None], reach=reach)[0], mean_filter(painted(*shape), reach)
        )


def test_global_blur_is_opencvs_at_every_level_and_rounds_every_sum_right():
    want = photograph("coffee")
    for _ in range(3):
        want = cv2.blur(want, (5, 5))
    np.testing.assert_array_equal(corruptset.corrupt(photograph("coffee"), "global_blur", level=3), want)
    # every sum that 25 values can have
    totals = np.arange(25 * 255 + 1)
    windows = totals[:, None] // 25 + (np.arange(25) < totals[:, None] % 25)
    tall = np.pad(windows.reshape(-1, 5), ((0, 0), (0, 3))).astype(np.uint8)[None, :, :, None]
    np.testing.assert_array_equal(step("global_blur", np.ascontiguousarray(tall))[0, 2::5, 2, 0], (totals + 12) // 25)


# --- single pixels --------------------------------------------------------------------------------------------------


def around(place, height, width):
    """The neighbours of a pixel, in scan order."""
    y, x = divmod(place, width)
    near = [(y + a, x + b) for a in (-1, 0, 1) for b in (-1, 0, 1) if a or b]
    return [v * width + u for v, u in near if 0 <= v < height and 0 <= u < width]


def swapped(image, pairs, exchange):
    flat = image.copy().reshape(-1, image.shape[2])
    for to, source in pairs:
        before = flat[to].copy()
        flat[to] = flat[source]
        if exchange:
            flat[source] = before
    return flat.reshape(image.shape)


@pytest.mark.parametrize("channels", [1, 3])
def test_single_pixels_are_their_words(channels):
    image = painted(40, 60, channels)
    for level in (1, 7):
        want = image.copy().reshape(-1, channels)
        for place, colour in zip(below(words(48, level), 2400), words(48, level, 1), strict=True):
            want[place] = [colour >> (24 - 8 * c) & 255 for c in range(channels)]
        np.testing.assert_array_equal(step("random_noise", image[None], level)[0], want.reshape(image.shape))
        times = np.bincount(below(words(480, level), 2400), minlength=2400)
        assert times.max() > 1
        for added in (20, 255):
            want = np.minimum(image + added * times.reshape(40, 60, 1), 255)
            np.testing.assert_array_equal(step("white_fog", image[None], level, added=added)[0], want)


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("which", LADDERS)
def test_swaps_are_their_words_one_pair_after_the_other(channels, which):
    image = painted(24, 31, channels)
    size = 24 * 31
    for level, share in ((1, None), (3, None), (2, 9.0)):
        given = {} if share is None else {"share": share}
        count = int(size * (share or {"evaluated": 0.05, "text": 0.025}[which]))
        pairs = below(words(2 * count, level), size).reshape(-1, 2)
        got = step("pixel_swap", image[None], level, which, **given)[0]
        np.testing.assert_array_equal(got, swapped(image, pairs, which == "text"))
        count = int(23 * 30 * (share or 0.5)) if which == "evaluated" else int(size * (share or 0.025))
        pairs = []
        for first, second in words(2 * count, level).reshape(-1, 2):
            near = around(int(below(first, size)), 24, 31)
            pairs.append((int(below(first, size)), near[below(second, len(near))]))
        got = step("adjacent_pixel_swap", image[None], level, which, **given)[0]
        np.testing.assert_array_equal(got, swapped(image, pairs, which == "text"))


# --- levels alone ---------------------------------------------------------------------------------------------------


def test_fades_round_half_to_even_and_stop_where_rounding_stops_them():
    """4.5 (0.9 x 5) and 60.5 (1.1 x 55) are the ties that tell."""
    for name, factor, end in (("fade_black", Fraction(9, 10), 4), ("fade_white", Fraction(11, 10), 255)):
        assert step(name, RAMP).ravel().tolist() == [min(round(v * factor), 255) for v in range(256)]
        last = corruptset.corrupt(RAMP[0], name, level=60).ravel()
        assert last[:5].tolist() == [0, 1, 2, 3, 4]
        assert (last[5:] <= 4 if end == 4 else last[5:] == 255).all()


def greyed(pixel, factor=0.9):
    """One step towards grey in exact arithmetic, hue and saturation rounded as bytes.

    Within a level of the real one.
    """
    r, g, b = (int(v) for v in pixel)
    value, difference = max(r, g, b), max(r, g, b) - min(r, g, b)
    if difference == 0:
        return [value] * 3
    turn = (g - b, 0) if value == r else (b - r, 2) if value == g else (r - g, 4)
    hue = floor((Fraction(turn[0], difference) + turn[1]) * 30 + Fraction(1, 2)) % 180
    saturation = Fraction(int(floor(Fraction(255 * difference, value) + Fraction(1, 2)) * factor), 255)
    sector, part = divmod(Fraction(hue, 30), 1)
    low, falling, rising = (
        value * (1 - saturation),
        value * (1 - saturation * part),
        value * (1 - saturation * (1 - part)),
    )
    places = [(0, 1, 2), (1, 0, 2), (1, 2, 0), (2, 1, 0), (2, 0, 1), (0, 2, 1)]  # greatest, middle and least channel
    out = [0] * 3
    for channel, worth in zip(places[sector], (value, falling if sector % 2 else rising, low), strict=True):
        out[channel] = int(worth)
    return out


def test_fade_grey_floors_what_hsv_says_as_opencv_does():
    """But for the last bits of OpenCV's float32, which depend on the processor."""
    image = np.ascontiguousarray(photograph("astronaut")[::8, ::8])
    got, want = step("fade_grey", image[None])[0].reshape(-1, 3).astype(int), [greyed(p) for p in image.reshape(-1, 3)]
    # 125 x (1 / 255) x 255 is a little less than 125 in float32, and floored; where a hue lies halfway, the quotient
    # decides
    away = np.abs(got - want)
    assert ((away == 0).mean() > 0.99, (away <= 1).mean() > 0.998, away.max() <= 8) == (True, True, True)
    want = photograph("coffee").copy()
    for level in range(1, 6):
        hsv = cv2.cvtColor(want, cv2.COLOR_RGB2HSV)
        hsv[..., 1] = (hsv[..., 1] * 0.9).astype(np.uint8)
        want = cv2.cvtColor(hsv, cv2.COLOR_HSV2RGB)
        check_near(corruptset.corrupt(photograph("coffee"), "fade_grey", level=level), want, 0.995, within=2)
    grey, red = painted(30, 40, 1), np.zeros((8, 8, 3), np.uint8)
    np.testing.assert_array_equal(corruptset.corrupt(grey, "fade_grey", level=30), grey)
    red[..., 0] = 200
    assert corruptset.corrupt(red, "fade_grey", level=99)[0, 0].tolist() == [200, 192, 192], (
        "ten of 255 in saturation stay"
    )


def test_posterize_has_so_many_values_at_each_level_of_the_clean_image():
    for level in range(1, 31):
        bins = 32 - level
        even = [min(v * bins // 255, bins - 1) * 255 // (bins - 1) for v in range(256)]
        assert corruptset.corrupt(RAMP[0], "posterize", level=level).ravel().tolist() == even
        edges = [Fraction(255 * (i + 1), bins) for i in range(bins)]
        upper = [int(next((e for e in edges if v < e), Fraction(255))) for v in range(256)]
        assert step("posterize", RAMP, level, "text").ravel().tolist() == upper


def test_jpeg_is_pillows_at_that_quality_and_takes_bgr():
    def through(pixels, quality):
        file = io.BytesIO()
        Image.fromarray(pixels).save(file, "JPEG", quality=quality)
        return np.asarray(Image.open(file))

    image, grey = painted(50, 70), painted(50, 70, 1)
    for level in (1, 7, 30, 31):
        turned = through(np.ascontiguousarray(image[:, :, ::-1]), 32 - level)[:, :, ::-1]
        np.testing.assert_array_equal(corruptset.corrupt(image, "jpeg", level=level), turned)
        np.testing.assert_array_equal(
            corruptset.corrupt(image, "jpeg", level=level, ladder="text"), through(image, 32 - level)
        )
        for which in LADDERS:
            got = corruptset.corrupt(grey, "jpeg", level=level, ladder=which)
            np.testing.assert_array_equal(got[..., 0], through(grey[..., 0], 32 - level))


# --- declarations and given draws -----------------------------------------------------------------------------------


def test_the_published_ones_are_declared_as_published():
    fixed = {"global_blur", "fade_black", "fade_white", "fade_grey", "posterize", "jpeg"}
    given = {"black_lines", "white_lines", "random_boxes", "local_blur"}
    drawn = {"random_noise", "white_fog", "pixel_swap", "adjacent_pixel_swap"} | given
    gradual = {name: get_corruption(name) for name in corruption_names() if get_corruption(name).gradual is not None}
    assert {name for name in fixed | drawn if gradual[name].deterministic} == fixed
    for name in fixed | drawn:
        assert (gradual[name].family, gradual[name].gradual.most >= 30) == ("gradual", True)
        assert gradual[name].gradual.accumulates == (name not in ("posterize", "jpeg"))
        assert bool(gradual[name].draws) == (name in given)


@pytest.mark.parametrize("name", ["black_lines", "random_boxes"])
def test_given_draws_are_used_level_by_level_and_checked(name):
    image = painted(32, 40)
    draw, value = {
        "black_lines": ("ends", np.array([[(0, k), (39, 3 * k)] for k in range(5)])),
        "random_boxes": ("boxes", np.array([[(k, 2, 4, 3), (0, k, 2, 5)] for k in range(5)])),
    }[name]

    def made(level, given, pictures=image, **options):
        return corruptset.corrupt(pictures, name, level=level, **{draw: given}, **options)

    one = made(5, value)
    np.testing.assert_array_equal(one, made(5, value, key="other", seed=9))
    np.testing.assert_array_equal(made(2, value), made(2, value[:2]))
    assert not np.array_equal(made(1, value), made(1, value[1:]))
    np.testing.assert_array_equal(made(5, value, np.stack([image, image])), np.stack([one, one]))
    beyond, negative = value.copy(), value.copy()
    beyond[0, 0, 0], negative[0, 1, 1] = 40, -1
    for wrong, says in (
        (value[:4], "expected (5 or more"),
        (value.astype(float), "expected int64"),
        (beyond, "beyond the image of 32x40"),
        (negative, "beyond the image of 32x40"),
    ):
        with pytest.raises(ParameterError, match=f"{name}.*{re.escape(says)}"):
            made(5, wrong)


def test_what_was_done_is_told():
    told = {
        "black_lines": (1, "1 line"),
        "white_lines": (7, "7 lines"),
        "random_boxes": (7, "308 boxes"),
        "fade_black": (7, "x 0.9, 7 times"),
        "global_blur": (7, "5x5 mean, 7 times"),
        "local_blur": (2, "5x5 mean, 896 rectangles"),
        "fade_grey": (30, "saturation x 0.9, 30 times"),
        "random_noise": (3, "3009 pixels coloured"),
        "white_fog": (1, "10035 pixels + 20"),
        "pixel_swap": (2, "5016 pixels overwritten"),
        "adjacent_pixel_swap": (1, "24864 pixels overwritten"),
        "posterize": (7, "25 levels a channel"),
        "jpeg": (30, "quality 2"),
        "model_gradient": (1, "1 along the gradient, 1 time"),
    }
    for name, (level, says) in told.items():
        assert describe_level(name, level, (224, 224, 3), ladder("evaluated")[name].parameters) == says
    text = {
        "pixel_swap": "300 pairs exchanged",
        "adjacent_pixel_swap": "300 pairs exchanged",
        "local_blur": "mean of each, 320 rectangles",
    }
    assert {name: describe_level(name, 2, (100, 60, 3), ladder("text")[name].parameters) for name in text} == text
    for name, level in (("posterize", 31), ("jpeg", 32), ("black_lines", 100), ("fade_grey", -1)):
        with pytest.raises(ParameterError, match=f"level is {level}; expected a whole number from 1 to"):
            corruptset.corrupt(painted(16, 16), name, level=level)
