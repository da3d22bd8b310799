"""Test that public functions accept NumPy numbers and any path class, and that wrong types give a clear message."""

from __future__ import annotations

import os
from fractions import Fraction

import numpy as np
import pytest

import corruptset
from corruptset.errors import CorruptsetError, ImageError, ParameterError
from example_images import synthetic_image


class Folder:
    """A path class that is not from pathlib."""

    def __init__(self, path):
        self._path = os.fspath(path)

    def __fspath__(self):
        return self._path


def test_build_accepts_numpy_numbers_and_path_classes(shared_data, tmp_path):
    recipe, source = tmp_path / "r.toml", f"folder:{shared_data.crops(classes=2)}"
    recipe.write_text(
        """name = "mine"
version = "1.0.0"
calibration = "cifar"
preprocessing = {kind = "none"}
encoding = {format = "png"}
storage = {container = "folder"}
[[sets]]
corruptions = ["gaussian_noise"]
severities = [1, 2]
"""
    )
    plain_options = {"seed": 3, "samples": 2, "jobs": 1, "sets": ["gaussian_noise/1"], "page": False}
    numpy = {"seed": np.int64(3), "samples": np.int32(2), "jobs": np.uint8(1), "sets": np.array(["gaussian_noise/1"])}
    one = corruptset.build(recipe, source, tmp_path / "a", any_shape=True, **plain_options)
    two = corruptset.build(Folder(recipe), np.str_(source), Folder(tmp_path / "b"), any_shape=True, page=False, **numpy)
    assert one.digest == two.digest
    data = corruptset.open(Folder(two.directory))
    assert corruptset.verify(Folder(two.directory), jobs=np.int32(1), level=np.str_("pixels")).ok
    assert [len(group) for group in (data.select(severity=np.int64(1)), data.select(severity=np.float32(1)))] == [1, 1]
    bag = corruptset.pack(Folder(two.directory), Folder(tmp_path / "packed"), max_bytes=np.float64(1e9))
    assert corruptset.unpack([Folder(bag.path)], Folder(tmp_path / "out")).digest == one.digest


def test_corrupt_accepts_numpy_numbers():
    image = synthetic_image(64, 64)
    expected = corruptset.corrupt(image, "gaussian_noise", severity=3, seed=5)
    for severity in (np.int64(3), np.float32(3), Fraction(3)):
        options = {"severity": severity, "seed": np.uint16(5), "calibration": np.str_("tiny"), "key": None}
        np.testing.assert_array_equal(corruptset.corrupt(image, np.str_("gaussian_noise"), **options), expected)
    key = corruptset.corrupt(image, "gaussian_noise", severity=3, key=np.array(["a"]))
    np.testing.assert_array_equal(key, corruptset.corrupt(image, "gaussian_noise", severity=3, key="a"))
    for value in ("3", [3], {"a": 1}, 1j, b"3", True, object(), np.array([1, 2])):
        with pytest.raises(ParameterError, match=r"severity is .*; expected "):
            corruptset.corrupt(image, "fog", severity=value)
    for value in (1.5, "3", [3], np.nan, np.inf, None, -1, 2**53, True):
        with pytest.raises(ParameterError, match=r"seed is .*; expected "):
            corruptset.corrupt(image, "fog", severity=3, seed=value)
    for value in (image.astype(np.float16), image.astype(np.float16) / 255, image > 9):
        with pytest.raises(ImageError):
            corruptset.corrupt(value, "fog", severity=3)


@pytest.mark.parametrize(
    ("call", "arguments", "message"),
    [
        ("plan", {"seed": "a"}, "seed is 'a'; expected a whole number"),
        ("plan", {"seed": 1.5}, "seed is 1.5; expected a whole number"),
        ("plan", {"samples": "3"}, "samples is '3'; expected a whole number"),
        ("plan", {"jobs": True}, "jobs is True; expected a whole number"),
        ("plan", {"sets": 3}, "sets is 3; name some sets"),
        ("plan", {"recipe": 3}, "recipe is 3; expected the name of a recipe"),
        ("plan", {"source": 3}, "source is of type int; expected"),
        ("plan", {"coupling": ["a"]}, r"coupling is \['a'\]; expected one of"),
        ("build", {"out": 3}, "The path is 3, but"),
        ("preview", {"seed": "a"}, "seed is 'a'; expected"),
        ("open", {"directory": 3}, "The path is 3, but"),
        ("verify", {"directory": 3}, "The path is 3, but"),
        ("verify", {"directory": ".", "rederive": "x"}, "rederive is 'x'; expected a whole number"),
        ("fetch", {"address": "http://localhost:1/", "out": "o", "connections": 1.5}, "connections is 1.5; expected a"),
        ("unpack", {"archives": [], "out": "o"}, "No archives were given"),
        ("show", {"name": "nothing"}, "is not a corruption"),
    ],
)
def test_message_names_argument_and_expected_value(tmp_path, monkeypatch, call, arguments, message):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(CorruptsetError, match=message):
        getattr(corruptset, call)(**arguments)


def test_report_rejects_invalid_predictions(shared_data, tmp_path):
    directory = shared_data.build(crops={"classes": 2}, sets=["contrast/*"], storage="folder")
    with pytest.raises(CorruptsetError, match="predictions is 3; expected"):
        corruptset.report(directory, [], tmp_path / "o.html", predictions=3)
