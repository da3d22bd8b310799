"""What each gradual degradation does: slow versions of the definitions, and the distributions of what is drawn."""

from __future__ import annotations

import io
from fractions import Fraction
from math import floor

import cv2
import numpy as np
import pytest
from PIL import Image
from scipy import stats

import corruptset
from corruptset.corruptions.calibrations import ladder
from corruptset.corruptions.gradual.blur import draw_rectangles
from corruptset.corruptions.gradual.lines import draw_ends
from corruptset.corruptions.keys import Keys, level_stream
from corruptset.corruptions.random.philox import fill_words
from corruptset.corruptions.registry import get_corruption
from pictures import painted, photograph

STAGE = np.uint64(0x9E3779B97F4A7C15)
P = 1e-5  # what is drawn is fixed, so a test that passes always passes


def many(count):
    return Keys(STAGE, np.arange(1, count + 1, dtype=np.uint64))


def step(name, images, level=1, keys=None, which="evaluated", **given):
    """One step of a gradual degradation."""
    keys = many(len(images)) if keys is None else keys
    parameters = dict(ladder(which)[name].parameters)
    parameters |= {key: given.pop(key) for key in list(given) if key in parameters}
    return get_corruption(name).apply(images, parameters, keys.stage, keys.samples, level=level, **given)


def words(count, level, draw, key=1):
    out = np.empty(count, np.uint32)
    fill_words(out, 0, STAGE, np.uint64(key), level_stream(level, draw))
    return out


def uniform(found, low, high):
    """Whether whole numbers look uniform on low .. high, both included."""
    assert found.min() == low
    assert found.max() == high
    return stats.chisquare(np.bincount(found.ravel() - low, minlength=high - low + 1)).pvalue > P


def ends_of(keys, level, height, width):
    return draw_ends(keys, (height, width, 3), {"level": level})


def drawn_rectangles(keys, level, count, least, most, height, width):
    parameters = {"level": level, "density": count / (height + width), "least": least, "most": most}
    return draw_rectangles(keys, (height, width, 3), parameters)


# --- lines -----------------------------------------------------------------------------------------------------------


def test_ends_lie_on_the_edges_half_and_half_and_uniformly():
    height, width, count = 20, 33, 40000
    ends = ends_of(many(count), 3, height, width)
    (x0, y0), (x1, y1) = ends[:, 0].T, ends[:, 1].T
    assert ((x0 == 0) | (y0 == 0)).all()
    assert ((x1 == width - 1) | (y1 == height - 1)).all()
    # A position of 0 may be on either edge, so each edge is counted without its corner.
    for on_side, row, column in ((x0 == 0, y0, x0), (x1 == width - 1, height - 1 - y1, width - 1 - x1)):
        left, top = on_side & (row > 0), ~on_side & (row == 0)
        assert abs(left.sum() / count - 0.5 * (1 - 1 / height)) < 0.01
        assert abs(top.sum() / count - 0.5 * (1 - 1 / width)) < 0.01
        assert uniform(row[left], 1, height - 1)
        far = width - 1 if column.max() == width - 1 else column.max()
        assert uniform(column[top], 1, far)
    # the two ends know nothing of each other
    assert abs(np.corrcoef(y0, y1)[0, 1]) < 0.02
    assert abs(np.corrcoef(x0, x1)[0, 1]) < 0.02


def test_ends_differ_by_level_and_image():
    ends = np.stack([ends_of(many(200), level, 224, 224) for level in range(1, 6)])
    assert len({e.tobytes() for e in ends.reshape(-1, 4)}) > 990


def test_a_line_is_drawn_in_fixed_numbers():
    """Should an OpenCV release draw lines otherwise, this says so before the golden digests do."""
    flat = np.zeros((1, 12, 16, 1), np.uint8)
    out = step("white_lines", flat, ends=np.array([[(0, 5), (15, 5)]]))[0, :, :, 0]
    assert out[:, 8].tolist() == [0, 0, 0, 0, 53, 232, 58, 0, 0, 0, 0, 0]
    out = step("white_lines", flat, ends=np.array([[(0, 2), (15, 9)]]))[0, :, :, 0]
    assert out[:, 7].tolist() == [0, 0, 0, 0, 20, 228, 128, 0, 0, 0, 0, 0]
    white = np.full((1, 12, 16, 3), 255, np.uint8)
    out = step("black_lines", white, ends=np.array([[(0, 5), (15, 5)]]))[0]
    assert out[:, 8, 0].tolist() == [255] * 4 + [202, 23, 197] + [255] * 5
    assert (out == out[:, :, :1]).all()


@pytest.mark.parametrize("name", ["black_lines", "white_lines"])
def test_lines_are_as_dark_as_they_are_near(name):
    """Against geometry alone: what a pixel becomes falls with its distance from the segment, and ends at 1.6 pixels."""
    height, width = 60, 90
    ink = 0 if name == "black_lines" else 255
    images = np.full((64, height, width, 1), 255 - ink, np.uint8)
    keys = many(64)
    out = step(name, images, 2, keys)[..., 0].astype(float)
    ends = ends_of(keys, 2, height, width).astype(float)
    y, x = np.mgrid[:height, :width]
    for got, ((x0, y0), (x1, y1)) in zip(out, ends, strict=True):
        long = max(abs(x1 - x0), abs(y1 - y0))
        if long < 8:
            continue
        dx, dy = x1 - x0, y1 - y0
        along = np.clip(((x - x0) * dx + (y - y0) * dy) / (dx * dx + dy * dy), 0, 1)
        away = np.hypot(x - x0 - along * dx, y - y0 - along * dy)
        share = np.abs(got - (255 - ink)) / 255
        inner = (along > 0.1) & (along < 0.9)
        assert share[inner & (away < 0.1)].min(initial=1.0) > 0.85
        assert share[away > 1.6].max() == 0.0
        middling = share[inner & (away > 0.45) & (away < 0.55)]
        assert 0.5 < middling.mean() < 0.85 if middling.size else True


# --- rectangles ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "which", "least", "most"), [
    ("random_boxes", "evaluated", 3, 6), ("random_boxes", "text", 2, 5), ("local_blur", "evaluated", 2, 10),
    ("local_blur", "text", 2, 10),
])  # fmt: skip
def test_rectangles_are_uniform(name, which, least, most):
    row = ladder(which)[name].parameters
    assert (row["least"], row["most"]) == (least, most)
    height, width = 24, 31
    boxes = drawn_rectangles(many(1000), 4, 44, row["least"], row["most"], height, width)
    assert boxes.shape == (1000, 44, 4)
    x, y, wide, high = boxes.reshape(-1, 4).T
    assert uniform(wide, least, most)
    assert uniform(high, least, most)
    table = np.histogram2d(wide, high, bins=most - least + 1)[0]
    assert stats.chi2_contingency(table).pvalue > P, "width and height are drawn each by itself"
    for side in range(least, most + 1):
        assert uniform(x[wide == side], 0, width - side)
        assert uniform(y[high == side], 0, height - side)


def test_rectangles_fit_into_small_images():
    boxes = drawn_rectangles(many(500), 1, 16, 2, 10, 8, 9)
    x, y, wide, high = boxes.reshape(-1, 4).T
    assert (wide.max(), high.max()) == (9, 8)
    assert (x + wide).max() == 9
    assert (y + high).max() == 8


@pytest.mark.parametrize(("name", "count"), [("random_boxes", 44), ("local_blur", 448)])
def test_the_number_of_rectangles_goes_with_height_and_width(name, count):
    density = ladder("evaluated")[name].parameters["density"]
    assert (
        get_corruption(name).gradual.change(1, (224, 224, 3), ladder("evaluated")[name].parameters).count(str(count))
        == 1
    )
    # with boxes of one pixel and a tiny share of overlap the number can be counted
    image = np.full((1, 400, 600, 1), 9, np.uint8)
    if name == "random_boxes":
        out = step(name, image, least=1, most=1)
        assert int(density * 1000) - 3 <= (out == 0).sum() <= int(density * 1000)


@pytest.mark.parametrize("channels", [1, 3])
def test_boxes_are_black(channels):
    images = np.stack([painted(30, 41, channels, which) for which in range(2)])
    boxes = np.array([[(0, 0, 3, 4), (36, 24, 5, 6)], [(10, 12, 6, 3), (12, 10, 3, 6)]])
    want = images.copy()
    want[:, 12:15, 10:16] = 0
    want[:, 10:16, 12:15] = 0
    np.testing.assert_array_equal(step("random_boxes", images, 2, boxes=boxes), want)
    # and those that are drawn are blackened too
    keys = many(2)
    drawn = drawn_rectangles(keys, 2, 7, 3, 6, 30, 41)
    want = images.copy()
    for image, found in zip(want, drawn, strict=True):
        for x, y, wide, high in found:
            image[y : y + high, x : x + wide] = 0
    np.testing.assert_array_equal(step("random_boxes", images, 2, keys), want)


# --- blurs -----------------------------------------------------------------------------------------------------------


def mean_filter(image, reach):
    """The rounded mean over a window, mirrored about the outermost pixels, in whole numbers."""
    height, width, _ = image.shape
    padded = np.pad(
        image.astype(np.int64),
        ((reach, reach), (reach, reach), (0, 0)),
        mode="reflect" if min(height, width) > 1 else "edge",
    )
    if min(height, width) == 1:
        rows = np.pad(np.arange(height), reach, mode="reflect" if height > 1 else "edge")
        columns = np.pad(np.arange(width), reach, mode="reflect" if width > 1 else "edge")
        padded = image.astype(np.int64)[rows][:, columns]
    side = 2 * reach + 1
    total = sum(padded[a : a + height, b : b + width] for a in range(side) for b in range(side))
    return ((2 * total + side * side) // (2 * side * side)).astype(np.uint8)


@pytest.mark.parametrize("reach", range(1, 8))
@pytest.mark.parametrize("size", [(8, 8), (9, 40), (41, 8), (50, 33)], ids=str)
def test_global_blur_is_the_mean(reach, size):
    for channels in (1, 3):
        image = painted(*size, channels)
        np.testing.assert_array_equal(step("global_blur", image[None], reach=reach)[0], mean_filter(image, reach))


def test_global_blur_is_opencvs_and_rounds_every_sum_right():
    image = photograph("coffee")
    out = corruptset.corrupt(image, "global_blur", level=3)
    want = image
    for _ in range(3):
        want = cv2.blur(want, (5, 5))
    np.testing.assert_array_equal(out, want)
    # every sum that 25 values can have
    rows = []
    for total in range(25 * 255 + 1):
        window = np.full(25, total // 25)
        window[: total % 25] += 1
        rows.append(window.reshape(5, 5))
    tall = np.concatenate(rows, axis=0)[:, :, None].astype(np.uint8)
    tall = np.concatenate([tall, np.zeros((len(tall), 3, 1), np.uint8)], axis=1)
    got = step("global_blur", np.ascontiguousarray(tall)[None])[0, 2::5, 2, 0]
    np.testing.assert_array_equal(got, (np.arange(25 * 255 + 1) + 12) // 25)


def test_blur_accumulates():
    image = painted(40, 30)
    want = mean_filter(mean_filter(mean_filter(image, 2), 2), 2)
    np.testing.assert_array_equal(corruptset.corrupt(image, "global_blur", level=3), want)


def rectangles_of(height, width, seed):
    """Rectangles of all sizes from 1 to 12, overlapping."""
    rng = np.random.default_rng(seed)
    sides = rng.integers(1, 13, (60, 2))
    corner = np.stack([rng.integers(0, width - sides[:, 0] + 1), rng.integers(0, height - sides[:, 1] + 1)], axis=1)
    return np.concatenate([corner, sides], axis=1)


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("reach", [1, 2, 3])
def test_local_blur_sees_nothing_beyond_its_rectangles(channels, reach):
    image = painted(30, 41, channels)
    boxes = np.stack([rectangles_of(30, 41, seed) for seed in range(2)])
    want = image.copy()
    for x, y, wide, high in boxes[1]:
        want[y : y + high, x : x + wide] = mean_filter(want[y : y + high, x : x + wide], reach)
    np.testing.assert_array_equal(step("local_blur", image[None], 2, boxes=boxes, reach=reach)[0], want)
    if reach == 2:
        want = image.copy()
        for x, y, wide, high in boxes[1]:
            want[y : y + high, x : x + wide] = cv2.blur(want[y : y + high, x : x + wide].copy(), (5, 5)).reshape(
                high, wide, channels
            )
        np.testing.assert_array_equal(step("local_blur", image[None], 2, boxes=boxes)[0], want)


@pytest.mark.parametrize("channels", [1, 3])
def test_local_blur_of_the_text_takes_the_mean(channels):
    image = painted(30, 41, channels)
    boxes = rectangles_of(30, 41, 5)[None]
    want = image.copy()
    for x, y, wide, high in boxes[0]:
        part = want[y : y + high, x : x + wide]
        part[:] = (2 * part.astype(int).sum(axis=(0, 1)) + wide * high) // (2 * wide * high)
    np.testing.assert_array_equal(step("local_blur", image[None], which="text", boxes=boxes)[0], want)


def test_local_blur_uses_what_it_draws():
    images = np.stack([painted(30, 41), painted(30, 41, which=1)])
    keys = many(2)
    drawn = drawn_rectangles(keys, 3, 71, 2, 10, 30, 41)
    out = step("local_blur", images, 3, keys)
    for image, found, got in zip(images, drawn, out, strict=True):
        boxes = np.stack([found] * 3)
        np.testing.assert_array_equal(got, step("local_blur", image[None], 3, boxes=boxes)[0])


# --- single pixels ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("channels", [1, 3])
def test_random_noise_is_its_words(channels):
    image = painted(40, 60, channels)
    for level in (1, 7):
        where, colours = (words(48, level, draw).astype(np.int64) for draw in (0, 1))
        want = image.copy().reshape(-1, channels)
        for place, colour in zip(where * 2400 >> 32, colours, strict=True):
            want[place] = [colour >> (24 - 8 * c) & 255 for c in range(channels)]
        np.testing.assert_array_equal(step("random_noise", image[None], level)[0], want.reshape(image.shape))


def test_random_noise_is_uniform_in_place_and_colour():
    images = np.zeros((400, 20, 30, 3), np.uint8)
    images[...] = 255
    out = step("random_noise", images)
    struck = (out != 255).any(axis=3)
    assert abs(struck.sum() / (400 * 12) - (1 - 11 / 1200)) < 0.005
    assert stats.chisquare(struck.sum(axis=0).ravel()).pvalue > P
    colours = out[struck].astype(int)
    for c in range(3):
        # 255 is short of those that are 255 in all three channels, one in 16 million
        assert uniform(colours[:, c] // 16, 0, 15)
        assert uniform(colours[:, c] % 16, 0, 15)
    assert np.abs(np.corrcoef(colours.T) - np.eye(3)).max() < 0.05


@pytest.mark.parametrize("channels", [1, 3])
def test_white_fog_adds_for_every_draw(channels):
    image = painted(40, 60, channels)
    for level, added in ((1, 20), (3, 20), (2, 255)):
        times = np.zeros(2400, np.int64)
        np.add.at(times, words(480, level, 0).astype(np.int64) * 2400 >> 32, 1)
        assert times.max() > 1
        want = np.minimum(image.astype(int) + added * times.reshape(40, 60, 1), 255)
        np.testing.assert_array_equal(step("white_fog", image[None], level, added=added)[0], want)


def test_white_fog_strikes_everywhere_alike():
    images = np.zeros((300, 20, 30, 1), np.uint8)
    out = step("white_fog", images).astype(int)
    assert out.sum() == 300 * 120 * 20
    assert stats.chisquare(out.sum(axis=0).ravel() // 20).pvalue > P


# --- swaps -----------------------------------------------------------------------------------------------------------


def swapped(image, pairs, exchange):
    flat = image.copy().reshape(-1, image.shape[2])
    for to, source in pairs:
        before = flat[to].copy()
        flat[to] = flat[source]
        if exchange:
            flat[source] = before
    return flat.reshape(image.shape)


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize(("which", "share"), [("evaluated", 0.05), ("text", 0.025)])
def test_pixel_swap_is_its_words_one_pair_after_the_other(channels, which, share):
    image = painted(40, 60, channels)
    for level, more in ((1, share), (4, share), (2, 3.0)):
        count = int(2400 * more)
        drawn = words(2 * count, level, 0).astype(np.int64) * 2400 >> 32
        want = swapped(image, drawn.reshape(-1, 2), which == "text")
        np.testing.assert_array_equal(step("pixel_swap", image[None], level, which=which, share=more)[0], want)


def around(place, height, width):
    """The neighbours of a pixel, in scan order."""
    y, x = divmod(place, width)
    return [
        (y + a) * width + x + b
        for a in (-1, 0, 1)
        for b in (-1, 0, 1)
        if (a or b) and 0 <= y + a < height and 0 <= x + b < width
    ]  # fmt: skip


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("which", ["evaluated", "text"])
def test_adjacent_pixel_swap_is_its_words(channels, which):
    image = painted(24, 31, channels)
    count = {"evaluated": 23 * 30 // 2, "text": 24 * 31 // 40}[which]
    for level, more in ((1, None), (3, None), (2, 9.0)):
        pairs = count if more is None else int(more * (23 * 30 if which == "evaluated" else 24 * 31))
        drawn = words(2 * pairs, level, 0).astype(np.int64).reshape(-1, 2)
        places = []
        for first, second in drawn:
            to = int(first * 24 * 31 >> 32)
            near = around(to, 24, 31)
            places.append((to, near[int(second) * len(near) >> 32]))
        given = {} if more is None else {"share": more}
        got = step("adjacent_pixel_swap", image[None], level, which=which, **given)[0]
        np.testing.assert_array_equal(got, swapped(image, places, which == "text"))


def test_neighbours_are_uniform():
    """One pair an image, on images whose pixels all differ: which pixel was overwritten by which."""
    count, height, width = 60000, 8, 9
    base = np.arange(72, dtype=np.uint8).reshape(1, height, width, 1)
    out = step("adjacent_pixel_swap", np.repeat(base, count, axis=0), share=1.5 / 72, margin=0).reshape(count, 72)
    changed = out != np.arange(72)
    assert (changed.sum(axis=1) == 1).all(), "a pixel is never its own neighbour, and only one is overwritten"
    to = changed.argmax(axis=1)
    source = out[np.arange(count), to].astype(int)
    assert stats.chisquare(np.bincount(to, minlength=72)).pvalue > P
    for place in range(72):
        near = around(place, height, width)
        found = np.bincount(source[to == place], minlength=72)
        assert found.sum() == found[near].sum()
        assert stats.chisquare(found[near]).pvalue > P
    inner = [place for place in range(72) if len(around(place, height, width)) == 8]
    assert len(inner) == 6 * 7
    offsets = (source - to)[np.isin(to, inner)]
    assert sorted(set(offsets)) == [-10, -9, -8, -1, 1, 8, 9, 10]
    assert stats.chisquare(np.unique(offsets, return_counts=True)[1]).pvalue > P


def test_pixels_come_from_anywhere():
    count = 60000
    base = np.arange(72, dtype=np.uint8).reshape(1, 8, 9, 1)
    out = step("pixel_swap", np.repeat(base, count, axis=0), share=1.5 / 72).reshape(count, 72)
    changed = out != np.arange(72)
    one = changed.any(axis=1)
    assert (changed.sum(axis=1) == one).all()
    assert abs((~one).mean() - 1 / 72) < 0.002
    to = changed[one].argmax(axis=1)
    source = out[one][np.arange(one.sum()), to].astype(int)
    assert stats.chisquare(np.bincount(to, minlength=72)).pvalue > P
    assert stats.chisquare(np.bincount(source, minlength=72)).pvalue > P
    assert abs(np.corrcoef(to, source)[0, 1]) < 0.03


@pytest.mark.parametrize("name", ["pixel_swap", "adjacent_pixel_swap"])
def test_an_exchange_keeps_every_pixel_and_a_copy_does_not(name):
    image = painted(50, 40)
    kept = corruptset.corrupt(image, name, level=9, ladder="text")
    lost = corruptset.corrupt(image, name, level=9)
    order = [sorted(map(tuple, picture.reshape(-1, 3).tolist())) for picture in (image, kept, lost)]
    assert order[0] == order[1] != order[2]
    assert not np.array_equal(image, kept)


# --- fades -----------------------------------------------------------------------------------------------------------

RAMP = np.arange(256, dtype=np.uint8).reshape(1, 16, 16, 1)


@pytest.mark.parametrize(("name", "factor"), [("fade_black", Fraction(9, 10)), ("fade_white", Fraction(11, 10))])
def test_fades_round_half_to_even(name, factor):
    want = [min(round(v * factor), 255) for v in range(256)]
    assert step(name, RAMP).ravel().tolist() == want
    # 0.9 x 5 = 4.5 and 1.1 x 55 = 60.5 are the ties that tell
    assert {"fade_black": want[5] == 4, "fade_white": want[55] == 60}[name]


def test_fades_stop_where_rounding_stops_them():
    dark = corruptset.corrupt(RAMP[0], "fade_black", level=60)
    assert dark.max() == 4
    np.testing.assert_array_equal(dark, corruptset.corrupt(RAMP[0], "fade_black", level=61))
    assert dark.ravel()[:5].tolist() == [0, 1, 2, 3, 4]
    light = corruptset.corrupt(RAMP[0], "fade_white", level=60).ravel()
    assert light[:5].tolist() == [0, 1, 2, 3, 4]
    assert (light[5:] == 255).all()


def greyed(pixel, factor=0.9):
    """One step towards grey in exact arithmetic, hue and saturation rounded as bytes; within a level of the
    real one.
    """
    r, g, b = (int(v) for v in pixel)
    value, difference = max(r, g, b), max(r, g, b) - min(r, g, b)
    if difference == 0:
        return [value] * 3
    sixth = (
        Fraction(g - b, difference)
        if value == r
        else 2 + Fraction(b - r, difference)
        if value == g
        else 4 + Fraction(r - g, difference)
    )
    hue = floor(sixth * 30 + Fraction(1, 2)) % 180
    saturation = Fraction(int(floor(Fraction(255 * difference, value) + Fraction(1, 2)) * factor), 255)
    sector, part = divmod(Fraction(hue, 30), 1)
    low, falling, rising = (
        value * (1 - saturation),
        value * (1 - saturation * part),
        value * (1 - saturation * (1 - part)),
    )
    sixths = [(0, 1, 2), (1, 0, 2), (1, 2, 0), (2, 1, 0), (2, 0, 1), (0, 2, 1)]  # greatest, middle and least channel
    out: list[object] = [None] * 3
    for channel, worth in zip(sixths[sector], (value, falling if sector % 2 else rising, low), strict=True):
        out[channel] = worth
    return out


def test_fade_grey_floors_what_hsv_says():
    image = np.ascontiguousarray(photograph("astronaut")[::8, ::8])
    got = step("fade_grey", image[None])[0].reshape(-1, 3).astype(int)
    want = [[int(v) for v in greyed(p)] for p in image.reshape(-1, 3)]
    away = np.abs(got - want)
    # 125 x (1 / 255) x 255 is a little less than 125 in float32, and floored: so whole products can come out one lower
    assert (away == 0).mean() > 0.99
    # and where a hue lies halfway, the fixed-point quotient decides: two degrees are up to 8 levels
    assert (away <= 1).mean() > 0.998
    assert away.max() <= 8


@pytest.mark.parametrize("name", ["astronaut", "coffee", "chelsea"])
def test_fade_grey_is_opencvs(name):
    """But for the last bits of its float32, which depend on the processor."""
    want = photograph(name).copy()
    for level in range(1, 6):
        hsv = cv2.cvtColor(want, cv2.COLOR_RGB2HSV)
        hsv[..., 1] = (hsv[..., 1] * 0.9).astype(np.uint8)
        want = cv2.cvtColor(hsv, cv2.COLOR_HSV2RGB)
        got = corruptset.corrupt(photograph(name), "fade_grey", level=level)
        assert (got == want).mean() > 0.995
        assert np.abs(got.astype(int) - want).max() <= 2


def test_fade_grey_leaves_grey_alone_and_never_ends():
    grey = painted(30, 40, 1)
    np.testing.assert_array_equal(corruptset.corrupt(grey, "fade_grey", level=30), grey)
    red = np.zeros((8, 8, 3), np.uint8)
    red[..., 0] = 200
    out = corruptset.corrupt(red, "fade_grey", level=30)[0, 0]
    assert out[0] == 200
    assert 180 < out[1] == out[2] < 200
    out = corruptset.corrupt(red, "fade_grey", level=60)[0, 0]
    np.testing.assert_array_equal(corruptset.corrupt(red, "fade_grey", level=99)[0, 0], out)
    assert out.tolist() == [200, 192, 192], "ten of 255 in saturation stay"


# --- from the clean image --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("level", range(1, 31))
def test_posterize_has_so_many_values(level):
    bins = 32 - level
    even = step("posterize", RAMP, level).ravel()
    assert len(set(even.tolist())) == bins
    assert even.tolist() == [min(v * bins // 255, bins - 1) * 255 // (bins - 1) for v in range(256)]
    assert (even[0], even[-1]) == (0, 255)
    upper = step("posterize", RAMP, level, which="text").ravel()
    edges = [Fraction(255 * (i + 1), bins) for i in range(bins)]
    want = [int(next((e for e in edges if v < e), Fraction(255))) for v in range(256)]
    assert upper.tolist() == want


def test_posterize_starts_from_the_clean_image():
    out = corruptset.corrupt(RAMP[0], "posterize", level=30)
    assert sorted(set(out.ravel().tolist())) == [0, 255]
    assert (out.ravel() == np.where(np.arange(256) > 127, 255, 0)).all()


@pytest.mark.parametrize("level", [1, 7, 30, 31])
def test_jpeg_is_pillows_at_that_quality(level):
    image = painted(50, 70)

    def through(pixels):
        file = io.BytesIO()
        Image.fromarray(pixels).save(file, "JPEG", quality=32 - level)
        return np.asarray(Image.open(file))

    np.testing.assert_array_equal(corruptset.corrupt(image, "jpeg", level=level, ladder="text"), through(image))
    turned = np.ascontiguousarray(image[:, :, ::-1])
    np.testing.assert_array_equal(corruptset.corrupt(image, "jpeg", level=level), through(turned)[:, :, ::-1])
    grey = painted(50, 70, 1)
    for which in ("evaluated", "text"):
        np.testing.assert_array_equal(
            corruptset.corrupt(grey, "jpeg", level=level, ladder=which)[..., 0], through(grey[..., 0])
        )
