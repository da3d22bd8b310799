"""Test that all mistakes in a recipe file are reported together, each with its location."""

from __future__ import annotations

import pytest
from custom_recipes import recipe_errors

import corruptset
from corruptset.errors import CorruptsetError, suggest


def test_all_errors_are_reported_together():
    lines = recipe_errors(
        """
name = "My Set"
version = 1
calibratoin = "imagenet"
calibration = "imagenet"
scale = "sides"
[preprocessing]
kind = "resize-crop"
resize = 256.5
interpolation = "cubic"
[encoding]
format = "jpg"
[[sets]]
corruptions = ["gausian_noise", "fog"]
severities = [-1, 6, 2.125]
[[sets]]
chain = [{corruption = "gaussian_noise", severty = 1}, 3]
[[sets]]
chain = [{corruption = "gaussian_noise", parameters = {sigma = 0.1}}]
[[sets]]
chain = ["fog-3"]
clean = true
[[sets]]
chain = ["fog-9", {corruption = "gaussian_noise", parameters = {sigma = -1.0}}]
id = "x"
"""
    )
    expected = [
        "name: String should match pattern '^[a-z0-9][a-z0-9._-]*$' (given: 'My Set')",
        "version: Input should be a valid string (given: 1)",
        "calibratoin: Extra inputs are not permitted (given: 'imagenet')",
        "scale: Input should be 'none' or 'side' (given: 'sides')",
        "resize: Input should be a valid integer",
        "crop: Field required",
        "interpolation: Input should be 'nearest'",
        "encoding: Input tag 'jpg' found using 'format' does not match any of the expected tags: 'jpeg', 'png'",
        "[[sets]] 1, corruptions, item 1: there is no corruption 'gausian_noise'. Did you mean 'gaussian_noise'?",
        "[[sets]] 1, severities, item 1: is -1; expected a severity from 1 to 5",
        "[[sets]] 1, severities, item 2: is 6; expected a severity from 1 to 5",
        "[[sets]] 1, severities, item 3: is 2.125; expected a severity from 1 to 5",
        "severty: Extra inputs are not permitted",
        "[[sets]] 2, chain, item 2",
        "[[sets]] 3: a stage with given parameters has no id",
        "[[sets]] 4: has chain and clean; expected exactly one of",
        "[[sets]] 5: fog: severity is 9; expected a number from 0 to 5",
        "[[sets]] 5: gaussian_noise: parameter 'sigma' is -1.0; expected",
    ]
    for part in expected:
        assert sum(part in line for line in lines) == 1, (part, lines)
    assert len(lines) == len(expected)


NUL = "a\0b"


@pytest.mark.parametrize(
    ("function", "arguments", "options"),
    [
        (corruptset.build, ["imagenet-c", "sample", NUL], {"sets": ["contrast/1"]}),
        (corruptset.build, [NUL, "sample", "out"], {}),
        (corruptset.build, ["imagenet-c", f"folder:{NUL}", "out"], {}),
        (corruptset.plan, ["imagenet-c"], {"ids": NUL}),
        (corruptset.plan, ["imagenet-c", "folder:."], {"labels": NUL}),
        (corruptset.plan, ["pgd-5"], {"surrogate": NUL}),
        (corruptset.open, [NUL], {}),
        (lambda path: corruptset.verify(path).raise_for_problems(), [NUL], {}),
        (corruptset.unpack, [[NUL], "out"], {}),
        (corruptset.rebuild, [NUL, "sample", "out"], {}),
        (corruptset.compare, [[NUL], "out"], {}),
    ],
)
def test_nul_character_in_path_is_error(tmp_path, monkeypatch, function, arguments, options):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(CorruptsetError):
        function(*arguments, **options)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("options", "known", "message"),
    [
        ("Gaussian Noise", "gaussian_blur gaussian_noise", " Did you mean 'gaussian_noise'?"),
        ("imagenet", "tiny-imagenet-c imagenet-c", " Did you mean 'imagenet-c'? Also near: 'tiny-imagenet-c'."),
        ("imagenet_c", "imagenet-c-all imagenet-c", " Did you mean 'imagenet-c'?"),
        ("noise", "fog speckle_noise shot_noise", " Did you mean 'shot_noise'? Also near: 'speckle_noise'."),
        ("blur", "a_blur bb_blur c5_x_blur ddd6_x_blur", " Did you mean 'a_blur'? Also near: 'bb_blur', 'c5_x_blur'."),
        ("fogg", "fog frost", " Did you mean 'fog'?"),
        ("", "fog", ""),
    ],
)
def test_at_most_three_similar_names_are_suggested(options, known, message):
    assert suggest(options, known.split()) == message
