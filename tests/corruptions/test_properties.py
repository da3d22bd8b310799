"""Properties that hold for every registered corruption with severities; those of gradual degradations are in
test_gradual.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from surrogates import needed, needed_resources

import corruptset
from corruptset.corruptions.calibrations import Calibration, calibrations_of, shipped
from corruptset.corruptions.keys import sample_keys
from corruptset.corruptions.registry import corruption_names, get_corruption
from corruptset.corruptions.rows import Row
from corruptset.corruptions.stages import apply_stage, chain_keys, check_images, resolve_stage
from corruptset.pixels import pixel_digest
from pictures import painted

sys.path.insert(0, str(Path(__file__).parents[1] / "golden"))
from digests import NAMED

SIZES = [(8, 8), (9, 31), (31, 9), (40, 24)]
every = pytest.mark.parametrize("name", [name for name in corruption_names() if get_corruption(name).gradual is None])


def calibrated(name: str, calibration: str) -> Calibration:
    """Return a shipped calibration, or the one that has rows of a corruption, or rows of the parameters in its golden
    digests.
    """
    known = calibrations_of(name)
    if known:
        return shipped(calibration if calibration in known else known[0])
    rows = {severity: Row(parameters, "this test") for severity, parameters in enumerate(NAMED[name].values(), 1)}
    return Calibration(calibration, shipped(calibration).side, {name: rows})


def nearest(name: str, table: Calibration, severity: int) -> int:
    """Return the severity that a table has rows of, where that of a test is none: some corruptions were published at
    one only.
    """
    return min(table.rows[name], key=lambda known: abs(known - severity))


def corrupt(image, name, *, severity=None, calibration="cifar", **options):
    table = calibrated(name, calibration)
    options = needed(name, image) | options
    return corruptset.corrupt(
        image, name, severity=severity and nearest(name, table, severity), calibration=table, **options
    )


@pytest.mark.parametrize("name", corruption_names())
def test_it_is_described(name):
    declared = get_corruption(name)
    summary = (declared.function.__doc__ or "").partition("\n")[0]
    assert summary.endswith((".", ":", ",")) or len(summary) > 20, f"{name}: the docstring has no summary"
    for named in (*declared.parameters, *declared.draws):
        assert named.about, f"{name}: {named.name} is not described"
    assert declared.reference
    assert declared.revision >= 1


@every
@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_any_size_shape_dtype_input_untouched_and_deterministic(name, size, channels):
    image = painted(*size, channels)
    before = image.copy()
    for calibration, severity in (("imagenet", 5), ("cifar", 1)):
        out = corrupt(image, name, severity=severity, calibration=calibration)
        assert out.dtype == np.uint8
        assert out.shape == image.shape, f"{name} must keep the shape"
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
    """One field for every image of a loop is what users of unseeded scripts never had, and what a constant key gave
    them.
    """
    images = np.stack([painted(33, 47, channels, which) for which in range(3)])
    alone = [corrupt(image, name, severity=4, calibration="cifar") for image in images]
    for image, out, together in zip(images, alone, corrupt(images, name, severity=4, calibration="cifar"), strict=True):
        np.testing.assert_array_equal(out, together)
        np.testing.assert_array_equal(
            out, corrupt(image, name, severity=4, calibration="cifar", key=pixel_digest(image))
        )


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
    images = np.stack([painted(48, 48)] * 16)  # so many, because a draw may be one of two signs
    ids = [str(number) for number in range(16)]
    drawn = not get_corruption(name).deterministic
    outs = corrupt(images, name, severity=3, key=ids)
    assert (len({out.tobytes() for out in outs}) > 1) == drawn
    assert np.array_equal(outs, corrupt(images, name, severity=3, key=ids, seed=1)) != drawn


@every
def test_severity_and_its_row_given_are_one(name):
    table = calibrated(name, "tiny")
    severity = nearest(name, table, 4)
    row = table.row(name, severity).parameters
    image = painted(64, 50)
    options = {"calibration": table} | needed(name, image)
    np.testing.assert_array_equal(
        corruptset.corrupt(image, name, severity=severity, **options), corruptset.corrupt(image, name, **options, **row)
    )


@every
def test_every_severity_and_calibration_changes_the_picture_and_differs(name):
    image = painted(64, 64)
    for calibration in calibrations_of(name) or ["imagenet"]:
        table = calibrated(name, calibration)
        outs = [
            corruptset.corrupt(image, name, severity=s, calibration=table, **needed(name, image))
            for s in table.rows[name]
        ]
        for severity, out in zip(table.rows[name], outs, strict=True):
            assert not np.array_equal(out, image), (calibration, severity)
        assert len({out.tobytes() for out in outs}) == len(outs), calibration


@every
def test_scale_side_is_the_table_at_its_own_size_and_grows_lengths(name):
    declared, table = get_corruption(name), calibrated(name, "tiny")
    image = painted(table.side, table.side + 16)
    at_reference = corrupt(image, name, severity=3, calibration="tiny", scale="side")
    np.testing.assert_array_equal(at_reference, corrupt(image, name, severity=3, calibration="tiny"))
    doubled = painted(2 * table.side, 2 * table.side + 12)
    plain = corrupt(doubled, name, severity=5, calibration="tiny")
    scaled = corrupt(doubled, name, severity=5, calibration="tiny", scale="side")
    assert np.array_equal(plain, scaled) != any(p.length for p in declared.parameters)


@every
def test_coupled_severities_share_keys_and_independent_ones_do_not(name):
    table = calibrated(name, "imagenet")
    first, last = (resolve_stage(name, table, severity=s) for s in (min(table.rows[name]), max(table.rows[name])))
    assert chain_keys([first], 0, "severity") == chain_keys([last], 0, "severity")
    assert (chain_keys([first], 0) == chain_keys([last], 0)) == (first == last)


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
    stage = resolve_stage(name, table, severity=nearest(name, table, 2))
    key = chain_keys([stage], 7)[0]
    resources = needed_resources(name, images)
    out = apply_stage(check_images(images), stage, key, sample_keys(["x", "y"]), side=table.side, resources=resources)
    np.testing.assert_array_equal(out, corrupt(images, name, severity=2, calibration="cifar", seed=7, key=["x", "y"]))
