"""Test the similarity metrics of a page, and its descriptions of corruptions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from corruptset.corruptions.calibrations import get_calibration
from corruptset.corruptions.registry import corruption_names, get_corruption
from corruptset.generate.page.corruption_notes import corruption_notes
from corruptset.generate.page.similarity import (
    METRICS,
    aimed_rows,
    elastic_note,
    max_psnr,
    measurement_notes,
    metric_charts,
    rises_sentence,
)
from corruptset.generate.pixels.matrix import blocks_of
from corruptset.manifests.reader import Dataset
from corruptset.manifests.records.models import Manifest, Metrics, Spread
from corruptset.pages.charts import metric_chart

SPREAD = Spread(psnr=1.0, ssim=0.1, changed=0.5, ms_ssim=0.2)
MULTISCALE: dict[str, Any] = {"ms_ssim": 1.0, "ms_ssim_images": 16, "spread": SPREAD}


def manifest_with(directory: Path, **metrics: Any) -> Manifest:
    """Return the manifest of a build with equal metrics for all sets, except that MS-SSIM falls with severity."""
    manifest = Dataset(directory).manifest
    sets = []
    for s in manifest.sets:
        values = {"images": 64, "psnr": 20.0, "ssim": 0.5, "changed": 0.25, **metrics}
        if "ms_ssim" in values:
            values["ms_ssim"] = 0.95 - 0.1 * (s.stages[0].severity or 0 if s.stages else 0)
        sets.append(s.model_copy(update={"metrics": Metrics(**values) if s.stages else None}))
    return manifest.model_copy(update={"sets": sets})


def test_similarity_has_cells_curves_and_targets(plain_build: Path) -> None:
    records, bare = (
        {s.id: s for s in manifest_with(plain_build, **metrics).sets} for metrics in (MULTISCALE, {"psnr": None})
    )
    blocks = blocks_of(records)
    curves, few = (
        {curve.title: curve for curve in metric_charts(blocks[0], some, max_psnr(some.values()))}
        for some in (records, bare)
    )
    assert [*few] == ["SSIM", "changed pixels (%)"]
    assert [*curves] == ["PSNR (dB)", "SSIM", "MS-SSIM", "changed pixels (%)"]
    assert curves["PSNR (dB)"].y_range == (0.0, 21.0)
    assert [point[1:3] for point in curves["changed pixels (%)"].lines[0].points] == [(25.0, (-25.0, 75.0))] * 5
    assert [[mark.value for mark in curve.marks] for curve in curves.values()] == [[], [], [0.9, 0.5], []]
    cells = [[metric.cell(some["contrast/1"]) for metric in METRICS] for some in (records, bare)]
    assert cells == [["20.00 ± 1.00", "0.500 ± 0.100", "0.850 ± 0.200", "25.0 ± 50.0"], ["–", "0.500", "–", "25.0"]]
    aims = ["0.850", "0.750", "0.650", "0.550", "0.450", "-0.050", "-0.050"]
    assert aimed_rows(blocks, records) == [[name, *aims] for name in ("brightness", "contrast")]
    assert aimed_rows(blocks, bare) == []


def test_rising_curve_and_missing_metrics_are_explained(plain_build: Path, two_orders: Path) -> None:
    for y, words in (
        ([0.9, 0.7, 0.701, None, 0.5], ""),
        ([0.9, 0.7, 0.8, 0.6, 0.65], "MS-SSIM rises from severity 2 to 3, 4 to 5."),
        ([0.1, 0.2, 0.3, 0.4, 0.5], "MS-SSIM rises from severity 1 to 2, 2 to 3, 3 to 4 and 1 more."),
    ):
        assert rises_sentence(metric_chart("MS-SSIM", "severity", [1, 2, 3, 4, 5], y, [None] * 5, (0, 1))) == words
    assert (
        "MS-SSIM was measured on the first 16 of them" in measurement_notes(manifest_with(plain_build, **MULTISCALE))[1]
    )
    small = measurement_notes(manifest_with(plain_build, spread=SPREAD))[1]
    assert "MS-SSIM needs images whose sides have at least 176 pixels" in small
    assert measurement_notes(Dataset(two_orders).manifest) == ["No metrics were measured (--metrics 0)."]


def test_corruption_notes_describe_every_corruption() -> None:
    for name in corruption_names():
        notes = corruption_notes(name)
        assert notes.family == get_corruption(name).family
        assert notes.summary
        assert notes.random_draws
        assert "`" not in notes.summary + "".join(notes.notes)
    assert any("drifts" in note for note in corruption_notes("glass_blur").notes)
    assert corruption_notes("unheard_of").family == "other"


def test_page_names_strong_severities_of_elastic_transform(plain_build: Path) -> None:
    """In the published tables, the severities are not in the order of their strength."""
    record = Dataset(plain_build).manifest.sets[1]
    notes = {}
    for calibration in ("imagenet", "inception", "tiny", "cifar"):
        parameters = dict(get_calibration(calibration).row("elastic_transform", 1).parameters)
        stage = record.stages[0].model_copy(
            update={"corruption": "elastic_transform", "severity": 1, "parameters": parameters}
        )
        notes[calibration] = elastic_note([record.model_copy(update={"stages": [stage]})])
    assert notes["imagenet"] == notes["inception"] != notes["tiny"] == notes["cifar"]
    assert notes["imagenet"].startswith("Severities 1 and 2 are stronger than 3 to 5.")
    assert notes["cifar"].startswith("Severities 1 to 3 are stronger than 4 and 5.")
    assert elastic_note([record]) == ""
