"""Quality: means, deviations, what is missing and why."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from corruptset.generate.page.quality import about_metrics, aimed_rows, cells_of, curves_of, most_psnr, rises_of
from corruptset.generate.pixels.blocks import blocks_of
from corruptset.manifests.reader import DataSet
from corruptset.manifests.records.models import Manifest, Metrics, Spread
from corruptset.pages.curves import Curve


def manifest_with(directory: Path, **metrics: Any) -> Manifest:
    """Return a build's manifest with the same metrics for all sets, MS-SSIM falling with severity."""
    manifest = DataSet(directory).manifest
    sets = []
    for s in manifest.sets:
        severity = s.stages[0].severity if s.stages else 0
        values = {"images": 64, "psnr": 20.0, "ssim": 0.5, "changed": 0.25, **metrics}
        if values.get("ms_ssim"):
            values["ms_ssim"] = 0.95 - 0.1 * (severity or 0)
        sets.append(s.model_copy(update={"metrics": Metrics(**values) if s.stages else None}))
    return manifest.model_copy(update={"sets": sets})


def test_aims_are_held_against_ms_ssim(plain: Path) -> None:
    rows = aimed_rows(blocks_of(manifest_with(plain, ms_ssim=1.0, ms_ssim_images=16).sets))
    assert rows == [
        [name, "0.850", "0.750", "0.650", "0.550", "0.450", "-0.050", "-0.050"] for name in ("brightness", "contrast")
    ]
    assert aimed_rows(blocks_of(manifest_with(plain).sets)) == []


def test_curves_of_a_block(plain: Path) -> None:
    spread = Spread(psnr=1.0, ssim=0.1, changed=0.5, ms_ssim=0.2)
    block = blocks_of(manifest_with(plain, ms_ssim=1.0, ms_ssim_images=16, spread=spread).sets)[0]
    curves = {curve.title: curve for curve in curves_of(block)}
    assert list(curves) == ["PSNR (dB)", "SSIM", "MS-SSIM", "changed pixels (%)"]
    assert list(curves["changed pixels (%)"].y) == [25.0] * 5
    assert list(curves["changed pixels (%)"].spread) == [50.0] * 5
    assert [mark.value for mark in curves["MS-SSIM"].marks] == [0.9, 0.5]
    assert [list(curves[name].marks) for name in ("SSIM", "PSNR (dB)")] == [[], []]
    assert most_psnr(blocks_of(manifest_with(plain, spread=spread).sets)) == 21.0
    assert curves_of(block, 21.0)[0].bounds == (0.0, 21.0)
    assert most_psnr(blocks_of(manifest_with(plain, psnr=None).sets)) is None
    assert "MS-SSIM" not in {curve.title for curve in curves_of(blocks_of(manifest_with(plain).sets)[0])}


def test_cells_have_means_and_deviations(plain: Path) -> None:
    spread = Spread(psnr=None, ssim=0.1, changed=0.5)
    record = manifest_with(plain, psnr=None, spread=spread).sets[0]
    assert cells_of(record) == ["–", "0.500 ± 0.100", "–", "25.0 ± 50.0"]


@pytest.mark.parametrize(
    ("y", "words"),
    [
        ([0.9, 0.7, 0.701, None, 0.5], ""),
        ([0.9, 0.7, 0.8, 0.6, 0.65], "MS-SSIM rises from severity 2 to 3, 4 to 5."),
        ([0.1, 0.2, 0.3, 0.4, 0.5], "MS-SSIM rises from severity 1 to 2, 2 to 3, 3 to 4 and on."),
    ],
)
def test_a_curve_that_rises_is_told(y: list[float | None], words: str) -> None:
    assert rises_of(Curve("MS-SSIM", "severity", [1, 2, 3, 4, 5], y, [None] * 5)) == words


@pytest.mark.parametrize(
    ("metrics", "words"),
    [
        (
            {"ms_ssim": 0.9, "ms_ssim_images": 16, "spread": Spread(psnr=1, ssim=1, changed=1)},
            "MS-SSIM is over the first 16 of them",
        ),
        ({"spread": Spread(psnr=1, ssim=1, changed=1)}, "MS-SSIM needs images of at least 176 pixels a side"),
    ],
)
def test_why_ms_ssim_is_missing(plain: Path, metrics: dict[str, Any], words: str) -> None:
    assert words in " ".join(about_metrics(manifest_with(plain, **metrics)))


def test_nothing_measured(two_orders: Path) -> None:
    assert about_metrics(DataSet(two_orders).manifest) == ["Nothing was measured (--metrics 0)."]
