"""The tables: what is shipped, a user's own, and every mistake in one reported at once."""

from __future__ import annotations

import pytest

import corruptset
from corruptset.canonical import canonical_sha256
from corruptset.corruptions.calibrations import SHIPPED, get_calibration, parse_table, shipped
from corruptset.errors import ParameterError, RecipeError
from pictures import painted

# sha256 of each table's values, however the file is laid out: read off and compared with the released generators' once
TABLES = {
    "imagenet": "sha256:7a7460c15ba90a9eea04bc8b8f1627e792053172734d569e3d943690e2ca9c84",
    "inception": "sha256:f4e3254b75dda01df140ad29406ff125e4984a6e34fd96cbab31651f0e2c3610",
    "tiny": "sha256:5787f1523e95263a6289a35a1178d05e9a7501b67ee4f521b51003e2a9f4170a",
    "cifar": "sha256:b35b8eb0c022416f89b2ad09543ea9345bfa9257fd6559da9bd28fcf63f97e72",
    "mnist": "sha256:48d99d910eeb78ba60e89c541255cf334e6ca2e13d3db290af66ad6441b3a6b0",
}

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
        ("imagenet", "snow", 5, {"mean": 0.55, "std": 0.3, "zoom": 2.5, "threshold": 0.85, "radius": 12, "sigma": 12, "mix": 0.55}),
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
        + "[[fgo]]\nseverity = 1\n[[contrast]]\nseverity = 9\n[[contrast]]\nseverity = 1\nfactor = 0.2\nsource = 'you'\n"
    )
    with pytest.raises(RecipeError) as e:
        parse_table(text, "mine.toml")
    for part in (
        "mine.toml has 9 mistakes",
        "name is 3",
        "side is 4",
        "[[fog]] row 1: unknown parameter 'wiggle_decay'. Did you mean 'wibble_decay'?",
        "[[fog]] row 1: 'wibble_decay' is missing",
        "parameter 'factor' is 'much'; expected a finite number",
        "[[fgo]]: there is no such corruption. Did you mean 'fog'?",
        "[[contrast]] row 2: severity is 9",
        "[[contrast]] row 3: severity 1 is given twice",
        "source is 'you'; expected one of the names in [sources]: me",
    ):
        assert part in str(e.value)


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


@pytest.mark.parametrize("name", SHIPPED)
def test_no_value_of_a_shipped_table_has_moved(name):
    values = {c: {str(s): dict(row.parameters) for s, row in rows.items()} for c, rows in shipped(name).rows.items()}
    assert canonical_sha256({"side": shipped(name).side, "rows": values}) == TABLES[name]
