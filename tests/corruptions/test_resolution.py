"""What arguments mean is found once for each combination, and only where it cannot change."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import corruptset
from corruptset.corruptions import call as resolution
from corruptset.corruptions.calibrations import shipped
from pictures import painted

SMALL = painted(32, 40)
ROWS = (Path(resolution.__file__).parent / "tables/cifar.toml").read_text("utf-8")


@pytest.fixture(autouse=True)
def forgotten() -> None:
    resolution._remembered.cache_clear()


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The chains whose keys were computed."""
    seen: list[Any] = []
    whole = resolution.chain_keys
    monkeypatch.setattr(resolution, "chain_keys", lambda chain, *more: seen.append(chain) or whole(chain, *more))
    return seen


def test_a_combination_is_resolved_once(counted: list[Any]) -> None:
    for image in (SMALL, SMALL[::-1], painted(48, 33)):
        corruptset.corrupt(image, "gaussian_noise", severity=3, key="a")
    assert len(counted) == 1
    transform = corruptset.Corrupt("gaussian_noise", severity=4)
    resolution._remembered.cache_clear()
    transform(painted(300, 300)), transform(painted(280, 300))
    assert len(counted) == 2


@pytest.mark.parametrize(
    "other",
    [
        {"severity": 4}, {"seed": 1}, {"calibration": "tiny"}, {"coupling": "severity"}, {"sigma": 0.2},
        {"sigma": 0.3}, {"mean": 0.1},
        {"rounding": "round"},
    ],
)  # fmt: skip
def test_another_argument_means_something_else(other: dict[str, Any]) -> None:
    usual: dict[str, Any] = {"severity": 3, "key": "a"}
    alone = corruptset.corrupt(SMALL, "gaussian_noise", **{**usual, **other})
    resolution._remembered.cache_clear()
    first = corruptset.corrupt(SMALL, "gaussian_noise", **usual)
    np.testing.assert_array_equal(corruptset.corrupt(SMALL, "gaussian_noise", **{**usual, **other}), alone)
    np.testing.assert_array_equal(corruptset.corrupt(SMALL, "gaussian_noise", **usual), first)
    assert not np.array_equal(alone, first)


def test_what_is_equal_but_no_number_stays_a_mistake() -> None:
    corruptset.corrupt(SMALL, "fog", severity=1)
    corruptset.corrupt(SMALL, "glass_blur", severity=1, iterations=1)
    for wrong in ({"severity": True}, {"severity": 1.125}, {"severity": 1, "seed": False}):
        with pytest.raises(corruptset.errors.ParameterError):
            corruptset.corrupt(SMALL, "fog", **wrong)
    with pytest.raises(corruptset.errors.ParameterError):
        corruptset.corrupt(SMALL, "glass_blur", severity=1, iterations=True)


def test_a_table_file_is_read_anew(tmp_path: Path) -> None:
    table = tmp_path / "mine.toml"
    table.write_text(ROWS)
    first = corruptset.corrupt(SMALL, "contrast", severity=1, calibration=str(table))
    factor = shipped("cifar").row("contrast", 1).parameters["factor"]
    changed = ROWS.replace(
        f"[[contrast]]\nseverity = 1\nfactor = {factor}", f"[[contrast]]\nseverity = 1\nfactor = {factor / 2}"
    )
    assert changed != ROWS
    table.write_text(changed)
    for calibration in (table, str(table)):
        assert not np.array_equal(corruptset.corrupt(SMALL, "contrast", severity=1, calibration=calibration), first)


def test_given_draws_are_not_remembered() -> None:
    normals = np.zeros((32, 40))
    first = corruptset.corrupt(SMALL, "spatter", severity=4, normals=normals)
    normals[::2] = 3.0
    assert not np.array_equal(corruptset.corrupt(SMALL, "spatter", severity=4, normals=normals), first)


def test_memory_is_bounded() -> None:
    for seed in range(1100):
        resolution.resolve(
            "contrast", (32, 32, 3), severity=1, level=None, calibration=None, ladder="evaluated", scale="none",
            coupling="independent", seed=seed, parameters={},
        )  # fmt: skip
    assert resolution._remembered.cache_info().currsize == 1024


@pytest.mark.parametrize(
    ("chain", "drawn"), [("contrast/3", False), ("fog/3", True), ("contrast-3+fog-3", True), ("clean", False)]
)
def test_pixels_are_hashed_only_where_something_is_drawn(
    chain: str, drawn: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That whatever is declared to draw nothing does not depend on its key is held for every corruption in
    test_properties.
    """
    hashed: list[Any] = []
    whole = resolution.pixel_keys
    monkeypatch.setattr(resolution, "pixel_keys", lambda images: hashed.append(images) or whole(images))
    corruptset.corrupt(SMALL, chain)
    assert bool(hashed) == drawn
