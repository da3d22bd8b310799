"""Properties that hold for every gradual degradation."""

from __future__ import annotations

import numpy as np
import pytest
from surrogates import needed, needed_resources

import corruptset
from corruptset.corruptions.calibrations import LADDERS, ladder, shipped
from corruptset.corruptions.keys import STREAMS_A_LEVEL, level_stream, sample_keys
from corruptset.corruptions.registry import corruption_names, get_corruption
from corruptset.corruptions.stages import apply_stage, chain_keys, check_images, resolve_stage
from corruptset.errors import ParameterError
from pictures import painted

GRADUAL = [name for name in corruption_names() if get_corruption(name).gradual is not None]
DRAWN = [name for name in GRADUAL if not get_corruption(name).deterministic]
SIZES = [(8, 8), (9, 31), (31, 9), (40, 24), (60, 61)]
every = pytest.mark.parametrize("name", GRADUAL)
TABLE = shipped("imagenet")


def corrupt(image, name, **options):
    return corruptset.corrupt(image, name, **needed(name, image), **options)


def stage_of(name, level, which="evaluated", **parameters):
    return resolve_stage(name, TABLE, level=level, parameters=dict(ladder(which)[name].parameters) | parameters)


def given_draws(name, height, width, levels):
    """Draws that a person could give, other than those that are drawn."""
    if name in ("black_lines", "white_lines"):
        return {"ends": np.array([[(0, k % height), (width - 1, (3 * k) % height)] for k in range(levels)])}
    if name in ("random_boxes", "local_blur"):
        return {"boxes": np.array([[(k % (width - 4), 2, 4, 3), (0, k % (height - 5), 2, 5)] for k in range(levels)])}
    return {}


def last(name):
    """Return the last level of these tests: 30, as the paper has, or less."""
    return min(30, get_corruption(name).gradual.most)


def test_the_published_ones_are_declared_as_published():
    fixed = {"global_blur", "fade_black", "fade_white", "fade_grey", "posterize", "jpeg"}
    drawn = {
        "black_lines",
        "white_lines",
        "random_boxes",
        "local_blur",
        "random_noise",
        "white_fog",
        "pixel_swap",
        "adjacent_pixel_swap",
    }
    assert fixed <= set(GRADUAL) - set(DRAWN)
    assert drawn <= set(DRAWN)
    for name in fixed | drawn:
        declared = get_corruption(name)
        assert (declared.family, declared.role) == ("gradual", "test")
        assert declared.gradual.most >= 30
        assert declared.gradual.accumulates == (name not in ("posterize", "jpeg"))
        assert bool(declared.draws) == bool(given_draws(name, 20, 20, 1))


@every
def test_both_ladders_have_it_with_a_source(name):
    for which in LADDERS:
        row = ladder(which)[name]
        assert row.source
        assert set(row.parameters) == {p.name for p in get_corruption(name).columns}


@every
@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_any_size_shape_dtype_input_untouched_and_deterministic(name, size, channels):
    image = painted(*size, channels)
    before = image.copy()
    for which in LADDERS:
        for level in (1, last(name)):
            out = corrupt(image, name, level=level, ladder=which)
            assert out.dtype == np.uint8
            assert out.shape == image.shape
            assert not np.shares_memory(out, image)
            np.testing.assert_array_equal(image, before)
            np.testing.assert_array_equal(out, corrupt(image, name, level=level, ladder=which))


@every
@pytest.mark.parametrize("channels", [1, 3])
def test_batch_is_one_by_one(name, channels):
    images = np.stack([painted(33, 47, channels, which) for which in range(4)])
    ids = ["a", "b", "a", "n01440764/x y"]
    for which in LADDERS:
        together = corrupt(images, name, level=4, key=ids, ladder=which)
        for image, key, out in zip(images, ids, together, strict=True):
            np.testing.assert_array_equal(out, corrupt(image, name, level=4, key=key, ladder=which))


@every
def test_readonly_and_strided_images_give_the_same(name):
    image = painted(40, 36)
    want = corrupt(image, name, level=3)
    frozen = image.copy()
    frozen.setflags(write=False)
    for view in (frozen, np.asfortranarray(image), image[:, ::-1][:, ::-1]):
        np.testing.assert_array_equal(want, corrupt(view, name, level=3))
    grey = painted(40, 36, 1)
    np.testing.assert_array_equal(corrupt(grey, name, level=3)[:, :, 0], corrupt(grey[:, :, 0], name, level=3))


@every
def test_a_level_continues_the_one_below_it(name):
    """What a ladder makes in one pass is what each level makes alone."""
    images = check_images(np.stack([painted(32, 45, 3, which) for which in range(2)]))
    ids = ["a", "b"]
    found = get_corruption(name)
    for which in LADDERS:
        top = stage_of(name, 6, which)
        (key,) = chain_keys([top], 3)
        now = images
        for level in range(1, 7):
            stage = stage_of(name, level, which)
            assert chain_keys([stage], 3) == [key]
            source = now if found.gradual.accumulates else images
            done = level - 1 if found.gradual.accumulates else 0
            now = apply_stage(
                source, stage, key, sample_keys(ids), side=224, done=done, resources=needed_resources(name, images)
            )
            np.testing.assert_array_equal(now, corrupt(images, name, level=level, ladder=which, key=ids, seed=3))


@every
def test_the_function_takes_one_step_and_leaves_its_input(name):
    images = painted(24, 30)[None]
    before = images.copy()
    found = get_corruption(name)
    parameters = ladder("evaluated")[name].parameters
    out = found.apply(images, parameters, np.uint64(5), sample_keys(["x"]), level=3, **needed_resources(name, images))
    assert out is not images
    assert not np.shares_memory(out, images)
    np.testing.assert_array_equal(images, before)


@every
def test_key_and_seed_matter_exactly_where_something_is_drawn(name):
    image = painted(48, 48)
    base = corrupt(image, name, level=2, key="a")
    for other in (corrupt(image, name, level=2, key="b"), corrupt(image, name, level=2, key="a", seed=1)):
        assert np.array_equal(base, other) == (name not in DRAWN)


@pytest.mark.parametrize("name", DRAWN)
def test_levels_draw_differently(name):
    """One step on the same image at different levels changes different places."""
    images = painted(64, 64)[None]
    found = get_corruption(name)
    parameters = ladder("evaluated")[name].parameters
    outs = [
        found.apply(images, parameters, np.uint64(5), sample_keys(["x"]), level=level)
        for level in range(1, last(name) + 1)
    ]
    assert len({out.tobytes() for out in outs}) == len(outs)


@every
def test_every_level_changes_the_picture_further(name):
    image = painted(64, 64)
    outs = [corrupt(image, name, level=level) for level in range(1, last(name) + 1)]
    assert len({out.tobytes() for out in outs}) == len(outs)
    away = [np.mean((out.astype(float) - image) ** 2) for out in (outs[0], outs[len(outs) // 3], outs[-1])]
    assert 0 < away[0] < away[1] < away[2]


@pytest.mark.parametrize("name", ["black_lines", "white_lines", "random_boxes", "local_blur"])
def test_given_draws_are_used_and_checked(name):
    image = painted(32, 40)
    draws = given_draws(name, 32, 40, 5)
    (draw, value), *_ = draws.items()
    one = corrupt(image, name, level=5, **draws)
    np.testing.assert_array_equal(one, corrupt(image, name, level=5, key="other", seed=9, **draws))
    # more levels than needed are no mistake, each level takes its own entry, and one draw serves a batch
    np.testing.assert_array_equal(
        corrupt(image, name, level=2, **draws), corrupt(image, name, level=2, **{draw: value[:2]})
    )
    assert not np.array_equal(
        corrupt(image, name, level=1, **draws), corrupt(image, name, level=1, **{draw: value[1:]})
    )
    both = corrupt(np.stack([image, image]), name, level=5, **draws)
    np.testing.assert_array_equal(both, np.stack([one, one]))
    beyond = value.copy()
    beyond[0, 0, 0] = 40
    negative = value.copy()
    negative[0, 1, 1] = -1
    for wrong, says in (
        (value[:4], "expected (5 or more"),
        (value.astype(float), "expected whole numbers"),
        (value[..., :1], "expected (5 or more"),
        (beyond, "beyond the image of 32x40"),
        (negative, "beyond the image of 32x40"),
    ):
        with pytest.raises(ParameterError) as caught:
            corrupt(image, name, level=5, **{draw: wrong})
        assert says in str(caught.value)
        assert name in str(caught.value)


@pytest.mark.parametrize(
    ("name", "level", "says"),
    [
        ("black_lines", 1, "1 line"),
        ("white_lines", 7, "7 lines"),
        ("random_boxes", 7, "308 boxes"),
        ("global_blur", 7, "5x5 mean, 7 times"),
        ("local_blur", 2, "5x5 mean, 896 rectangles"),
        ("random_noise", 3, "3009 pixels coloured"),
        ("white_fog", 1, "10035 pixels + 20"),
        ("pixel_swap", 2, "5016 pixels overwritten"),
        ("adjacent_pixel_swap", 1, "24864 pixels overwritten"),
        ("fade_black", 7, "x 0.9, 7 times"),
        ("fade_white", 7, "x 1.1, 7 times"),
        ("fade_grey", 30, "saturation x 0.9, 30 times"),
        ("posterize", 7, "25 levels a channel"),
        ("jpeg", 30, "quality 2"),
        ("model_gradient", 1, "1 along the gradient, 1 time"),
        ("model_gradient", 7, "1 along the gradient, 7 times"),
    ],
)
def test_what_was_done_is_told(name, level, says):
    change = get_corruption(name).gradual.change
    assert change(level, (224, 224, 3), ladder("evaluated")[name].parameters) == says


def test_what_was_done_is_told_of_the_text_too():
    told = {
        name: get_corruption(name).gradual.change(2, (100, 60, 3), ladder("text")[name].parameters)
        for name in ("pixel_swap", "adjacent_pixel_swap", "local_blur")
    }
    assert told == {
        "pixel_swap": "300 pairs exchanged",
        "adjacent_pixel_swap": "300 pairs exchanged",
        "local_blur": "mean of each, 320 rectangles",
    }


@pytest.mark.parametrize(("name", "level"), [("posterize", 31), ("jpeg", 32), ("black_lines", 100), ("fade_grey", -1)])
def test_levels_end_where_nothing_is_left(name, level):
    with pytest.raises(ParameterError, match=f"level is {level}; expected a whole number from 1 to"):
        corrupt(painted(16, 16), name, level=level)


def test_streams_of_levels_are_disjoint():
    streams = {int(level_stream(level, draw)) for level in range(100) for draw in range(STREAMS_A_LEVEL)}
    assert len(streams) == 100 * STREAMS_A_LEVEL
