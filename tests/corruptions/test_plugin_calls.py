"""Calls of a plugin's function: a few images at a time, read-only, and what comes back is looked at."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from plugin_files import HEAD, function, without_plugins

import corruptset
from corruptset.corruptions.plugins import load_plugin
from corruptset.corruptions.registry import _CHUNK_BYTES
from corruptset.errors import PluginError

IMAGES = np.arange(5 * 9 * 8 * 3).reshape(5, 9, 8, 3).astype(np.uint8)


@pytest.fixture
def loaded(tmp_path: Path) -> Iterator[Callable[..., None]]:
    """Load functions as a plugin."""

    def load(*functions: str) -> None:
        (tmp_path / "calling.py").write_text(HEAD + "lengths = []\n" + "".join(functions))
        load_plugin(tmp_path / "calling.py")

    with without_plugins():
        yield load


def test_a_batch_is_cut_and_put_together(loaded: Any) -> None:
    loaded(function("turned", "lengths.append(len(images))\n    return 255 - images", ", deterministic=True"))
    import calling  # type: ignore[import-not-found]

    images = np.random.default_rng(0).integers(0, 256, (70, 224, 224, 3), np.uint8)
    assert (corruptset.corrupt(images, "turned") == 255 - images).all()
    assert sum(calling.lengths) == 70
    assert max(calling.lengths) == _CHUNK_BYTES // images[0].size
    large = np.zeros((2, 2000, 2000, 3), np.uint8)
    assert (corruptset.corrupt(large, "turned") == 255).all()
    assert calling.lengths[-2:] == [1, 1]


def test_what_a_function_keeps_is_copied(loaded: Any) -> None:
    loaded(function("same", "return images", ", deterministic=True"))
    out = corruptset.corrupt(IMAGES, "same")
    assert not np.shares_memory(out, IMAGES)
    assert out.flags.writeable


FAULTS = {
    "raising": (
        "return images + 1 if images.max() < 200 else 1 // 0",
        r"raised ZeroDivisionError: .* \(calling\.py, line 6\)",
    ),
    "floats": ("return images / 2", "returned an array of float64; expected an array of uint8"),
    "unset": ("return np.where(images > 9, np.nan, 1.0)", r"returned an array of float64 with \d+ values that are NaN"),
    "lists": ("return images.tolist()", "returned a list"),
    "cut": ("return images[:, 1:]", r"returned the shape \(1, 8, 8, 3\); expected \(1, 9, 8, 3\)"),
    "fewer": ("return images[:3]", r"returned the shape \(3, 9, 8, 3\).* on a batch of 5 images, though on none alone"),
    "writing": (
        "images[:] = 1\n    return images",
        r"raised ValueError: .*line 6\); it must leave its input as it is, and work on a copy",
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_one_sentence(name: str, loaded: Any) -> None:
    body, sentence = FAULTS[name]
    loaded(function(name, body, ", deterministic=True"))
    with pytest.raises(PluginError, match=f"The plugin calling: {name} {sentence}") as raised:
        corruptset.corrupt(IMAGES, name)
    assert "\n" not in str(raised.value)
    first = next((i for i, image in enumerate(IMAGES) if image.max() >= 200), None)
    assert raised.value.position == (None if name == "fewer" else first if name == "raising" else 0)


def test_a_shape_that_is_declared_is_free(loaded: Any) -> None:
    loaded(
        function("doubled", "return np.repeat(images, 2, 1)", ", keeps_shape=False, deterministic=True"),
        function("tiny", "return images[:, :4]", ", keeps_shape=False, deterministic=True"),
    )
    assert corruptset.corrupt(IMAGES, "doubled").shape == (5, 18, 8, 3)
    with pytest.raises(PluginError, match="of at least 8x8"):
        corruptset.corrupt(IMAGES, "tiny")
