"""Compare gradual degradations with slow implementations of their definitions."""

from __future__ import annotations

import itertools
from fractions import Fraction

import cv2
import numpy as np
import pytest
from measures import check_close
from specification import plain

import corruptset
from corruptset.corruptions.calibrations import LADDERS, ladder
from corruptset.corruptions.gradual import describe_level
from corruptset.corruptions.keys import sample_keys
from corruptset.corruptions.registry import get_corruption
from corruptset.errors import ParameterError
from example_images import jpeg_round_trip, photograph, synthetic_image

STAGE = np.uint64(0x9E3779B97F4A7C15)
RAMP = np.arange(256, dtype=np.uint8).reshape(1, 16, 16, 1)
STREAMS = 16
"""Of each level: draw d of level k has stream 16 k + d."""


def step(name, images, level=1, which="evaluated", **kwargs):
    """Apply one step of a gradual degradation to the sample "a"."""
    parameters = dict(ladder(which)[name].parameters)
    parameters |= {key: kwargs.pop(key) for key in list(kwargs) if key in parameters}
    return get_corruption(name).apply(
        images, parameters, STAGE, sample_keys(["a"] * len(images)), level=level, **kwargs
    )


def words(count, level, draw=0):
    return np.array(plain.words(count, int(STAGE), "a", STREAMS * level + draw), np.int64)


def scale_words(draws, count):
    """Return whole numbers from words, uniform on 0 .. count - 1."""
    return draws * count >> 32


# --- lines, rectangles, blurs ---------------------------------------------------------------------------------------


def test_line_ends_follow_random_words():
    """Draw the ends of a line.

    The first end is on the left or top edge, and the second end is on the right or bottom edge.
    """
    for name, ink in (("black_lines", 0), ("white_lines", 255)):
        for level, height, width in ((1, 20, 33), (2, 20, 33), (7, 33, 20), (30, 40, 40)):
            draws = scale_words(words(6, level), [2, height, width] * 2).tolist()
            first = (0, draws[1]) if draws[0] == 0 else (draws[2], 0)
            last = (width - 1, draws[4]) if draws[3] == 0 else (draws[5], height - 1)
            image = np.full((1, height, width, 3), 255 - ink, np.uint8)
            expected = cv2.line(image[0].copy(), first, last, (ink,) * 3, 1, cv2.LINE_AA)
            np.testing.assert_array_equal(step(name, image, level)[0], expected)
            np.testing.assert_array_equal(step(name, image, 1, ends=np.array([[first, last]]))[0], expected)


def mean_filter(image, reach):
    """Replace the pixels by the mean over a window, with reflect padding."""
    return cv2.blur(image, (2 * reach + 1, 2 * reach + 1)).reshape(image.shape)


def blur_boxes(image, boxes, what):
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


def rectangles(level, height, width, density, min_side, max_side):
    """Draw a rectangle, whose sides and corner are determined by four words."""
    draws = words(4 * int(density * (height + width) + 1e-9), level).reshape(-1, 4)
    wide, high = (
        np.minimum(min_side + scale_words(draws[:, k], max_side - min_side + 1), side)
        for k, side in ((0, width), (1, height))
    )
    return np.stack(
        [scale_words(draws[:, 2], width - wide + 1), scale_words(draws[:, 3], height - high + 1), wide, high], axis=1
    )


@pytest.mark.parametrize(
    ("name", "which", "min_side", "max_side", "what"),
    [
        ("random_boxes", "evaluated", 3, 6, "black"),
        ("random_boxes", "text", 2, 5, "black"),
        ("local_blur", "evaluated", 2, 10, 2),
        ("local_blur", "text", 2, 10, "mean"),
    ],
)
def test_rectangles_follow_random_words(name, which, min_side, max_side, what):
    density = ladder(which)[name].parameters["density"]
    for shape, level in itertools.product(((30, 41, 1), (8, 9, 3)), (1, 4)):
        image, boxes = synthetic_image(*shape), rectangles(level, *shape[:2], density, min_side, max_side)
        expected = blur_boxes(image, boxes, what)
        np.testing.assert_array_equal(step(name, image[None], level, which)[0], expected)
        fixed_boxes = np.stack([boxes] * level)
        np.testing.assert_array_equal(step(name, image[None], level, which, boxes=fixed_boxes)[0], expected)


@pytest.mark.parametrize("reach", [1, 2, 3, 7])
def test_blurs_are_means_of_any_radius_within_their_rectangles(reach):
    rng = np.random.default_rng(5)
    sides = rng.integers(1, 13, (60, 2))  # The rectangles have all sizes and overlap.
    boxes = np.concatenate([rng.integers(0, [41, 30] - sides + 1), sides], axis=1)
    image = synthetic_image(30, 41)
    result = step("local_blur", image[None], boxes=boxes[None], reach=reach)[0]
    np.testing.assert_array_equal(result, blur_boxes(image, boxes, reach))
    for shape in ((8, 8, 1), (9, 40, 3), (41, 8, 1)):
        result = step("global_blur", synthetic_image(*shape)[None], reach=reach)[0]
        np.testing.assert_array_equal(result, mean_filter(synthetic_image(*shape), reach))


def test_global_blur_is_iterated_and_rounds_all_sums_of_25_values():
    expected = image = synthetic_image(30, 41)
    for _ in range(3):
        expected = mean_filter(expected, 2)
    np.testing.assert_array_equal(corruptset.corrupt(image, "global_blur", level=3), expected)
    totals = np.arange(25 * 255 + 1)
    windows = totals[:, None] // 25 + (np.arange(25) < totals[:, None] % 25)
    tall = np.pad(windows.reshape(-1, 5), ((0, 0), (0, 3))).astype(np.uint8)[None, :, :, None]
    np.testing.assert_array_equal(step("global_blur", np.ascontiguousarray(tall))[0, 2::5, 2, 0], (totals + 12) // 25)


# --- single pixels --------------------------------------------------------------------------------------------------


def neighbours(place, height, width):
    """Return the neighbours of a pixel in scan order."""
    y, x = divmod(place, width)
    near = [(y + a, x + b) for a in (-1, 0, 1) for b in (-1, 0, 1) if a or b]
    return [v * width + u for v, u in near if 0 <= v < height and 0 <= u < width]


def swap_pixels(image, pairs, exchange):
    flat = image.copy().reshape(-1, image.shape[2])
    for to, source in pairs:
        before = flat[to].copy()
        flat[to] = flat[source]
        if exchange:
            flat[source] = before
    return flat.reshape(image.shape)


@pytest.mark.parametrize("channels", [1, 3])
def test_single_pixels_follow_random_words(channels):
    image = synthetic_image(40, 60, channels)
    for level in (1, 7):
        expected = image.copy().reshape(-1, channels)
        for place, colour in zip(scale_words(words(48, level), 2400), words(48, level, 1), strict=True):
            expected[place] = [colour >> (24 - 8 * c) & 255 for c in range(channels)]
        np.testing.assert_array_equal(step("random_noise", image[None], level)[0], expected.reshape(image.shape))
        times = np.bincount(scale_words(words(480, level), 2400), minlength=2400)
        assert times.max() > 1
        for added in (20, 255):
            expected = np.minimum(image + added * times.reshape(40, 60, 1), 255)
            np.testing.assert_array_equal(step("white_fog", image[None], level, added=added)[0], expected)


@pytest.mark.parametrize("which", LADDERS)
def test_swaps_follow_random_words_in_sequence(which):
    image, size, exchange = synthetic_image(24, 31), 24 * 31, which == "text"
    for level, share in ((1, None), (3, None), (2, 9.0)):
        options = {} if share is None else {"share": share}
        usual, near_share = (0.025, 0.025) if exchange else (0.05, 0.5)
        pairs = scale_words(words(2 * int(size * (share or usual)), level), size).reshape(-1, 2)
        result = step("pixel_swap", image[None], level, which, **options)[0]
        np.testing.assert_array_equal(result, swap_pixels(image, pairs, exchange))
        count = int((size if exchange else 23 * 30) * (share or near_share))
        pairs = []
        for first, second in words(2 * count, level).reshape(-1, 2):
            near = neighbours(int(scale_words(first, size)), 24, 31)
            pairs.append((int(scale_words(first, size)), near[scale_words(second, len(near))]))
        result = step("adjacent_pixel_swap", image[None], level, which, **options)[0]
        np.testing.assert_array_equal(result, swap_pixels(image, pairs, exchange))


# --- levels alone ---------------------------------------------------------------------------------------------------


def test_fades_round_half_to_even_and_stop_at_rounding_limit():
    """Test the ties 4.5 (0.9 x 5) and 60.5 (1.1 x 55), which are rounded to even."""
    for name, factor, end in (("fade_black", Fraction(9, 10), 4), ("fade_white", Fraction(11, 10), 255)):
        assert step(name, RAMP).ravel().tolist() == [min(round(v * factor), 255) for v in range(256)]
        last = corruptset.corrupt(RAMP[0], name, level=60).ravel()
        assert last[:5].tolist() == [0, 1, 2, 3, 4]
        assert (last[5:] <= 4 if end == 4 else last[5:] == 255).all()


def test_fade_grey_floors_hsv_values_like_opencv():
    """Compare with OpenCV, except for the last bits of its float32 results, which depend on the processor."""
    expected = photograph("coffee").copy()
    for level in range(1, 6):
        hsv = cv2.cvtColor(expected, cv2.COLOR_RGB2HSV)
        hsv[..., 1] = (hsv[..., 1] * 0.9).astype(np.uint8)
        expected = cv2.cvtColor(hsv, cv2.COLOR_HSV2RGB)
        check_close(corruptset.corrupt(photograph("coffee"), "fade_grey", level=level), expected, 0.995, within=2)
    grey, red = synthetic_image(30, 40, 1), np.full((8, 8, 3), (200, 0, 0), np.uint8)
    np.testing.assert_array_equal(corruptset.corrupt(grey, "fade_grey", level=30), grey)
    assert corruptset.corrupt(red, "fade_grey", level=99)[0, 0].tolist() == [200, 192, 192], "10 of 255 stay saturated"


def test_posterize_has_expected_number_of_values_at_each_level():
    for level in range(1, 31):
        bins = 32 - level
        even = [min(v * bins // 255, bins - 1) * 255 // (bins - 1) for v in range(256)]
        assert corruptset.corrupt(RAMP[0], "posterize", level=level).ravel().tolist() == even
        edges = [Fraction(255 * (i + 1), bins) for i in range(bins)]
        upper = [int(next((e for e in edges if v < e), Fraction(255))) for v in range(256)]
        assert step("posterize", RAMP, level, "text").ravel().tolist() == upper


def test_jpeg_matches_pillow_at_same_quality_and_bgr_order():
    image, grey = synthetic_image(50, 70), synthetic_image(50, 70, 1)
    for level in (1, 7, 31):
        turned = jpeg_round_trip(np.ascontiguousarray(image[:, :, ::-1]), 32 - level)[:, :, ::-1]
        for which, expected in (("evaluated", turned), ("text", jpeg_round_trip(image, 32 - level))):
            np.testing.assert_array_equal(corruptset.corrupt(image, "jpeg", level=level, ladder=which), expected)
            result = corruptset.corrupt(grey, "jpeg", level=level, ladder=which)
            np.testing.assert_array_equal(result, jpeg_round_trip(grey, 32 - level))


# --- given draws, and what is said of a level -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "draw", "value"),
    [
        ("black_lines", "ends", [[(0, k), (39, 3 * k)] for k in range(5)]),
        ("random_boxes", "boxes", [[(k, 2, 4, 3), (0, k, 2, 5)] for k in range(5)]),
    ],
)
def test_fixed_draws_are_used_level_by_level_and_validated(name, draw, value):
    image, value = synthetic_image(32, 40), np.array(value)

    def apply_level(level, value, images=image, **options):
        return corruptset.corrupt(images, name, level=level, **{draw: value}, **options)

    one = apply_level(5, value)
    np.testing.assert_array_equal(one, apply_level(5, value, key="other", seed=9))
    np.testing.assert_array_equal(apply_level(2, value), apply_level(2, value[:2]))
    for same in (0, 4):
        assert not np.array_equal(one, apply_level(5, value[[same] * 5]))
    np.testing.assert_array_equal(apply_level(5, value, np.stack([image, image])), np.stack([one, one]))
    beyond, negative = value.copy(), value.copy()
    beyond[0, 0, 0], negative[0, 1, 1] = 40, -1
    for invalid, message in (
        (value[:4], r"expected \(5 or more"),
        (value.astype(float), "expected int64"),
        (beyond, "beyond the image of 32x40"),
        (negative, "beyond the image of 32x40"),
    ):
        with pytest.raises(ParameterError, match=f"{name}.*{message}"):
            apply_level(5, invalid)


@pytest.mark.parametrize(
    ("which", "name", "level", "message"),
    [
        ("evaluated", "black_lines", 1, "1 line"),
        ("evaluated", "random_boxes", 7, "308 boxes"),
        ("evaluated", "local_blur", 2, "5x5 mean, 896 rectangles"),
        ("text", "local_blur", 2, "mean of each, 896 rectangles"),
        ("evaluated", "fade_grey", 30, "saturation x 0.9, 30 times"),
        ("evaluated", "white_fog", 1, "10035 pixels + 20"),
        ("evaluated", "adjacent_pixel_swap", 1, "24864 pixels overwritten"),
        ("text", "adjacent_pixel_swap", 2, "2508 pairs exchanged"),
        ("evaluated", "posterize", 7, "25 values per channel"),
        ("evaluated", "jpeg", 30, "quality 2"),
    ],
)
def test_info_describes_changes(which, name, level, message):
    assert describe_level(name, level, (224, 224, 3), ladder(which)[name].parameters) == message


def test_levels_have_maximum():
    for name, level in (("posterize", 31), ("jpeg", 32), ("black_lines", 100), ("fade_grey", -1)):
        with pytest.raises(ParameterError, match=f"level is {level}; expected a whole number from 1 to"):
            corruptset.corrupt(synthetic_image(16, 16), name, level=level)
