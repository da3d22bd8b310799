"""A mistake in a shipped table names its row, and breaks its own corruption; edited copies of the real tables."""

from __future__ import annotations

import functools
import shutil
from pathlib import Path

import pytest

import corruptset
from corruptset import corruptions
from corruptset.corruptions import calibrations
from corruptset.corruptions import call as resolution
from corruptset.errors import RecipeError
from pictures import painted


@pytest.fixture
def edited(tmp_path, monkeypatch):
    """Return a function that edits a copy of a shipped table, in and below a header.

    The package then reads the copy.
    """
    tables = tmp_path / "tables"
    shutil.copytree(Path(corruptions.__file__).parent / "tables", tables)

    def edit(right: str, wrong: str, name: str = "imagenet", below: str = "[[fog]]\nseverity = 2") -> None:
        file = tables / f"{name}.toml"
        before, header, after = file.read_text().partition(below)
        assert right in header + after
        file.write_text(before + (header + after).replace(right, wrong, 1))
        monkeypatch.setattr(calibrations, "files", lambda package: tmp_path)
        for cached in ("shipped", "ladder"):
            monkeypatch.setattr(calibrations, cached, functools.cache(getattr(calibrations, cached).__wrapped__))
        # what earlier tests resolved
        monkeypatch.setattr(resolution, "_remembered", functools.cache(resolution._resolved))

    return edit


@pytest.mark.parametrize(
    ("right", "wrong", "says"),
    [
        (
            'source = "hendrycks2019"', 'source = "hendryks2019"',
            "source is 'hendryks2019'; expected one of the names in [sources]: hendrycks2019, ... "
            "Did you mean 'hendrycks2019'? Also near: 'hendrycks2018'.",
        ),
        ('source = "hendrycks2019"\n', "", "source is None; expected one of the names in [sources]"),
        ("weight = ", "wait = ", "unknown parameter 'wait'. Did you mean 'weight'? Expected: weight"),
        ("weight = 2.0\n", "", "'weight' is missing"),
        ("weight = 2.0", 'weight = "2.0"', "fog: parameter 'weight' is '2.0'; expected a finite number."),
        ("weight = 2.0", "weight = -2.0", "fog: parameter 'weight' is -2.0; expected a number at least 0"),
        ("severity = 2", "severity = 6", "severity is 6; expected 1, 2, 3, 4 or 5"),
        ("severity = 2", "severity = 1", "severity 1 is given twice"),
    ],
)  # fmt: skip
def test_a_mistake_in_a_shipped_table_names_its_row_and_breaks_its_own_corruption(edited, right, wrong, says):
    edited(right, wrong)
    with pytest.raises(RecipeError) as e:
        corruptset.corrupt(painted(64, 64), "fog", severity=3, calibration="imagenet")
    header, first, *_ = str(e.value).splitlines()
    assert header.startswith("The shipped table imagenet.toml has ")
    assert first.startswith(f"  [[fog]] row 2: {says.partition('...')[0]}")
    assert first.endswith(says.rpartition("...")[2] if "..." in says else "")
    for other in ("contrast", "gaussian_noise"):
        assert corruptset.corrupt(painted(64, 64), other, severity=3, calibration="imagenet").shape == (64, 64, 3)
    assert corruptset.corrupt(painted(64, 64), "fog", severity=3, calibration="tiny").shape == (64, 64, 3)


def test_a_mistake_in_a_ladder_names_its_row_and_breaks_its_own_corruption(edited):
    edited("density = 0.1", "dnsity = 0.1", "ladder_evaluated", "[random_boxes]")
    with pytest.raises(RecipeError) as e:
        corruptset.corrupt(painted(32, 32), "random_boxes", level=2, calibration="imagenet")
    assert str(e.value).splitlines() == [
        "The shipped table ladder_evaluated.toml has 2 mistakes:",
        "  [random_boxes]: unknown parameter 'dnsity'. Did you mean 'density'? Expected: density, least, most",
        "  [random_boxes]: 'density' is missing",
    ]
    assert corruptset.corrupt(painted(32, 32), "white_lines", level=2, calibration="imagenet").shape == (32, 32, 3)
