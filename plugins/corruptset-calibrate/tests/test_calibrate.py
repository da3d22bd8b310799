"""Test that a calibrated table is a valid table file, has the recorded quality, and is reproducible."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from corruptset_calibrate import Calibrated, calibrate
from corruptset_calibrate.calibration import FARTHEST, GRAIN, Search
from PIL import Image

import corruptset
from corruptset.corruptions.calibrations import get_calibration
from corruptset.errors import BuildError, ParameterError
from corruptset.generate.sources.source import open_source
from example_images import photograph

NAMES = ["gaussian_noise", "contrast", "jpeg_compression"]
NINETEEN = (
    "gaussian_noise shot_noise impulse_noise defocus_blur glass_blur motion_blur zoom_blur snow frost fog brightness "
    "contrast elastic_transform pixelate jpeg_compression speckle_noise gaussian_blur spatter saturate"
).split()
OPTIONS: dict[str, Any] = {"to": 64, "reference": "cifar", "metric": "ssim", "samples": 2}


def decreasing_quality(place: Fraction) -> float:
    return 1 / (1 + float(place) / 3)


def peaked_quality(place: Fraction) -> float:
    return 1 - abs(float(place) - 2) / 4 if place > 1 else 1 - float(place) / 4


def test_search_finds_nearest_grain_and_measures_each_position_once() -> None:
    grains = [Fraction(k, GRAIN) for k in range(1, FARTHEST * GRAIN + 1)]
    for target in (0.99, 0.8, 0.55, 0.31, 0.25):
        requests: list[Fraction] = []
        search = Search(lambda place, asked=requests: asked.append(place) or decreasing_quality(place))  # type: ignore[misc]
        place, reached = search.find(target, 3)
        assert reached
        assert place == min(grains, key=lambda grain, target=target: abs(decreasing_quality(grain) - target))  # type: ignore[misc]
        assert len(requests) == len(set(requests)) < 20
    assert Search(decreasing_quality).find(0.1, 5) == (Fraction(FARTHEST), False)
    assert Search(lambda place: 0.9).find(0.95, 2)[1], "between the clean image and the first severity"
    # of several places the one near to the severity
    for start, expected in ((1, Fraction(5, 4)), (2, Fraction(11, 4)), (3, Fraction(11, 4))):
        assert Search(peaked_quality).find(0.8125, start) == (expected, True)


@pytest.fixture(scope="module")
def calibrated_table(tmp_path_factory: pytest.TempPathFactory) -> Calibrated:
    """Calibrate the table of CIFAR for 64 pixels on two photographs."""
    return calibrate(NAMES, out=tmp_path_factory.mktemp("table") / "own.toml", **OPTIONS)


def quality(side: int, name: str, calibration: str | Path, severity: int) -> float:
    """Return the SSIM of two photographs that the public function corrupts, computed by scikit-image."""
    from skimage.metrics import structural_similarity

    source, values = open_source("sample"), []
    for sample in (source.samples[0], source.samples[4]):
        pil_image = Image.fromarray(source.load(sample).image).resize((side, side), Image.Resampling.BILINEAR)
        image, options = np.asarray(pil_image), {"coupling": "severity", "key": sample.id}
        out = corruptset.corrupt(image, name, severity=severity, calibration=calibration, **options)
        values.append(structural_similarity(image, out, channel_axis=2, data_range=255))
    return float(np.mean(values))


def test_table_rows_reach_target_quality_more_closely_than_reference(calibrated_table: Calibrated) -> None:
    table = get_calibration(calibrated_table.table)
    assert (table.name, table.side) == ("cifar-64", 64)
    for name in NAMES:
        for level in calibrated_table.levels[name]:
            row = table.row(name, level.severity)
            assert dict(row.parameters) == dict(level.parameters)
            assert level.target == pytest.approx(quality(32, name, "cifar", level.severity), abs=1e-9)
            assert level.quality == pytest.approx(quality(64, name, calibrated_table.table, level.severity), abs=1e-9)
            assert level.unscaled == pytest.approx(quality(64, name, "cifar", level.severity), abs=1e-9)
            assert level.reached
            assert f"{level.quality:.4f}, where cifar at 32 pixels has {level.target:.4f}" in row.source
    for name in ("gaussian_noise", "contrast"):
        off = calibrated_table.distances(name)
        assert off["calibrated"] < min(0.006, off["none"] / 3)
        places = [level.place for level in calibrated_table.levels[name]]
        assert places == sorted(places)


@pytest.mark.parametrize("jobs", [1, pytest.param(2, marks=pytest.mark.ci)])
def test_table_is_independent_of_order_and_number_of_jobs(
    calibrated_table: Calibrated, jobs: int, tmp_path: Path
) -> None:
    repeated = calibrate(NAMES[::-1], out=tmp_path / "own.toml", jobs=jobs, **OPTIONS)
    assert {name: repeated.levels[name] for name in NAMES} == dict(calibrated_table.levels)
    with pytest.raises(BuildError, match=r"own\.toml"):
        calibrate(NAMES, out=tmp_path / "own.toml", **OPTIONS)


def test_calibrate_rejects_invalid_requests(tmp_path: Path) -> None:
    cases: list[tuple[list[str], dict[str, Any], str]] = [
        (["contrast"], {"to": 96}, "from 224 to 96 pixels, because ms-ssim needs sides of 176 to 8192 pixels. Use the"),
        (["contrast"], {"to": 4, "metric": "ssim"}, "ssim needs sides of 8"),
        (["contrast"], {"metric": "psnr"}, "The metric 'psnr' does not exist"),
        (["contrast", "contrast"], {}, "each only once"),
        ([], {}, "Name at least one corruption"),
        (["rotate"], {}, "no row for severity 0"),
        (["pgd"], {}, "gradients of a model"),
        (["black_lines"], {}, "has levels"),
    ]
    for names, options, message in cases:
        with pytest.raises(ParameterError, match=message):
            calibrate(names, out=tmp_path / "a.toml", **{"to": 512} | options)
    assert not list(tmp_path.iterdir())


def test_other_commands_accept_calibrated_table(run: Any) -> None:
    command = "calibrate contrast --from cifar --to 48 --metric ssim --samples 1".split()
    result = run(*command, "--json")
    assert (result.code, result.json["table"]) == (0, "cifar-48.toml")
    assert result.json["distances"]["contrast"]["calibrated"] < result.json["distances"]["contrast"]["none"]
    used = "corrupt sample:astronaut contrast-2.5 --calibration cifar-48.toml --out a.png"
    assert run(*used.split()).code == 0
    assert run(*command).code == 2
    assert "cifar-48.toml: 1 corruptions" in run(*command, "--force").out


def test_package_includes_two_tables(run: Any) -> None:
    output = run("list", "calibrations").out
    for side in (512, 96):
        table = get_calibration(f"imagenet-{side}")
        assert (table.side, sorted(table.rows)) == (side, sorted(NINETEEN))
        assert f"imagenet-{side}" in output
        image = np.tile(photograph("astronaut"), (3, 3, 1))[:side, :side]
        tables = ("imagenet", f"imagenet-{side}")
        outs = [corruptset.corrupt(image, "contrast", severity=3, calibration=name, key="a") for name in tables]
        assert not np.array_equal(*outs)
