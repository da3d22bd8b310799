"""A calibrated table: a table file like any other, whose rows have the quality that it says, the same again."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from corruptset_calibrate import Calibrated, calibrate
from PIL import Image

import corruptset
from corruptset.corruptions.calibrations import get_calibration
from corruptset.errors import BuildError, ParameterError
from corruptset.generate.sources.source import open_source

NAMES = ["gaussian_noise", "contrast", "jpeg_compression"]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Calibrated:
    """From CIFAR's table to 64 pixels, on two photographs."""
    out = tmp_path_factory.mktemp("table") / "own.toml"
    return calibrate(NAMES, to=64, reference="cifar", metric="ssim", samples=2, out=out)


def squares(side: int) -> list[tuple[str, np.ndarray]]:
    source = open_source("sample")
    chosen = [source.samples[0], source.samples[4]]
    images = []
    for sample in chosen:
        picture = Image.fromarray(source.load(sample).image)
        least = min(picture.size)
        assert picture.size == (least, least)
        images.append((sample.id, np.asarray(picture.resize((side, side), Image.Resampling.BILINEAR))))
    return images


def quality(side: int, name: str, calibration: str | Path, severity: int, **options: str) -> float:
    """SSIM by scikit-image, of images corrupted by the public call."""
    from skimage.metrics import structural_similarity

    values = []
    for key, image in squares(side):
        out = corruptset.corrupt(
            image, name, severity=severity, calibration=calibration, coupling="severity", key=key, **options
        )
        values.append(structural_similarity(image, out, channel_axis=2, data_range=255))
    return float(np.mean(values))


def test_rows_have_the_quality_that_they_say(made: Calibrated) -> None:
    table = get_calibration(made.table)
    assert (table.name, table.side) == ("cifar-64", 64)
    for name in NAMES:
        for level in made.levels[name]:
            assert dict(table.row(name, level.severity).parameters) == dict(level.parameters)
            assert level.target == pytest.approx(quality(32, name, "cifar", level.severity), abs=1e-9)
            assert level.quality == pytest.approx(quality(64, name, made.table, level.severity), abs=1e-9)
            assert level.unscaled == pytest.approx(quality(64, name, "cifar", level.severity), abs=1e-9)
            assert level.reached
            assert (
                f"{level.quality:.4f}, where cifar at 32 pixels has {level.target:.4f}"
                in table.row(name, level.severity).source
            )


def test_it_is_nearer_than_the_reference_itself(made: Calibrated) -> None:
    for name in ("gaussian_noise", "contrast"):
        off = made.distances(name)
        assert off["calibrated"] < 0.006
        assert off["calibrated"] < off["none"] / 3
        places = [level.place for level in made.levels[name]]
        assert places == sorted(places)


def test_the_same_again_in_another_order(made: Calibrated, tmp_path: Path) -> None:
    again = calibrate(NAMES[::-1], to=64, reference="cifar", metric="ssim", samples=2, out=tmp_path / "own.toml")
    assert {name: again.levels[name] for name in NAMES} == dict(made.levels)
    with pytest.raises(BuildError, match=r"own\.toml"):
        calibrate(NAMES, to=64, reference="cifar", metric="ssim", samples=2, out=tmp_path / "own.toml")


@pytest.mark.ci
def test_the_same_with_two_jobs(made: Calibrated, tmp_path: Path) -> None:
    again = calibrate(NAMES, to=64, reference="cifar", metric="ssim", samples=2, out=tmp_path / "own.toml", jobs=2)
    assert again.table.read_bytes() == made.table.read_bytes()


@pytest.mark.parametrize(
    ("names", "options", "says"),
    [
        (["contrast"], {"to": 96}, "From 224 to 96 pixels: ms-ssim needs sides of 176 to 8192 pixels. Use metric ssim"),
        (["contrast"], {"to": 4, "metric": "ssim"}, "ssim needs sides of 8"),
        (["contrast"], {"to": 512, "metric": "psnr"}, "metric is 'psnr'"),
        (["contrast", "contrast"], {"to": 512}, "each once"),
        ([], {"to": 512}, "expected some corruptions"),
        (["rotate"], {"to": 512}, "no row for severity 0"),
        (["pgd"], {"to": 512}, "gradient of a model"),
        (["black_lines"], {"to": 512}, "has levels"),
    ],
)
def test_what_cannot_be_calibrated_is_refused(names, options, says, tmp_path) -> None:
    with pytest.raises(ParameterError, match=says):
        calibrate(names, out=tmp_path / "a.toml", **options)
    assert not list(tmp_path.iterdir())
