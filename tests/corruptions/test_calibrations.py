"""Test tables: published values, rows between them, tables of users, and their mistakes."""

from __future__ import annotations

import datetime
import json
import tomllib
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from scipy.interpolate import interp1d

import corruptset
from corruptset import corruptions
from corruptset.canonical import canonical_sha256
from corruptset.corruptions.calibrations import LADDERS, SHIPPED, get_calibration, ladder, parse_table, shipped
from corruptset.corruptions.registry import corruption_names, get_corruption
from corruptset.corruptions.rows import ZERO, row_between
from corruptset.corruptions.stages import resolve_stage
from corruptset.errors import ParameterError, RecipeError
from example_images import synthetic_image

TABLE = shipped("imagenet")

# --- what is published ----------------------------------------------------------------------------------------------

# sha256 of the values and options of each table's published rows, however the file is laid out: compared cell by
# cell, once, with the
# released code of Hendrycks and Dietterich 2019 (make_imagenet_c.py, make_imagenet_c_inception.py,
# make_tinyimagenet_c.py,
# make_cifar_c.py) and of Mu and Gilmer 2019 (MNIST-C's corruptions.py)
TABLES = {
    "imagenet": "sha256:7a7460c15ba90a9eea04bc8b8f1627e792053172734d569e3d943690e2ca9c84",
    "inception": "sha256:f4e3254b75dda01df140ad29406ff125e4984a6e34fd96cbab31651f0e2c3610",
    "tiny": "sha256:5787f1523e95263a6289a35a1178d05e9a7501b67ee4f521b51003e2a9f4170a",
    "cifar": "sha256:b35b8eb0c022416f89b2ad09543ea9345bfa9257fd6559da9bd28fcf63f97e72",
    "mnist": "sha256:48d99d910eeb78ba60e89c541255cf334e6ca2e13d3db290af66ad6441b3a6b0",
}
TWENTY = (
    "gaussian_noise shot_noise impulse_noise speckle_noise defocus_blur glass_blur motion_blur zoom_blur gaussian_blur "
    "snow frost fog brightness spatter contrast elastic_transform pixelate jpeg_compression saturate rotate"
).split()
MNIST = "quantize shear scale translate line dotted_line zigzag stripe canny_edges inverse".split()


@pytest.mark.parametrize("name", SHIPPED)
def test_published_values_and_options_are_unchanged(name):
    """Validate the shipped tables as strictly as tables of users. This is done nowhere else."""
    text = (Path(corruptions.__file__).parent / "tables" / f"{name}.toml").read_text(encoding="utf-8")
    table = parse_table(text, name)
    assert {**table.rows} == {**shipped(name).rows}
    assert (table.name, table.side) == (name, shipped(name).side)
    rows = {corruption: table.rows[corruption] for corruption in TWENTY + MNIST * (name == "mnist")}
    assert all(row.source for severities in rows.values() for row in severities.values())
    values = {c: {str(s): dict(row.parameters) for s, row in severities.items()} for c, severities in rows.items()}
    assert canonical_sha256({"side": table.side, "rows": values}) == TABLES[name]
    noise = table.rows["uniform_noise"].values() if name == "imagenet" else ()
    published = {row.parameters["amplitude"]: "Dietterich 2018" in row.source for row in noise}
    assert published == ({0.01: True, 0.05: True, 0.1: True, 0.2: False, 0.4: False} if noise else {})


@pytest.mark.parametrize("which", LADDERS)
def test_every_gradual_corruption_has_parameter_set_with_valid_rows(which):
    rows = ladder(which)
    assert rows.keys() == {name for name in corruption_names() if get_corruption(name).gradual is not None}
    for name, row in rows.items():
        assert row.source
        assert [p.name for p in get_corruption(name).columns] == [*row.parameters]
        assert {p.name: p.checked(row.parameters[p.name], name) for p in get_corruption(name).columns} == row.parameters


# --- between rows ---------------------------------------------------------------------------------------------------

RELEASED_ZERO = {
    "gaussian_noise": (0,),
    "impulse_noise": (0,),
    "glass_blur": (0, 0, 0),
    "defocus_blur": (0, 0),
    "motion_blur": (0, 0),
    "zoom_blur": (1, 0.01),
    "fog": (0, 2),
    "frost": (1, 0, 1),
    "snow": (0.1, 0.3, 3, 1.0, 10, 4, 1.0),
    "contrast": (1,),
    "brightness": (0,),
    "jpeg_compression": (85,),
    "pixelate": (1,),
    "elastic_transform": (0, 999, 0),
}
"""The rows for severity 0 of the released generator, in the order of our columns."""


def test_rows_follow_linear_interpolation():
    """Compare with scipy's interp1d, which the released generator uses, over the six rows.

    For photons, the inverse is interpolated.
    """
    between = [*(n / 4 for n in range(1, 20) if n % 4), 0.01, 3.33, 4.99]
    for name, zero in RELEASED_ZERO.items():
        columns = get_corruption(name).columns
        rows = [zero, *([TABLE.row(name, s).parameters[p.name] for p in columns] for s in range(1, 6))]
        line = interp1d(range(6), np.array(rows, float), axis=0)
        for severity in between:
            for p, value in zip(columns, line(severity), strict=True):
                result = TABLE.row(name, severity).parameters[p.name]
                expected = max(round(round(float(value), 9)) if p.kind is int else value, p.low)
                assert result == pytest.approx(expected, rel=1e-12), (name, severity, p.name)
                assert isinstance(result, p.kind)
    inverse = interp1d(range(6), [0, 1 / 60, 1 / 25, 1 / 12, 1 / 5, 1 / 3])
    for severity in between:
        assert TABLE.row("shot_noise", severity).parameters["photons"] == pytest.approx(
            1 / inverse(severity), rel=1e-12
        )
    assert TABLE.row("gaussian_noise", 1.25).parameters == {"sigma": 0.09}, "exact decimals"
    assert TABLE.row("jpeg_compression", 3.5).parameters == {"quality": 12}, "half to even, as Python and numpy round"
    for name, severity, expected in (("gaussian_noise", 6, {"sigma": 0.5}), ("contrast", 9, {"factor": 0.0})):
        above = row_between(get_corruption(name), TABLE.rows[name], Fraction(severity), "imagenet")
        assert above.parameters == expected, "the path goes on above the last row, down to the least value"


@pytest.mark.parametrize("calibration", SHIPPED)
def test_every_calibration_row_except_first_has_neighbours(calibration):
    table = shipped(calibration)
    for name in table.rows:
        for severity in (1.5, 2.25, 3.75, 4.99) if len(table.rows[name]) == 5 else ():
            assert set(table.row(name, severity).parameters) == set(table.row(name, 1).parameters)
        if name in ZERO:
            assert resolve_stage(name, table, severity=0.25).name == f"{name}-0p25"
        elif get_corruption(name).family != "adversarial":
            with pytest.raises(ParameterError, match=f"{name}: severity 0.5 is between 0 and 1, but calibration"):
                table.row(name, 0.5)


# --- a user's own tables, and mistakes ------------------------------------------------------------------------------

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


def test_custom_table_file_is_accepted(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(OWN)
    table = get_calibration(path)
    assert (table.name, table.side, table.row("fog", 1).source) == ("mine", 100, "measured by me")
    image = synthetic_image(64, 64)
    out = corruptset.corrupt(image, "contrast", severity=1, calibration=str(path))
    np.testing.assert_array_equal(out, corruptset.corrupt(image, "contrast", factor=0.9))
    for name, message in (
        ("fog", "severity is 2; expected 0 or 1, its only severity in calibration"),
        ("snow", "no rows in calibration 'mine'"),
    ):
        with pytest.raises(ParameterError, match=message):
            corruptset.corrupt(image, name, severity=2, calibration=path)
    with pytest.raises(ParameterError, match="Did you mean 'inception'"):
        get_calibration("incepton")
    for content in (b"\xff\xfe", b"name = ", None):
        path.write_bytes(content) if content is not None else path.unlink()
        with pytest.raises(RecipeError, match=r"mine\.toml"):
            get_calibration(path)


def test_all_errors_are_reported_together():
    text = (
        OWN.replace('name = "mine"', "name = 3")
        .replace("side = 100", "side = 4")
        .replace("wibble_decay = 2.5", "wiggle_decay = 2.5")
        .replace("factor = 0.9", 'factor = "much"')
        + "[[fgo]]\nseverity = 1\n[[contrast]]\nseverity = 9\n"
        + "[[contrast]]\nseverity = 1\nfactor = 0.2\nsource = 'you'\n"
    )
    with pytest.raises(RecipeError) as exc_info:
        parse_table(text, "mine.toml")
    for part in (
        "mine.toml contains 9 errors",
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
        assert part in str(exc_info.value)


WRONG = ["[]", "{}", "[[]]", "[{}]", "{a = 1}", "true", "1.5", "nan", "2020-01-01", '["me"]', '""', f'"{"x" * 5000}"']


@pytest.mark.parametrize("key", ["name", "side", "sources", "fog", "severity", "weight", "source"])
def test_wrong_value_types_in_table_file_are_reported_with_position(tmp_path, key):
    path = tmp_path / "mine.toml"
    path.write_text(OWN)
    plain = tomllib.loads(OWN)
    for wrong in WRONG:
        value = tomllib.loads(f"value = {wrong}")["value"]
        table = {k: [dict(row) for row in v] if isinstance(v, list) else v for k, v in plain.items()}
        inside = table if key in table else table["fog"][0]
        if key in ("sources", "name") and type(value) is type(inside.get(key)) and len(value) != 0:
            continue
        if key == "weight" and value == 1.5:
            continue
        inside[key] = value
        path.write_text(toml(table))
        with pytest.raises(RecipeError) as exc_info:
            corruptset.corrupt(synthetic_image(64, 64), "fog", severity=1, calibration=path)
        place = {"fog": "[[fog]]", "sources": "sources"}.get(key, f"{key} is" if inside is table else "[[fog]] row 1: ")
        assert ("mine.toml contains" in str(exc_info.value), place in str(exc_info.value)) == (True, True), (
            wrong,
            exc_info.value,
        )
        assert len(str(exc_info.value)) < 1000


def toml(value):
    """Return a table as TOML, with nested tables on one line."""
    return "".join(f"{key} = {toml_value(part)}\n" for key, part in value.items())


def toml_value(value):
    """Return a value as TOML on one line."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key} = {toml_value(part)}" for key, part in value.items()) + "}"
    if isinstance(value, list):
        return f"[{', '.join(map(toml_value, value))}]"
    return str(value) if isinstance(value, datetime.date) else json.dumps(value).replace("NaN", "nan")
