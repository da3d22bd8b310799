"""`check_corruption` says in a sentence what is wrong with a corruption, and nothing of one that is right."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from plugin_files import HEAD, TABLE, function, without_plugins, write_blinds

import corruptset
from corruptset.corruptions.registry import corruption_names
from corruptset.errors import ParameterError

DETERMINISTIC = ", deterministic=True"
CALLS, BATCH, ORDER = (
    "makes other pixels in a second call",
    "in a batch than of the image alone",
    "of a batch in another order",
)
WRONG: dict[str, tuple[str, list[str]]] = {
    "seeded": (
        function("seeded", "return images ^ np.random.randint(0, 9, images.shape, np.uint8)"),
        ["draws from a global generator", CALLS, BATCH, ORDER],
    ),
    "pythons": (
        "import random\n" + function("pythons", "return images ^ np.uint8(random.randrange(1, 200))"),
        ["draws from a global generator", CALLS, BATCH, ORDER, "makes the same of one image whatever its key"],
    ),
    "kept": (
        "rng = np.random.default_rng(0)\n"
        + function("kept", "return images ^ rng.integers(0, 9, images.shape, np.uint8)"),
        [CALLS, BATCH, ORDER],
    ),
    "first_key": (
        function("first_key", "return images ^ np.uint8(keys.uniforms(1)[0, 0] * 255)"),
        [BATCH, ORDER, "makes the same of one image whatever its key"],
    ),
    "keyless": (function("keyless", "return 255 - images"), ["makes the same of one image whatever its key"]),
    "keyed": (
        function("keyed", "return images ^ (keys.uniforms(1)[:, :, None, None] * 255).astype(np.uint8)", DETERMINISTIC),
        ["says that it draws nothing"],
    ),
    "mean_of_all": (
        function("mean_of_all", "return images // 2 + np.uint8(images.mean() / 2)", DETERMINISTIC),
        [BATCH],
    ),
    "in_place": (
        function("in_place", "images += 1\n    return images", DETERMINISTIC),
        ["work on a copy, at 8x8 with 1 channel"],
    ),
    "colour_only": (function("colour_only", "return 255 - images[..., [2, 1, 0]]", DETERMINISTIC), ["IndexError"]),
    "even_only": (
        function("even_only", "return 255 - images[:, : images.shape[1] // 2 * 2]", DETERMINISTIC),
        ["returned the shape"],
    ),
    "large_only": (
        function("large_only", "return 255 - images + 0 * images[:, 9:10]", DETERMINISTIC),
        ["raised ValueError"],
    ),
    "floats": (function("floats", "return images / 2", DETERMINISTIC), ["returned an array of float64"]),
    "nothing": (function("nothing", "return images", DETERMINISTIC), ["changes nothing"]),
    "processes": (
        "import os\n" + function("processes", "return images ^ np.uint8(os.getpid() % 200 + 1)", DETERMINISTIC),
        ["another process"],
    ),
    "growing": (
        function(
            "growing", "seen.append(1)\n    return images ^ np.uint8(len(seen))", DETERMINISTIC, "images, keys, seen=[]"
        ),
        [CALLS, BATCH, ORDER],
    ),
    "alike": (
        "@corruption(revision=1, reference='x', parameters=(Parameter('by', int, 0, 9),), deterministic=True, "
        "tables='.')\n"
        "def alike(images, keys, *, by):\n    return 255 - images\n",
        ["makes the same at alike-1 and at alike-2"],
    ),
}


@pytest.fixture(autouse=True)
def forgotten() -> Iterator[None]:
    with without_plugins():
        yield


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.ci] if name == "processes" else []) for name in WRONG]
)
def test_what_is_wrong_is_said_once(name: str, tmp_path: Path) -> None:
    source, expected = WRONG[name]
    (tmp_path / "trying.py").write_text(HEAD + source)
    (tmp_path / "cifar.toml").write_text(
        TABLE + "".join(f'[[alike]]\nseverity = {s}\nby = {s}\nsource = "own"\n' for s in (1, 2))
    )
    checked = corruptset.check_corruption(name, plugins=[tmp_path / "trying.py"], large=False)
    assert not checked.ok
    assert len(checked.failures) == len(expected), checked.failures
    for failure, part in zip(checked.failures, expected, strict=True):
        assert part in failure
        assert failure.startswith(f"{name} ")
        assert failure.endswith(".")


def test_the_documented_one_keeps_it(tmp_path: Path) -> None:
    np.random.seed(3)  # noqa: NPY002
    random.seed(3)
    before = np.random.get_state()[1].tolist(), random.getstate()  # noqa: NPY002
    checked = corruptset.check_corruption("blinds", plugins=[write_blinds(tmp_path)], large=False)
    assert checked.failures == ()
    assert (checked.ok, checked.plugin, len(checked.checks)) == (True, "mine", 6)
    assert 0 < checked.seconds < 5
    assert (np.random.get_state()[1].tolist(), random.getstate()) == before  # noqa: NPY002


@pytest.mark.ci
def test_parameters_are_in_the_middle_unless_they_are_given(tmp_path: Path) -> None:
    body = "@corruption(revision=1, reference='x', parameters=(Parameter('by', int, 1{},),), deterministic=True)\n"
    body += "def shifted(images, keys, *, by):\n    assert by == 5, by\n    return images ^ np.uint8(by)\n"
    (tmp_path / "middle.py").write_text(HEAD + body.format(", 9"))
    (tmp_path / "open.py").write_text(HEAD + body.format(""))
    assert corruptset.check_corruption("shifted", plugins=[tmp_path / "middle.py"], large=False).ok
    wrong = corruptset.check_corruption("shifted", parameters={"by": 4}, large=False)
    assert "AssertionError: 4" in wrong.failures[0]
    with without_plugins(), pytest.raises(ParameterError, match=r"its parameter 'by' no bounds: give it \(--param\)"):
        corruptset.check_corruption("shifted", plugins=[tmp_path / "open.py"], large=False)


@pytest.mark.ci
def test_a_large_image_is_tried_last(tmp_path: Path) -> None:
    (tmp_path / "large.py").write_text(
        HEAD + function("small_only", "assert images.size < 10**7, 'too large'\n    return 255 - images", DETERMINISTIC)
    )
    checked = corruptset.check_corruption("small_only", plugins=[tmp_path / "large.py"])
    assert checked.failures == (
        "small_only raised AssertionError: too large (large.py, line 5), at 4000x6000 with 3 channels.",
    )


@pytest.mark.ci
@pytest.mark.parametrize("name", ["pgd", "posterize", "gaussian_noise"])
def test_some_of_ours_keep_it(name: str) -> None:
    assert corruptset.check_corruption(name, large=False).failures == ()


@pytest.mark.long
@pytest.mark.parametrize("name", corruption_names())
def test_all_of_ours_keep_it(name: str) -> None:
    assert corruptset.check_corruption(name, large=False).failures == ()
