"""Properties that hold for every registered corruption."""

from __future__ import annotations

import numpy as np
import pytest

import corruptset
from corruptset.corruptions.calibrations import SHIPPED, Calibration, Row, shipped
from corruptset.corruptions.keys import sample_keys
from corruptset.corruptions.registry import FAMILIES, corruption_names, get_corruption
from corruptset.corruptions.stages import apply_stage, chain_keys, check_images, resolve_stage
from corruptset.pixels import pixel_digest
from pictures import painted

NINETEEN = (
    "gaussian_noise shot_noise impulse_noise speckle_noise gaussian_blur defocus_blur glass_blur motion_blur zoom_blur snow frost fog "
    "brightness spatter contrast elastic_transform pixelate jpeg_compression saturate"
).split()
MNIST_C = "shear scale rotate translate line dotted_line zigzag stripe canny_edges quantize inverse".split()
"""Their properties are in test_shape."""
GRADUAL = (
    "black_lines white_lines random_boxes global_blur local_blur random_noise white_fog pixel_swap adjacent_pixel_swap fade_black "
    "fade_white fade_grey posterize jpeg"
).split()
"""Their properties are in test_gradual."""
OWN_ROWS = {"salt_pepper": [{"density": d} for d in (0.05, 0.1, 0.15, 0.2, 0.3)]}
"""Corruptions without published severities, with five for these tests, as a user's own table would give them."""
SIZES = [(8, 8), (9, 31), (31, 9), (40, 24)]
every = pytest.mark.parametrize("name", [*NINETEEN, *OWN_ROWS])


def calibrated(name: str, calibration: str) -> Calibration:
    """Return a shipped calibration, or one of its size with rows of our own for what it has no rows of."""
    found = shipped(calibration)
    if name not in OWN_ROWS:
        return found
    return Calibration(calibration, found.side, {name: {s: Row(row, "this test") for s, row in enumerate(OWN_ROWS[name], 1)}})


def corrupt(image, name, *, calibration="cifar", **options):
    return corruptset.corrupt(image, name, calibration=calibrated(name, calibration), **options)


def test_all_are_registered():
    assert sorted(corruption_names()) == sorted([*NINETEEN, *OWN_ROWS, *MNIST_C, *GRADUAL])


def test_names_are_in_the_order_of_families():
    families = [FAMILIES.index(get_corruption(name).family) for name in corruption_names()]
    assert families == sorted(families)


@every
def test_it_is_described(name):
    found = get_corruption(name)
    doc = found.function.__doc__ or ""
    for heading in ("Parameters", "Returns", "References"):
        assert f"{heading}\n    {'-' * len(heading)}" in doc, f"{name}: the docstring has no {heading}"
    for parameter in found.parameters:
        assert parameter.about, f"{name}: {parameter.name} is not described"
        assert parameter.name in doc, f"{name}: {parameter.name} is not in the docstring"
    for draw in found.draws:
        assert draw.about
        assert draw.name in doc
    assert found.family in FAMILIES
    assert found.reference
    assert found.revision >= 1
    assert found.role == ("validation" if name in ("speckle_noise", "gaussian_blur", "spatter", "saturate") else "test")


@every
def test_every_shipped_calibration_has_its_five_rows_or_it_says_that_there_are_none(name):
    if not get_corruption(name).tabled:
        assert all(name not in shipped(c).rows for c in SHIPPED)
        return
    for calibration in SHIPPED:
        rows = shipped(calibration).rows[name]
        assert sorted(rows) == [1, 2, 3, 4, 5]
        assert all(row.source for row in rows.values())


@every
@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_any_size_shape_dtype_input_untouched_and_deterministic(name, size, channels):
    image = painted(*size, channels)
    before = image.copy()
    for calibration, severity in (("imagenet", 5), ("cifar", 1)):
        out = corrupt(image, name, severity=severity, calibration=calibration)
        assert out.dtype == np.uint8
        assert out.shape == image.shape
        assert not np.shares_memory(out, image)
        np.testing.assert_array_equal(image, before)
        np.testing.assert_array_equal(out, corrupt(image, name, severity=severity, calibration=calibration))


@every
@pytest.mark.parametrize("channels", [1, 3])
def test_batch_is_one_by_one(name, channels):
    images = np.stack([painted(33, 47, channels, which) for which in range(4)])
    ids = ["a", "b", "a", "n01440764/x y"]
    for severity in (2, 5):
        together = corrupt(images, name, severity=severity, key=ids, calibration="cifar")
        for image, key, out in zip(images, ids, together, strict=True):
            np.testing.assert_array_equal(out, corrupt(image, name, severity=severity, key=key, calibration="cifar"))


@every
@pytest.mark.parametrize("channels", [1, 3])
def test_without_a_key_an_images_pixels_are_its_key(name, channels):
    """One field for every image of a loop is what users of unseeded scripts never had, and what a constant key gave them."""
    images = np.stack([painted(33, 47, channels, which) for which in range(3)])
    alone = [corrupt(image, name, severity=4, calibration="cifar") for image in images]
    for image, out, together in zip(images, alone, corrupt(images, name, severity=4, calibration="cifar"), strict=True):
        np.testing.assert_array_equal(out, together)
        np.testing.assert_array_equal(out, corrupt(image, name, severity=4, calibration="cifar", key=pixel_digest(image)))


def test_without_a_key_other_images_draw_otherwise():
    flat = [np.full((32, 48, 3), level, np.uint8) for level in (128, 129, 128)]
    first, second, again = (corrupt(image, "gaussian_noise", severity=3).astype(int) - image for image in flat)
    assert not np.array_equal(first, second)
    np.testing.assert_array_equal(first, again)
    # shape counts, as in the digest: the same bytes as another picture are another picture
    turned = corrupt(flat[0].transpose(1, 0, 2).copy(), "gaussian_noise", severity=3).astype(int) - 128
    assert not np.array_equal(first.ravel(), turned.ravel())
    grey = flat[0][:, :, 0]
    np.testing.assert_array_equal(corrupt(grey, "fog/3"), corrupt(grey[:, :, None], "fog/3")[:, :, 0])


@every
def test_strided_readonly_and_grey_views_give_the_same(name):
    image = painted(40, 36)
    want = corrupt(image, name, severity=3, calibration="cifar")
    wide = np.repeat(np.repeat(image, 2, 0), 2, 1)[::2, ::2]
    frozen = image.copy()
    frozen.setflags(write=False)
    for view in (wide, frozen, np.asfortranarray(image), image[:, ::-1][:, ::-1]):
        np.testing.assert_array_equal(want, corrupt(view, name, severity=3, calibration="cifar"))
    grey = painted(40, 36, 1)
    np.testing.assert_array_equal(
        corrupt(grey, name, severity=3, calibration="cifar")[:, :, 0],
        corrupt(grey[:, :, 0], name, severity=3, calibration="cifar"),
    )


@every
def test_key_and_seed_matter_only_where_something_is_drawn(name):
    image = painted(48, 48)
    base = corrupt(image, name, severity=3, calibration="cifar", key="a")
    others = [
        corrupt(image, name, severity=3, calibration="cifar", key="b"),
        corrupt(image, name, severity=3, calibration="cifar", key="a", seed=1),
    ]
    for other in others:
        assert np.array_equal(base, other) == get_corruption(name).deterministic


@every
def test_severity_and_its_row_given_are_one(name):
    row = calibrated(name, "tiny").row(name, 4).parameters
    image = painted(64, 50)
    np.testing.assert_array_equal(corrupt(image, name, severity=4, calibration="tiny"), corrupt(image, name, calibration="tiny", **row))


@every
def test_every_severity_and_calibration_changes_the_picture_and_differs(name):
    image = painted(64, 64)
    for calibration in SHIPPED:
        outs = [corrupt(image, name, severity=s, calibration=calibration) for s in range(1, 6)]
        for severity, out in enumerate(outs, 1):
            assert not np.array_equal(out, image), (calibration, severity)
        assert len({o.tobytes() for o in outs}) == 5, calibration


@every
def test_scale_side_is_the_table_at_its_own_size_and_grows_lengths(name):
    found = get_corruption(name)
    image = painted(64, 80)
    at_reference = corrupt(image, name, severity=3, calibration="tiny", scale="side")
    np.testing.assert_array_equal(at_reference, corrupt(image, name, severity=3, calibration="tiny"))
    doubled = painted(128, 140)
    plain = corrupt(doubled, name, severity=5, calibration="tiny")
    scaled = corrupt(doubled, name, severity=5, calibration="tiny", scale="side")
    assert np.array_equal(plain, scaled) != any(p.length for p in found.parameters)


@every
def test_coupled_severities_share_keys_and_independent_ones_do_not(name):
    table = calibrated(name, "imagenet")
    stages = [resolve_stage(name, table, severity=s) for s in (1, 5)]
    assert chain_keys(stages[:1], 0, "severity")[0] == chain_keys(stages[1:], 0, "severity")[0]
    assert chain_keys(stages[:1], 0)[0] != chain_keys(stages[1:], 0)[0]


@every
def test_an_out_of_bounds_or_unknown_parameter_is_refused(name):
    image = painted(32, 32)
    with pytest.raises(corruptset.errors.ParameterError, match="unknown parameter 'nonsense'"):
        corrupt(image, name, severity=1, nonsense=1)
    for parameter in get_corruption(name).columns:
        for bad in (float("nan"), float("inf"), "text", None, -1e9):
            with pytest.raises(corruptset.errors.ParameterError, match=parameter.name):
                corrupt(image, name, severity=1, **{parameter.name: bad})


@every
def test_a_draw_of_the_wrong_shape_is_refused(name):
    image = painted(32, 40)
    for draw in get_corruption(name).draws:
        for bad in (np.zeros((3, 5, 7, 2, 2)), "text", np.array(["x"])):
            with pytest.raises(corruptset.errors.ParameterError, match=draw.name):
                corrupt(image, name, severity=1, **{draw.name: bad})


@every
def test_it_takes_a_batch_of_none(name):
    empty = np.empty((0, 32, 32, 3), np.uint8)
    assert corrupt(empty, name, severity=1).shape == empty.shape


@every
def test_apply_is_what_corrupt_calls(name):
    images = np.stack([painted(32, 32, 3, w) for w in range(2)])
    table = calibrated(name, "cifar")
    stage = resolve_stage(name, table, severity=2)
    key = chain_keys([stage], 7)[0]
    out = apply_stage(check_images(images), stage, key, sample_keys(["x", "y"]), side=table.side)
    np.testing.assert_array_equal(out, corrupt(images, name, severity=2, calibration="cifar", seed=7, key=["x", "y"]))


def test_chains_equal_corrupting_the_corrupted():
    """The second stage of a chain has a key of its own, so only a deterministic second stage can be compared directly."""
    image = painted(48, 40)
    first = corruptset.corrupt(image, "gaussian_noise", severity=3, calibration="cifar")
    np.testing.assert_array_equal(
        corruptset.corrupt(image, "gaussian_noise-3+contrast-2", calibration="cifar"),
        corruptset.corrupt(first, "contrast", severity=2, calibration="cifar"),
    )
    same_twice = corruptset.corrupt(image, "gaussian_noise-3+gaussian_noise-3", calibration="cifar")
    once_more = corruptset.corrupt(first, "gaussian_noise", severity=3, calibration="cifar")
    assert not np.array_equal(same_twice, once_more), "both stages drew the same noise"
    np.testing.assert_array_equal(corruptset.corrupt(image, "clean"), image)
    forms = [
        "fog-3+gaussian_noise-5",
        ["fog-3", "gaussian_noise-5"],
        [("fog", 3), ("gaussian_noise", 5)],
        [{"corruption": "fog", "severity": 3}, {"corruption": "gaussian_noise", "severity": 5}],
        ["fog-3", {"corruption": "gaussian_noise", "parameters": {"sigma": 0.1}}],
    ]
    outs = [corruptset.corrupt(image, form, calibration="cifar") for form in forms]
    for out in outs[1:]:
        np.testing.assert_array_equal(outs[0], out)


@pytest.mark.parametrize(
    ("image", "name", "options", "says"),
    [
        (np.zeros((32, 32, 3), np.uint8), "gausian_noise", {"severity": 1}, "Did you mean 'gaussian_noise'"),
        (np.zeros((32, 32, 3), np.uint8), "fog", {"severity": 0}, "severity is 0; expected a whole number from 1 to 5"),
        (np.zeros((32, 32, 3), np.uint8), "fog", {"severity": 6}, "severity is 6"),
        (np.zeros((32, 32, 3), np.uint8), "fog", {"severity": 2.0}, "severity is 2.0"),
        (np.zeros((32, 32, 3), np.uint8), "fog", {"severity": True}, "severity is True"),
        (np.zeros((32, 32, 3), np.uint8), "fog", {}, "needs a severity"),
        (np.zeros((32, 32, 3), np.uint8), "salt_pepper", {}, "no published severities and needs its parameters: density is missing"),
        (np.zeros((32, 32, 3), np.uint8), "salt_pepper", {"severity": 3}, "no published severities; give its parameters instead: density"),
        (np.zeros((32, 32, 3), np.uint8), "salt_pepper/3", {}, "no published severities; give its parameters instead: density"),
        (np.zeros((32, 32, 3), np.uint8), "fog", {"level": 3}, "has no levels"),
        (np.zeros((32, 32, 3), np.uint8), "fog/3", {"severity": 3}, "can be given only with the name of one corruption"),
        (np.zeros((32, 32, 3), np.uint8), "fog-9", {}, "severity is 9"),
        (np.zeros((32, 32, 3), np.uint8), "fog-3+nothing-2", {}, "nothing"),
        (np.zeros((32, 32, 3), np.uint8), "fog", {"severity": 1, "seed": -1}, "seed is -1"),
        (np.zeros((32, 32, 3), np.uint8), "fog", {"severity": 1, "seed": 2**53}, "seed is 9007199254740992"),
        (np.zeros((32, 32, 3), np.uint8), "fog", {"severity": 1, "key": ["a", "b"]}, "2 keys for 1 image"),
        (np.zeros((32, 32, 3), np.uint8), "fog", {"severity": 1, "key": 5}, "key is 5; expected a string"),
        (np.zeros((32, 32, 3), np.uint8), "fog", {"severity": 1, "scale": "both"}, "scale is 'both'"),
        (np.zeros((32, 32, 3), np.uint8), "fog", {"severity": 1, "coupling": "none"}, "coupling is 'none'"),
        (np.zeros((32, 32, 3), np.uint8), "fog", {"severity": 1, "calibration": "imagnet"}, "Did you mean 'imagenet'"),
        (np.zeros((32, 32, 3), np.float32), "fog", {"severity": 1}, "float32; expected a numpy array of uint8"),
        (np.zeros((32, 32, 4), np.uint8), "fog", {"severity": 1}, r"shape \(32, 32, 4\); expected"),
        (np.zeros((7, 32), np.uint8), "fog", {"severity": 1}, "7x32"),
        (np.ma.masked_less(np.zeros((32, 32, 3), np.uint8), 9), "fog", {"severity": 1}, r"masked array.*image\.filled"),
        (np.zeros((32,), np.uint8), "fog", {"severity": 1}, "shape"),
        (np.zeros((7, 32, 3), np.uint8), "fog", {"severity": 1}, "at least 8x8"),
        ([[1, 2], [3, 4]], "fog", {"severity": 1}, "list; expected a numpy array"),
    ],
)
def test_mistakes_are_explained(image, name, options, says):
    with pytest.raises(corruptset.errors.CorruptsetError, match=says):
        corruptset.corrupt(image, name, **options)
