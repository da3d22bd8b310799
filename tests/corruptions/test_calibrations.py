"""The tables: what is shipped, a user's own, and every mistake in one reported at once."""

from __future__ import annotations

from pathlib import Path

import pytest

import corruptset
from corruptset import corruptions
from corruptset.corruptions.calibrations import LADDERS, SHIPPED, get_calibration, ladder, parse_table, shipped
from corruptset.corruptions.registry import corruption_names, get_corruption
from corruptset.errors import ParameterError, RecipeError
from pictures import painted

OWN = """
name = "mine"
side = 100
[sources]
me = "measured by me"
[[fog]]
severity = 1
weight = 0.5
wibble_decay = 2.5
source = "me"
[[contrast]]
severity = 1
factor = 0.9
source = "me"
"""


def test_published_values_stand_where_they_should():
    """Hendrycks & Dietterich 2019, released tables: a few cells of each, read off by hand."""
    for calibration, name, severity, want in [
        ("imagenet", "gaussian_noise", 3, {"sigma": 0.18}),
        ("imagenet", "glass_blur", 4, {"sigma": 1.1, "max_delta": 3, "iterations": 2}),
        ("imagenet", "elastic_transform", 1, {"alpha": 488.0, "sigma": 170.8, "affine": 24.4}),
        (
            "imagenet",
            "snow",
            5,
            {"mean": 0.55, "std": 0.3, "zoom": 2.5, "threshold": 0.85, "radius": 12, "sigma": 12, "mix": 0.55},
        ),
        ("imagenet", "saturate", 5, {"gain": 20, "shift": 0.2}),
        ("cifar", "defocus_blur", 4, {"radius": 1, "alias_sigma": 0.2}),
        ("cifar", "frost", 5, {"image_weight": 0.75, "frost_weight": 0.45, "texture_scale": 0.2}),
        ("tiny", "jpeg_compression", 2, {"quality": 58}),
        ("tiny", "spatter", 4, {"mean": 0.65, "std": 0.1, "sigma": 0.7, "threshold": 0.68, "intensity": 0.6, "mud": 1}),
        ("inception", "motion_blur", 5, {"radius": 22, "sigma": 16}),
        ("inception", "elastic_transform", 5, {"alpha": 43.2, "sigma": 3.6, "affine": 7.2}),
    ]:
        assert dict(shipped(calibration).row(name, severity).parameters) == want


def test_a_users_own_table_file_is_accepted(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(OWN)
    table = get_calibration(path)
    assert (table.name, table.side) == ("mine", 100)
    assert table.row("fog", 1).source == "measured by me"
    image = painted(64, 64)
    out = corruptset.corrupt(image, "contrast", severity=1, calibration=str(path))
    assert (out == corruptset.corrupt(image, "contrast", factor=0.9)).all()
    with pytest.raises(ParameterError, match="severity is 2; expected a whole number from 1 to 1"):
        corruptset.corrupt(image, "fog", severity=2, calibration=path)
    with pytest.raises(ParameterError, match="snow has no rows in calibration 'mine'"):
        corruptset.corrupt(image, "snow", severity=2, calibration=path)


def test_all_mistakes_are_reported_at_once():
    text = (
        OWN.replace('name = "mine"', "name = 3")
        .replace("side = 100", "side = 4")
        .replace("wibble_decay = 2.5", "wiggle_decay = 2.5")
        .replace("factor = 0.9", 'factor = "much"')
        + "[[fgo]]\nseverity = 1\n[[contrast]]\nseverity = 9\n[[contrast]]\nseverity = 1\nfactor = 0.2\nsource = "
        "'you'\n"
    )
    with pytest.raises(RecipeError) as e:
        parse_table(text, "mine.toml")
    for part in (
        "mine.toml has 9 mistakes",
        "name is 3",
        "side is 4",
        "[[fog]] row 1: unknown parameter 'wiggle_decay'. Did you mean 'wibble_decay'?",
        "[[fog]] row 1: 'wibble_decay' is missing",
        "[[contrast]] row 1: contrast: parameter 'factor' is 'much'; expected a finite number",
        "[[fgo]]: there is no such corruption. Did you mean 'fog'?",
        "[[contrast]] row 2: severity is 9",
        "[[contrast]] row 3: severity 1 is given twice",
        "[[contrast]] row 3: source is 'you'; expected one of the names in [sources]: me",
    ):
        assert part in str(e.value)


@pytest.mark.parametrize("name", SHIPPED)
def test_a_shipped_table_has_no_mistakes(name):
    """All rows at once: elsewhere a row is checked when its corruption is asked for."""
    text = (Path(corruptions.__file__).parent / "tables" / f"{name}.toml").read_text(encoding="utf-8")
    assert parse_table(text, name).rows.keys() == shipped(name).rows.keys()


@pytest.mark.parametrize("name", LADDERS)
def test_a_ladder_has_every_gradual_degradation_and_no_mistakes(name):
    assert set(ladder(name)) == {n for n in corruption_names() if get_corruption(n).gradual is not None}
    assert all(row.source for row in ladder(name).values())


@pytest.mark.parametrize("content", [b"\xff\xfe", b"name = ", None])
def test_an_unreadable_table_file_is_explained(tmp_path, content):
    path = tmp_path / "broken.toml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(RecipeError, match=r"broken\.toml"):
        get_calibration(path)


def test_an_unknown_calibration_suggests_the_near_one():
    with pytest.raises(ParameterError, match="Did you mean 'inception'"):
        get_calibration("incepton")
