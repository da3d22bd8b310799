"""NumPy's values and paths of any class where Python's are taken; other types are refused in a sentence."""

from __future__ import annotations

import os
from fractions import Fraction

import numpy as np
import pytest

import corruptset
from corruptset.errors import CorruptsetError, ImageError, ParameterError
from pictures import painted

MATRIX = np.ones((1, 2)).view(np.matrix)


class Folder:
    """A path of a class of somebody's own."""

    def __init__(self, path):
        self._path = os.fspath(path)

    def __fspath__(self):
        return self._path


@pytest.fixture(scope="module")
def built(shared):
    """A small data set of image files."""
    return shared.build(crops={"classes": 2}, sets=["contrast/*"], storage="folder")


def test_a_build_takes_numpy_s_numbers_and_texts_and_paths_of_any_class(shared, tmp_path):
    recipe, source = tmp_path / "r.toml", f"folder:{shared.crops(classes=2)}"
    recipe.write_text(
        """name = "mine"
version = "1.0.0"
calibration = "cifar"
preprocessing = {kind = "none"}
encoding = {format = "png"}
[[sets]]
corruptions = ["gaussian_noise"]
severities = [1, 2]
"""
    )
    plain = {"seed": 3, "samples": 2, "jobs": 1, "sets": ["gaussian_noise/1"], "page": False}
    numpy = {
        "seed": np.int64(3),
        "samples": np.array([2]),
        "jobs": np.uint8(1),
        "sets": np.array(["gaussian_noise/1"]),
        "page": np.bool_(False),
    }
    one = corruptset.build(recipe, source, tmp_path / "a", any_shape=True, **plain)
    two = corruptset.build(Folder(recipe), np.str_(source), Folder(tmp_path / "b"), any_shape=np.True_, **numpy)
    assert one.digest == two.digest
    data = corruptset.open(Folder(two.directory))
    assert corruptset.verify(Folder(two.directory), jobs=np.int32(1), level=np.str_("pixels")).ok
    assert [len(group) for group in (data.select(severity=np.int64(1)), data.select(severity=np.float32(1)))] == [1, 1]
    bag = corruptset.pack(Folder(two.directory), Folder(tmp_path / "packed"), max_bytes=np.float64(1e9))
    assert corruptset.unpack([Folder(bag.path)], Folder(tmp_path / "out")).digest == one.digest


def test_one_image_takes_numpy_s_numbers():
    image = painted(64, 64)
    plain = corruptset.corrupt(image, "gaussian_noise", severity=3, seed=5)
    for severity in (np.int64(3), np.float32(3), np.array(3), np.array([3]), Fraction(3)):
        given = {"severity": severity, "seed": np.uint16(5), "calibration": np.str_("tiny"), "key": None}
        np.testing.assert_array_equal(corruptset.corrupt(image, np.str_("gaussian_noise"), **given), plain)
    key = corruptset.corrupt(image, "gaussian_noise", severity=3, key=np.array(["a"]))
    np.testing.assert_array_equal(key, corruptset.corrupt(image, "gaussian_noise", severity=3, key="a"))
    for wrong in (np.array([1, 2]), np.array([]), MATRIX, "3", [3], {"a": 1}, 1j, b"3", True, object()):
        with pytest.raises(ParameterError, match=r"severity is .*; expected "):
            corruptset.corrupt(image, "fog", severity=wrong)
    for wrong in (1.5, "3", [3], np.nan, np.inf, None, -1, 2**53, True):
        with pytest.raises(ParameterError, match=r"seed is .*; expected "):
            corruptset.corrupt(image, "fog", severity=3, seed=wrong)
    for wrong in (image.astype(np.float16), image.astype(np.float16) / 255, MATRIX, image > 9):
        with pytest.raises(ImageError):
            corruptset.corrupt(wrong, "fog", severity=3)


WRONG = [
    np.array([[1], [2]]), np.array([["a"]]), np.datetime64("2020"), MATRIX, {"a": 1}, 1j, 10**30, b"x",
    object(), "\ud800", np.float64("nan"), [["a"]], len,
]  # fmt: skip


@pytest.mark.parametrize(
    ("call", "given", "names"),
    [
        ("pairs", {"first": "fog", "second": "snow"}, ["first", "second", "severities", "levels", "orders"]),
        ("pairs", {"first": "fog", "second": "snow"}, ["calibration"]),
        ("plan", {"recipe": "cifar10-c"}, ["recipe", "out", "seed", "jobs", "sets", "samples", "first", "per_class"]),
        ("plan", {"recipe": "cifar10-c"}, ["ids", "storage", "calibration", "coupling", "scale", "metrics", "labels"]),
        ("plan", {"recipe": "cifar10-c"}, ["frost_textures", "surrogate", "hold_out", "view", "store", "plugins"]),
        ("names", {}, ["what", "family", "role"]),
        ("show", {}, ["name"]),
        ("open", {}, ["directory", "prefer", "check", "labels"]),
        ("verify", {}, ["directory", "level", "rederive", "calibration_side", "view", "jobs"]),
        ("export", {"view": "imagefolder", "out": "o"}, ["view", "directory", "out", "sets", "severities", "images"]),
        ("pack", {"out": "o"}, ["directory", "out", "by", "digests", "max_bytes"]),
        ("publish", {"to": "o"}, ["directory", "to", "layout", "creators", "license", "url", "date"]),
        ("fetch", {"address": "http://localhost:1/", "out": "o"}, ["address", "out", "connections", "jobs", "digest"]),
        ("unpack", {"archives": "x.tar", "out": "o"}, ["archives", "out"]),
        ("rebuild", {"manifest": "x"}, ["manifest", "sets", "jobs", "plugins"]),
        ("page", {"out": "o.html"}, ["directory", "out"]),
        ("score", {"predictions": "nowhere"}, ["directory", "predictions", "condition", "sets", "seed", "out"]),
        ("score_table", {}, ["table", "corruptions", "lower_is_better"]),
        ("compare", {"scores": "x"}, ["scores", "out", "reference"]),
        ("predict", {"model": "nowhere.toml", "out": "o"}, ["directory", "model", "out", "sets", "device", "batch"]),
        ("preview", {"image": "sample:astronaut"}, ["recipe", "sets", "out", "seed", "key", "calibration"]),
        ("check_corruption", {"name": "contrast"}, ["name", "parameters"]),
        ("load_surrogate", {"path": "x"}, ["path", "device", "batch"]),
    ],
)
def test_values_of_other_types_are_refused_in_a_sentence(built, tmp_path, monkeypatch, call, given, names):
    monkeypatch.chdir(tmp_path)
    for name in names:
        for wrong in WRONG:
            options = {**given, name: wrong}
            if call in ("open", "verify", "export", "pack", "page", "score", "predict"):
                options = {"directory": built, **options}
            with pytest.raises(CorruptsetError) as said:
                getattr(corruptset, call)(**options)
            assert (len(str(said.value)) < 1000, "pydantic" in str(said.value)) == (True, False), (name, wrong)


@pytest.mark.parametrize(
    ("call", "given", "said"),
    [
        (
            "fetch",
            {"address": "http://localhost:1/", "out": "o", "connections": 1.5},
            "connections is 1.5; expected a who",
        ),
        ("plan", {"ids": [1, 2]}, "an item of ids is 1; expected text"),
        ("plan", {"ids": np.array([1, 2])}, "an item of ids is 1; expected text"),
        ("plan", {"seed": "3"}, "seed is '3'; expected a whole number"),
        ("open", {"directory": 3}, "directory is 3; expected text, or a path"),
        ("open", {"directory": "x" * 5000 + "\ud800"}, "has half of a character"),
    ],
)
def test_the_sentence_names_the_argument_and_what_is_expected(call, given, said):
    with pytest.raises(ParameterError, match=said):
        getattr(corruptset, call)(**given)
