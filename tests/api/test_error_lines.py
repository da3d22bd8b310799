"""Mistakes in a recipe's file: all at once, each with its place."""

from __future__ import annotations

from own_recipes import mistakes


def test_every_mistake_at_once():
    lines = mistakes(
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
severities = [0, 6, 2.0]
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
        "name is 'My Set'; expected text that matches",
        "version is 1; expected text in quotes",
        "calibratoin: there is no such key. Did you mean 'calibration'?",
        "scale is 'sides'; expected one of 'none' or 'side'",
        "preprocessing, resize is 256.5; expected a whole number",
        "preprocessing, crop is missing",
        "preprocessing, interpolation is 'cubic'; expected one of 'nearest'",
        "encoding, format is 'jpg'; expected one of 'jpeg', 'png'",
        "[[sets]] 1, corruptions, item 1: there is no corruption 'gausian_noise'. Did you mean 'gaussian_noise'?",
        "[[sets]] 1, severities, item 1 is 0; expected a number from 1",
        "[[sets]] 1, severities, item 2 is 6; expected a number up to 5",
        "[[sets]] 1, severities, item 3 is 2.0; expected a whole number",
        "[[sets]] 2, chain, item 1, severty: there is no such key. Did you mean 'severity'?",
        "[[sets]] 2, chain, item 2 is 3; expected a table",
        "[[sets]] 3: a stage with given parameters has no id of its own",
        "[[sets]] 4: has chain and clean; expected exactly one of",
        "[[sets]] 5: fog: severity is 9; expected a whole number from 1 to 5",
        "[[sets]] 5: gaussian_noise: parameter 'sigma' is -1.0; expected",
    ]
    for part in expected:
        assert sum(part in line for line in lines) == 1, (part, lines)
    assert len(lines) == len(expected)
