"""Test that `check_corruption` reports violations in one sentence each, and none for correct corruptions."""

from __future__ import annotations

import random

import numpy as np
import pytest
from plugin_files import HEAD, TABLE, function_source, without_plugins, write_blinds

import corruptset
from corruptset.corruptions.registry import corruption_names
from corruptset.errors import ParameterError

BATCH, ORDER = "for an image in a batch than for the same image alone", "if the batch has a different order"
STATE, CALLS = "uses a global random generator", "returns different pixels in a second call"
KEY = "gives the same output for every key"
DRAWN = {
    "seeded": ("", "return images ^ np.random.randint(0, 9, images.shape, np.uint8)", [STATE, CALLS, BATCH, ORDER]),
    "pythons": (
        "import random\n",
        "return images ^ np.uint8(random.randrange(1, 200))",
        [STATE, CALLS, BATCH, ORDER, KEY],
    ),
    "kept": (
        "rng = np.random.default_rng(0)\n",
        "return images ^ rng.integers(0, 9, images.shape, np.uint8)",
        [CALLS, BATCH, ORDER],
    ),
    "first_key": ("", "return images ^ np.uint8(keys.uniforms(1)[0, 0] * 255)", [BATCH, ORDER, KEY]),
    "keyless": ("", "return 255 - images", [KEY]),
}
FIXED = {
    "keyed": (
        "return images ^ (keys.uniforms(1)[:, :, None, None] * 255).astype(np.uint8)",
        "declares deterministic=True, but its output depends on the key",
    ),
    "mean_of_all": ("return images // 2 + np.uint8(images.mean() / 2)", BATCH),
    "in_place": ("images += 1\n    return images", "work on a copy, at 8x8 with 1 channel"),
    "colour_only": ("return 255 - images[..., [2, 1, 0]]", "IndexError"),
    "even_only": ("return 255 - images[:, : images.shape[1] // 2 * 2]", "returned the shape"),
    "large_only": ("return 255 - images + 0 * images[:, 9:10]", "raised ValueError"),
    "floats": ("return images / 2", "returned an array of float64"),
    "nothing": ("return images", "changes nothing"),
    "processes": (
        "import os\n    return images ^ np.uint8(os.getpid() % 200 + 1)",
        "another process",
    ),
}
SHIFTED = (
    "@corruption(revision=1, reference='x', parameters=(Parameter('by', int, {}),), deterministic=True, tables='.')\n"
    "def {}(images, keys, *, by):\n    {}\n"
)
WRONG = {name: (before + function_source(name, body), message) for name, (before, body, message) in DRAWN.items()}
WRONG |= {
    name: (function_source(name, body, ", deterministic=True"), [message]) for name, (body, message) in FIXED.items()
}
WRONG["alike"] = (
    SHIFTED.format("0, 9", "alike", "return 255 - images"),
    ["gives the same output at alike-1 and at alike-2"],
)


@pytest.fixture(autouse=True)
def plugin_cleanup():
    with without_plugins():
        yield


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.ci] if name == "processes" else []) for name in WRONG]
)
def test_contract_violations_are_reported_once(name, tmp_path):
    source, expected = WRONG[name]
    (tmp_path / "trying.py").write_text(HEAD + source)
    rows = [f'[[alike]]\nseverity = {s}\nby = {s}\nsource = "own"\n' for s in (1, 2)]
    (tmp_path / "cifar.toml").write_text(TABLE + "".join(rows))
    report = corruptset.check_corruption(name, plugins=[tmp_path / "trying.py"], large=False)
    assert not report.ok
    for failure, part in zip(report.failures, expected, strict=True):
        assert part in failure
        assert (failure.split()[0], failure[-1]) == (name, ".")


def test_documented_corruption_keeps_contract(tmp_path):
    np.random.seed(3)  # noqa: NPY002
    random.seed(3)
    before = np.random.get_state()[1].tolist(), random.getstate()  # noqa: NPY002
    report = corruptset.check_corruption("blinds", plugins=[write_blinds(tmp_path)], large=False)
    assert (report.failures, report.ok, report.plugin, len(report.checks)) == ((), True, "mine", 6)
    assert "severities differ from each other and from the clean image" in report.checks
    assert 0 < report.seconds < 5
    assert (np.random.get_state()[1].tolist(), random.getstate()) == before  # noqa: NPY002


@pytest.mark.ci
def test_parameters_are_mid_range_by_default_and_large_image_is_tried_last(tmp_path):
    body = "assert by == 5, by\n    return images ^ np.uint8(by)"
    for name, bounds in (("middle", "1, 9"), ("open", "1")):
        (tmp_path / f"{name}.py").write_text(HEAD + SHIFTED.format(bounds, "shifted", body).replace(", tables='.'", ""))
    report = corruptset.check_corruption("shifted", plugins=[tmp_path / "middle.py"], large=False)
    assert report.ok
    assert "the output with by = 5 differs from the clean image; no severities were compared" in report.checks
    invalid = corruptset.check_corruption("shifted", parameters={"by": 4}, large=False)
    assert "AssertionError: 4" in invalid.failures[0]
    with (
        without_plugins(),
        pytest.raises(ParameterError, match=r"its parameter 'by' has no bounds\. Pass a value with --param by=VALUE"),
    ):
        corruptset.check_corruption("shifted", plugins=[tmp_path / "open.py"], large=False)
    body = "assert images.size < 10**7, 'too large'\n    return 255 - images"
    (tmp_path / "large.py").write_text(HEAD + function_source("small", body, ", deterministic=True"))
    (failure,) = corruptset.check_corruption("small", plugins=[tmp_path / "large.py"]).failures
    assert failure == "small raised AssertionError: too large (large.py, line 5), at 4000x6000 with 3 channels."


@pytest.mark.ci
@pytest.mark.parametrize("name", ["pgd", "gaussian_noise"])
def test_some_shipped_corruptions_keep_contract(name):
    assert corruptset.check_corruption(name, large=False).failures == ()


@pytest.mark.long
@pytest.mark.parametrize("name", corruption_names())
def test_all_shipped_corruptions_keep_contract(name):
    assert corruptset.check_corruption(name, large=False).failures == ()
