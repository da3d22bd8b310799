"""Test the function `corrupt`: keys, chains, severities, the cache of arguments, and error messages."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import corruptset
from corruptset.corruptions import call
from corruptset.corruptions.calibrations import get_calibration, shipped
from corruptset.corruptions.stages import parse_chain, set_id
from corruptset.errors import CorruptsetError, ParameterError
from example_images import synthetic_image

IMAGE = synthetic_image(48, 40)
TABLE = get_calibration("imagenet")


def test_different_images_get_different_draws_without_key():
    flat = [np.full((32, 48, 3), level, np.uint8) for level in (128, 129, 128)]
    first, second, repeated = (
        corruptset.corrupt(image, "gaussian_noise", severity=3).astype(int) - image for image in flat
    )
    assert not np.array_equal(first, second)
    np.testing.assert_array_equal(first, repeated)
    # The key also depends on the shape, so the same bytes with another shape are another image.
    turned = corruptset.corrupt(flat[0].transpose(1, 0, 2).copy(), "gaussian_noise", severity=3).astype(int) - 128
    assert not np.array_equal(first.ravel(), turned.ravel())


def test_chains_equal_repeated_corruption_in_every_form():
    """Compare a chain with two calls. The second stage has its own key, so it must be deterministic."""
    options = {"calibration": "cifar"}
    first = corruptset.corrupt(IMAGE, "gaussian_noise", severity=3, **options)
    np.testing.assert_array_equal(
        corruptset.corrupt(IMAGE, "gaussian_noise-3+contrast-2", **options),
        corruptset.corrupt(first, "contrast", severity=2, **options),
    )
    twice = corruptset.corrupt(IMAGE, "gaussian_noise-3+gaussian_noise-3", **options)
    assert not np.array_equal(twice, corruptset.corrupt(first, "gaussian_noise", severity=3, **options)), (
        "the same noise twice"
    )
    forms = [
        "fog-3+gaussian_noise-5",
        ["fog-3", "gaussian_noise-5"],
        [("fog", 3), ("gaussian_noise", 5)],
        [{"corruption": "fog", "severity": 3}, {"corruption": "gaussian_noise", "severity": 5}],
        ["fog-3", {"corruption": "gaussian_noise", "parameters": {"sigma": 0.1}}],
        [*parse_chain("fog-3+gaussian_noise-5", get_calibration("cifar"))],
    ]
    assert len({corruptset.corrupt(IMAGE, form, **options).tobytes() for form in forms}) == 1
    np.testing.assert_array_equal(corruptset.corrupt(IMAGE, "clean"), IMAGE)


def test_fractional_severities_are_same_stage_in_all_spellings_and_0_is_skipped():
    for written, stored in (
        *((f"fog{mark}", "fog/2p25") for mark in ("/2.25", "/2p25", "-2.25", "-2p25")),
        ("fog-2.50+gaussian_noise-5", "fog-2p5+gaussian_noise-5"),
        ("fog-2.0", "fog/2"),
        ("fog-0+snow-2", "snow/2"),
        ("snow-2+fog-0.00", "snow/2"),
    ):
        assert set_id(parse_chain(written, TABLE)) == stored
    assert repr(parse_chain("fog/2.0", TABLE)[0].severity) == "2"
    options = {"calibration": "imagenet", "key": "a"}
    expected = corruptset.corrupt(IMAGE, "fog", weight=2.125, wibble_decay=1.925, **options)
    for image, arguments in (
        (expected, ({"name": "fog", "severity": np.float32(2.25)}, {"name": "fog-2p25"}, {"name": [("fog", 2.25)]})),
        (IMAGE, ({"name": "fog-0"}, {"name": "fog", "severity": 0}, {"name": [("fog", 0)]}, {"name": "fade_black/00"})),
        (IMAGE, ({"name": [{"corruption": "fog", "severity": 0.0}]}, {"name": "fade_black", "level": 0})),
    ):
        for form in arguments:
            np.testing.assert_array_equal(corruptset.corrupt(IMAGE, **form, **options), image)
    for text in ("fog-2.125", "fog-.5", "fog-2.", "fog-2pp5", "fog-2,5", "black_lines-2.5", "fogg-0"):
        with pytest.raises(CorruptsetError):
            parse_chain(text, TABLE)


def test_stage_of_other_revision_is_rejected_in_every_form():
    (now,) = parse_chain("frost/2", get_calibration("cifar"))
    options = {"calibration": "cifar", "key": "a"}
    expected = corruptset.corrupt(IMAGE, "frost", severity=2, **options)
    for stage in (now, now.as_json(), {"corruption": "frost", "revision": None, "severity": 2}):
        np.testing.assert_array_equal(corruptset.corrupt(IMAGE, [stage], **options), expected)
    for other in (1, 3):
        stage = replace(now, revision=other)
        written = {"corruption": "frost", "revision": other, "severity": 2}
        for stage_argument in (stage, stage.as_json(), written, written | {"severity": 0}):
            for make in (lambda s: corruptset.corrupt(IMAGE, [s], **options), lambda s: corruptset.Corrupt([s])):
                with pytest.raises(ParameterError, match=f"frost has revision 2 .* requires revision {other},"):
                    make(stage_argument)


# --- what is remembered ---------------------------------------------------------------------------------------------


@pytest.fixture
def cache_info():
    call._resolve_cached.cache_clear()
    return call._resolve_cached.cache_info


def test_combination_is_resolved_once_and_arguments_are_distinguished(cache_info):
    usual = {"severity": 3, "key": "a"}
    outs = [
        corruptset.corrupt(image, "gaussian_noise", **usual) for image in (IMAGE[::-1], synthetic_image(48, 33), IMAGE)
    ]
    assert (cache_info().hits, cache_info().misses, cache_info().maxsize) == (2, 1, 1024)
    for other in (
        {"severity": 4},
        {"seed": 1},
        {"calibration": "tiny"},
        {"coupling": "severity"},
        {"sigma": 0.2},
        {"mean": 0.1},
        {"rounding": "round"},
    ):
        out = corruptset.corrupt(IMAGE, "gaussian_noise", **usual | other)
        call._resolve_cached.cache_clear()
        np.testing.assert_array_equal(corruptset.corrupt(IMAGE, "gaussian_noise", **usual | other), out)
        assert not np.array_equal(out, outs[-1])
    for name, valid, invalid in (
        ("fog", {}, {"severity": True}),
        ("fog", {}, {"seed": False}),
        ("glass_blur", {"iterations": 1}, {"iterations": True}),
    ):
        corruptset.corrupt(IMAGE, name, **{"severity": 1} | valid)
        with pytest.raises(ParameterError):  # These are equal to a number, but not numbers.
            corruptset.corrupt(IMAGE, name, **{"severity": 1} | invalid)


def test_files_and_fixed_draws_are_not_cached(tmp_path, cache_info):
    table, rows = tmp_path / "mine.toml", (Path(call.__file__).parent / "tables/cifar.toml").read_text("utf-8")
    table.write_text(rows)
    first = corruptset.corrupt(IMAGE, "contrast", severity=1, calibration=str(table))
    factor = shipped("cifar").row("contrast", 1).parameters["factor"]
    head = "[[contrast]]\nseverity = 1\nfactor = "
    table.write_text(rows.replace(f"{head}{factor}", f"{head}{factor / 2}"))
    for calibration in (table, str(table)):
        assert not np.array_equal(corruptset.corrupt(IMAGE, "contrast", severity=1, calibration=calibration), first)
    normals = np.zeros((48, 40))
    first = corruptset.corrupt(IMAGE, "spatter", severity=4, normals=normals)
    normals[::2] = 3.0
    assert not np.array_equal(corruptset.corrupt(IMAGE, "spatter", severity=4, normals=normals), first)


def test_pixels_are_hashed_only_for_random_corruptions(monkeypatch):
    """Test the cache. test_properties checks that deterministic corruptions do not depend on the key."""
    hashed, original = [], call.pixel_keys
    monkeypatch.setattr(call, "pixel_keys", lambda images: hashed.append(images) or original(images))
    for chain, drawn in (("contrast/3", 0), ("clean", 0), ("fog/3", 1), ("contrast-3+fog-3", 2)):
        corruptset.corrupt(IMAGE, chain)
        assert len(hashed) == drawn, chain


# --- mistakes -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("gausian_noise", {"severity": 1}, "Did you mean 'gaussian_noise'"),
        ("fog", {"severity": -1}, "severity is -1; expected a number from 0 to 5 with at most two decimals"),
        *(("fog", {"severity": value}, f"severity is {value!r}") for value in (2.125, float("nan"), "2.25")),
        ("fog", {}, "needs a severity"),
        ("salt_pepper", {}, "no published severities and needs its parameters: density is missing"),
        ("salt_pepper/3", {}, "no published severities. Pass its parameters instead: density"),
        ("fog", {"level": 0}, "has no levels"),
        ("fog", {"severity": 0, "level": 1}, "severity is 0"),
        ("fog/3", {"severity": 3}, "'fog/3' already includes its severities. Leave severity=3 out"),
        ("fog-9", {}, "severity is 9"),
        ("fog-3+nothing-2", {}, "nothing"),
        (
            ("fog", 3),
            {},
            r"'fog' has no severity\. Write 'fog-3', or \('fog', 3\) in a list of stages",
        ),
        ("fog-3+fade_black", {}, "'fade_black' in 'fog-3.*' has no level"),
        ("fog-3+clean", {}, "'clean' in .* Leave it out"),
        ([{"corruption": 3}], {}, "is not a stage; expected"),
        ([{"corruption": "fog", "severity": 3, "parameters": 3}], {}, "is not a stage; expected"),
        ("frost", {"severity": 1, "textures": IMAGE}, "textures is of type ndarray; expected a folder"),
        ("frost", {"severity": 1, "textures": "/nowhere"}, "directory of frost textures '/nowhere' does not exist"),
        ("+".join(["fog-1"] * 17), {}, "The chain has 17 stages; expected at most 16"),
        (["fog-1"] * 17, {}, "The chain has 17 stages; expected at most 16"),
        ("fog", {"severity": 1, "seed": -1}, "seed is -1"),
        ("fog", {"severity": 1, "key": ["a", "b"]}, "Got 2 keys for 1 image"),
        ("fog", {"severity": 1, "key": 5}, "key is 5; expected a string"),
        ("fog", {"severity": 1, "scale": "both"}, "scale is 'both'"),
        ("fog", {"severity": 1, "coupling": "none"}, "coupling is 'none'"),
        ("fog", {"severity": 1, "calibration": "imagnet"}, "Did you mean 'imagenet'"),
    ],
)
def test_errors_are_explained(name, options, message):
    with pytest.raises(CorruptsetError, match=message):
        corruptset.corrupt(IMAGE, name, **options)
