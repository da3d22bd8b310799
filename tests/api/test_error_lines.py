"""Mistakes in a recipe's file: all at once, each with its place."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
from own_recipes import mistakes

from corruptset.error_lines import PATTERNS
from corruptset.errors import suggest
from corruptset.manifests.records.models import SampleRecord
from corruptset.manifests.records.parsing import record_or_mistakes

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("api", "pages", "corruptions", "manifests", "generate", "scores", "cli")


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
        "name is 'My Set'; expected a name such as my-recipe: lower-case letters, digits, . _ and -, beginning with",
        "version is 1; expected text in quotes",
        "calibratoin: there is no such key. Did you mean 'calibration'?",
        "scale is 'sides'; expected one of 'none' or 'side'",
        "preprocessing, resize is 256.5; expected a whole number",
        "preprocessing, crop is missing",
        "preprocessing, interpolation is 'cubic'; expected one of 'nearest'",
        "encoding, format is 'jpg'; expected one of 'jpeg', 'png'",
        "[[sets]] 1, corruptions, item 1: there is no corruption 'gausian_noise'. Did you mean 'gaussian_noise'?",
        "[[sets]] 1, severities, item 1: is -1; expected a severity from 1 to 5",
        "[[sets]] 1, severities, item 2: is 6; expected a severity from 1 to 5",
        "[[sets]] 1, severities, item 3: is 2.125; expected a severity from 1 to 5",
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


def test_every_pattern_of_the_package_has_words_for_people():
    """The words must hold for the pattern: what they name as an example fits it."""
    used = set()
    for path in (path for room in (*ROOMS, "plugins") for path in (ROOT / room).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.keyword) and node.arg == "pattern" and isinstance(node.value, ast.Constant):
                used.add(node.value.value)
    assert used == set(PATTERNS)
    for pattern, words in PATTERNS.items():
        if example := re.search(r"such as ([^:\s]+(:\d\d:\d\dZ)?)", words):
            assert re.match(pattern, example[1]), words


def test_a_record_says_in_words_what_a_text_should_be():
    record, lines = record_or_mistakes(
        SampleRecord, b'{"id": "a", "label": 0, "sha256": "md5:1", "width": 1, "height": 1, "pixels": "x"}'
    )
    assert record is None
    assert "sha256: expected sha256: and 64 digits 0-9, a-f (given: 'md5:1')" in lines
    assert not any("pattern" in line or "^" in line for line in lines)


@pytest.mark.parametrize(
    ("given", "known", "said"),
    [
        ("gaussian-noise", ["gaussian_noise", "gaussian_blur"], " Did you mean 'gaussian_noise'?"),
        ("Gaussian Noise", ["gaussian_blur", "gaussian_noise"], " Did you mean 'gaussian_noise'?"),
        ("imagenet", ["tiny-imagenet-c", "imagenet-c"], " Did you mean 'imagenet-c'? Also near: 'tiny-imagenet-c'."),
        ("noise", ["fog", "speckle_noise", "shot_noise"], " Did you mean 'shot_noise'? Also near: 'speckle_noise'."),
        (
            "blur",
            ["a_blur", "bb_blur", "ccc_blur", "dddd_blur"],
            " Did you mean 'a_blur'? Also near: 'bb_blur', 'ccc_blur'.",
        ),
        ("fogg", ["fog", "frost"], " Did you mean 'fog'?"),
        ("zzz", ["fog"], ""),
        ("", ["fog"], ""),
    ],
)
def test_at_most_three_near_names_are_suggested(given, known, said):
    assert suggest(given, known) == said
