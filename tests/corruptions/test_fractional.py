"""Fractional severities: interpolated as scipy does it between the released rows, in chains, ids and calls; whole
numbers as ever.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy.interpolate import interp1d

import corruptset
from corruptset.corruptions.calibrations import get_calibration
from corruptset.corruptions.call import resolve
from corruptset.corruptions.registry import get_corruption
from corruptset.corruptions.rows import ZERO, row_between
from corruptset.corruptions.stages import parse_chain, resolve_stage, set_id
from corruptset.errors import CorruptsetError, ParameterError, UnknownCorruption
from corruptset.generate.sources.source import open_source
from pictures import painted

TABLE = get_calibration("imagenet")
QUARTERS = [n / 4 for n in range(1, 20) if n % 4]
RELEASED_ZERO = {
    "gaussian_noise": (0,), "impulse_noise": (0,), "glass_blur": (0, 0, 0), "defocus_blur": (0, 0), "motion_blur": (0,
    0),
    "zoom_blur": (1, 0.01), "fog": (0, 2), "frost": (1, 0, 1), "snow": (0.1, 0.3, 3, 1.0, 10, 4, 1.0),
    "contrast": (1,), "brightness": (0,),
    "jpeg_compression": (85,), "pixelate": (1,), "elastic_transform": (0, 999, 0),
}  # fmt: skip
"""The rows for severity 0 of the released generator, in the order of our columns."""


@pytest.mark.parametrize("name", RELEASED_ZERO)
def test_rows_are_those_of_linear_interpolation(name):
    """Against scipy's interp1d, which the released generator uses, over the six rows."""
    columns = get_corruption(name).columns
    rows = [RELEASED_ZERO[name], *([TABLE.row(name, s).parameters[p.name] for p in columns] for s in range(1, 6))]
    line = interp1d(range(6), np.array(rows, float), axis=0)
    for severity in [*QUARTERS, 0.01, 3.33, 4.99]:
        for p, value in zip(columns, line(severity), strict=True):
            got = TABLE.row(name, severity).parameters[p.name]
            wanted = max(value, p.low)
            if p.kind is int:
                assert got == max(round(round(float(value), 9)), p.low), (severity, p.name)
                assert isinstance(got, int)
            else:
                assert got == pytest.approx(wanted, rel=1e-12), (severity, p.name)


def test_photons_are_interpolated_by_their_inverse():
    inverse = interp1d(range(6), [0, 1 / 60, 1 / 25, 1 / 12, 1 / 5, 1 / 3])
    for severity in QUARTERS:
        assert TABLE.row("shot_noise", severity).parameters["photons"] == pytest.approx(
            1 / inverse(severity), rel=1e-12
        )
    assert TABLE.row("shot_noise", 0.25).parameters["photons"] == 240.0


def test_values_are_exact_decimals():
    assert TABLE.row("gaussian_noise", 1.25).parameters == {"sigma": 0.09}
    assert TABLE.row("jpeg_compression", 3.5).parameters == {"quality": 12}, "half to even, as Python and numpy round"
    assert TABLE.row("glass_blur", 3.5).parameters == {"sigma": 1.05, "max_delta": 2, "iterations": 2}
    assert TABLE.row("glass_blur", 0.25).parameters == {"sigma": 0.175, "max_delta": 1, "iterations": 0}


@pytest.mark.parametrize("calibration", ["imagenet", "inception", "tiny", "cifar", "mnist"])
def test_every_row_but_the_first_of_every_calibration_has_neighbours(calibration):
    table = get_calibration(calibration)
    for name in table.rows:
        for severity in (1.5, 2.25, 3.75, 4.99) if len(table.rows[name]) == 5 else ():
            assert set(table.row(name, severity).parameters) == set(table.row(name, 1).parameters)
        if name in ZERO:
            assert resolve_stage(name, table, severity=0.25).name == f"{name}-0p25"
        elif get_corruption(name).family != "adversarial":
            with pytest.raises(
                ParameterError, match=f"{name}: severity 0.5 lies between 0 and 1, and there is no row for severity 0"
            ):
                table.row(name, 0.5)


def test_the_path_goes_on_above_the_last_row():
    row = row_between(get_corruption("gaussian_noise"), TABLE.rows["gaussian_noise"], Fraction(6), "imagenet")
    assert row.parameters == {"sigma": 0.5}
    far = row_between(get_corruption("contrast"), TABLE.rows["contrast"], Fraction(9), "imagenet")
    assert far.parameters == {"factor": 0.0}, "what is below the least value is the least value"


def test_ids_in_all_spellings_are_one_stage():
    for written in ("fog/2.25", "fog/2p25", "fog-2.25", "fog-2p25"):
        assert set_id(parse_chain(written, TABLE)) == "fog/2p25"
    assert set_id(parse_chain("fog-2.50+gaussian_noise-5", TABLE)) == "fog-2p5+gaussian_noise-5"
    assert parse_chain("fog-2.0", TABLE) == parse_chain("fog-2", TABLE)
    (stage,) = parse_chain("fog-2p25", TABLE)
    assert (stage.severity, stage.as_json()["severity"]) == (2.25, 2.25)
    assert repr(parse_chain("fog/2.0", TABLE)[0].severity) == "2"


def test_severity_0_is_absent():
    assert set_id(parse_chain("fog-0+snow-2", TABLE)) == set_id(parse_chain("snow-2+fog-0.00", TABLE)) == "snow/2"
    assert parse_chain("fog-0", TABLE) == ()
    image = painted(32, 32)
    for call in (
        ("fog-0", {}),
        ("fog", {"severity": 0}),
        ([("fog", 0)], {}),
        ([{"corruption": "fog", "severity": 0.0}], {}),
    ):
        np.testing.assert_array_equal(corruptset.corrupt(image, call[0], **call[1]), image)
    for call in (("fade_black/00", {}), ("fade_black", {"level": 0}), ([("fade_black", 0)], {})):
        np.testing.assert_array_equal(corruptset.corrupt(image, call[0], **call[1]), image)
    for given in ({"level": 0}, {"severity": 0, "level": 1}):
        with pytest.raises(ParameterError):
            corruptset.corrupt(image, "fog", **given)
    with pytest.raises(UnknownCorruption):
        parse_chain("fogg-0", TABLE)


def test_calls_in_all_forms_give_the_same_bytes():
    image = painted(48, 64)
    options = {"calibration": "imagenet", "key": "a"}
    want = corruptset.corrupt(image, "fog", weight=2.125, wibble_decay=1.925, **options)
    for name, more in (("fog", {"severity": 2.25}), ("fog-2.25", {}), ("fog/2p25", {}), ([("fog", 2.25)], {})):
        np.testing.assert_array_equal(corruptset.corrupt(image, name, **more, **options), want)
    np.testing.assert_array_equal(
        corruptset.Corrupt("fog", severity=np.float32(2.25), calibration="imagenet")(image, key="a"), want
    )
    assert corruptset.RandomCorrupt("fog", severities=[0.25, 2.25], p=1)(image, key="a").shape == image.shape


def test_severities_share_their_draws_where_they_are_coupled():
    keys = {
        coupling: [
            resolve("fog", (224, 224, 3), severity=s, level=None, calibration=None, ladder="evaluated", scale="none",
            coupling=coupling,
                    seed=0, parameters={}).links[0][1]
            for s in (2, 2.25)
        ]
        for coupling in ("severity", "independent")
    }  # fmt: skip
    assert keys["severity"][0] == keys["severity"][1]
    assert keys["independent"][0] != keys["independent"][1]


@pytest.mark.parametrize(
    ("name", "severity"),
    [("fog", 2.125), ("fog", 5.25), ("fog", -0.25), ("fog", float("nan")), ("fog", float("inf")), ("fog", "2.25")],
)
def test_other_severities_are_refused(name, severity):
    with pytest.raises(
        ParameterError, match="expected a whole number from 1 to 5, or one between with at most two decimals"
    ):
        corruptset.corrupt(painted(32, 32), name, severity=severity)


@pytest.mark.parametrize("text", ["fog-2.125", "fog-.5", "fog-2.", "fog-2pp5", "fog-2,5", "black_lines-2.5"])
def test_other_ids_are_refused(text):
    with pytest.raises(CorruptsetError):
        parse_chain(text, TABLE)


MONOTONE = (
    "gaussian_noise",
    "shot_noise",
    "impulse_noise",
    "defocus_blur",
    "brightness",
    "contrast",
    "jpeg_compression",
    "pixelate",
)
"""Corruptions whose mean PSNR falls from row to row. (That of fog does not: rows 3 and 4 have one weight.)"""


def _quality(name: str, severity: float) -> float:
    source = open_source("sample")
    images = [np.ascontiguousarray(source.load(s).image[100:228, 100:228]) for s in source.samples[:4]]
    made = [
        corruptset.corrupt(i, name, severity=severity, calibration="imagenet", coupling="severity", key="a")
        for i in images
    ]
    errors = [np.mean((a.astype(float) - b) ** 2) for a, b in zip(images, made, strict=True)]
    return float(np.mean(10 * np.log10(255**2 / np.array(errors))))


@pytest.mark.ci
@pytest.mark.parametrize("name", MONOTONE)
def test_quality_between_rows_lies_between(name):
    whole = [_quality(name, s) for s in range(1, 6)]
    for below in range(1, 5):
        for part in (0.25, 0.6):
            assert whole[below] - 0.02 <= _quality(name, below + part) <= whole[below - 1] + 0.02, (below, part)
    assert _quality(name, 0.5) > whole[0]
