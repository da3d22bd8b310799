"""`corruptset calibrate`: the table is taken by other commands, and so are the two that come with the package."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import corruptset
from corruptset.corruptions.calibrations import get_calibration
from pictures import photograph

NINETEEN = (
    "gaussian_noise shot_noise impulse_noise defocus_blur glass_blur motion_blur zoom_blur snow frost fog brightness "
    "contrast "
    "elastic_transform pixelate jpeg_compression speckle_noise gaussian_blur spatter saturate"
).split()


def test_a_table_for_another_size(run: Any) -> None:
    asked = ("calibrate", "contrast", "--from", "cifar", "--to", "48", "--metric", "ssim", "--samples", "1")
    done = run(*asked, "--json")
    assert done.code == 0
    assert done.json["table"] == "cifar-48.toml"
    assert done.json["distances"]["contrast"]["calibrated"] < done.json["distances"]["contrast"]["none"]
    used = run("corrupt", "sample:astronaut", "contrast-2.5", "--calibration", "cifar-48.toml", "--out", "a.png")
    assert used.code == 0
    assert run(*asked).code == 2
    assert "cifar-48.toml: 1 corruptions" in run(*asked, "--force").out


@pytest.mark.parametrize("side", [512, 96])
def test_the_tables_that_come_with_the_package(run: Any, side: int) -> None:
    table = get_calibration(f"imagenet-{side}")
    assert table.side == side
    assert sorted(table.rows) == sorted(NINETEEN)
    image = photograph("astronaut", side) if side < 224 else np.tile(photograph("astronaut"), (3, 3, 1))[:side, :side]
    before = corruptset.corrupt(image, "contrast", severity=3, calibration="imagenet", key="a")
    assert not np.array_equal(
        corruptset.corrupt(image, "contrast", severity=3, calibration=f"imagenet-{side}", key="a"), before
    )
    done = run("corrupt", "sample:astronaut", "contrast-3", "--calibration", f"imagenet-{side}", "--out", "a.png")
    assert done.code == 0
    assert f"imagenet-{side}" in run("list", "calibrations").out
