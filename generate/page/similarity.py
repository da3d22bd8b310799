"""The similarity of a dataset's sets to the clean images: metrics, charts, and the targets of ImageNet-C."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from ...manifests.records.models import TARGET_MS_SSIM, Manifest, SetRecord
from ...pages.charts import Chart, Mark, metric_chart
from ..pixels.matrix import Block, severity_or_level
from ..pixels.ms_ssim import MIN_SIDE


class Metric(NamedTuple):
    """A metric: its field in the manifest, its name, its unit, and the number of decimals to show."""

    field: str
    name: str
    unit: str
    decimals: int

    @property
    def title(self) -> str:
        """The name, with the unit in parentheses."""
        return f"{self.name} ({self.unit})" if self.unit else self.name

    def value(self, record: SetRecord, *, spread: bool = False) -> float | None:
        """Return the mean of the metric over the images of a set, or its standard deviation if `spread` is True.

        The result is None if the metric was not measured.
        """
        metrics = record.metrics.spread if spread and record.metrics is not None else record.metrics
        value: float | None = None if metrics is None else getattr(metrics, self.field)
        return 100 * value if value is not None and self.field == "changed" else value

    def format(self, value: float | None) -> str:
        """Return a value as text, or a dash for None."""
        return MISSING if value is None else f"{value:.{self.decimals}f}"

    def cell(self, record: SetRecord) -> str:
        """Return the mean and the standard deviation for a set as text."""
        value, spread = self.value(record), self.value(record, spread=True)
        return self.format(value) + ("" if spread is None or value is None else f" ± {self.format(spread)}")


MISSING = "–"
MS_SSIM = Metric("ms_ssim", "MS-SSIM", "", 3)
METRICS = (
    Metric("psnr", "PSNR", "dB", 2),
    Metric("ssim", "SSIM", "", 3),
    MS_SSIM,
    Metric("changed", "changed pixels", "%", 1),
)
_MIN_RISE = 0.005
_MAX_RISES = 3
"""The largest number of rises that `rises_sentence` lists."""


def max_psnr(records: Iterable[SetRecord]) -> float:
    """Return the upper end of the PSNR axis, which all PSNR charts share.

    It is the largest sum of a set's mean and standard deviation, or 1 if PSNR was not measured.
    """
    psnr = METRICS[0]
    values = [(psnr.value(record), psnr.value(record, spread=True) or 0.0) for record in records]
    return max((value + spread for value, spread in values if value is not None), default=0.0) or 1.0


def metric_charts(block: Block, records: Mapping[str, SetRecord], psnr: float) -> list[Chart]:
    """Return one chart per measured metric, plotted against the severities or levels of a corruption.

    `psnr` is the upper end of the PSNR axis.
    """
    x, sets = list(map(severity_or_level, block.sets)), [records[name] for name in block.sets]
    x_name = "severity" if block.kind == "severities" else "level"
    upper_ends = {"psnr": psnr, "changed": 100.0}
    charts = []
    for metric in METRICS:
        values, spread = ([metric.value(record, spread=is_spread) for record in sets] for is_spread in (False, True))
        if len(x) < 2 or all(value is None for value in values):
            continue
        aims = TARGET_MS_SSIM if metric is MS_SSIM and block.kind == "severities" else {}
        marks = [Mark(aim, f"aim at {severity}") for severity, aim in aims.items()]
        y_range = 0.0, upper_ends.get(metric.field, 1.0)
        charts.append(metric_chart(metric.title, x_name, x, values, spread, y_range, marks))
    return charts


def rises_sentence(chart: Chart) -> str:
    """Return a sentence about the severities or levels at which a similarity rises, or an empty string."""
    points = [point for line in chart.lines for point in line.points]
    rises = [f"{a.x:g} to {b.x:g}" for a, b in pairwise(points) if b.y > a.y + _MIN_RISE]
    more = f" and {len(rises) - _MAX_RISES} more" if len(rises) > _MAX_RISES else ""
    return f"{chart.title} rises from {chart.x_name} {', '.join(rises[:_MAX_RISES])}{more}." if rises else ""


def elastic_note(records: Iterable[SetRecord]) -> str:
    """Return a sentence about the severities of elastic_transform, or an empty string.

    In all published tables, low severities are stronger than high ones. A table is recognised by its value of `affine`
    at severity 1, which is the distance by which corners move. For other values, the string is empty.
    """
    stages = [stage for record in records for stage in record.stages if stage.corruption == "elastic_transform"]
    distance = next((stage.parameters.get("affine") for stage in stages if stage.severity == 1), None)
    if distance in (24.4, 36.0):  # the tables imagenet and inception
        return "Severities 1 and 2 are stronger than 3 to 5. This follows the published table."
    if distance in (5.12, 2.56):  # the tables tiny and cifar
        return "Severities 1 to 3 are stronger than 4 and 5. This follows the published table."
    return ""


def aimed_rows(blocks: Sequence[Block], records: Mapping[str, SetRecord]) -> list[list[str]]:
    """Return table rows with the MS-SSIM of each corruption at severities 1 to 5, and its deviation from the targets.

    The targets are the MS-SSIM values that the authors of ImageNet-C aimed for.
    """
    rows = []
    for block in blocks:
        values = {
            severity_or_level(name): MS_SSIM.value(records[name]) for name in block.sets if block.kind == "severities"
        }
        if any(value is not None for value in values.values()):
            offsets = [
                MISSING if (v := values.get(s)) is None else f"{v - aim:+.3f}" for s, aim in TARGET_MS_SSIM.items()
            ]
            rows.append([block.name, *(MS_SSIM.format(values.get(s)) for s in range(1, 6)), *offsets])
    return rows


def measurement_notes(manifest: Manifest) -> list[str]:
    """Return sentences that explain how the metrics were measured, and why some are missing."""
    metrics = [s.metrics for s in manifest.sets if s.metrics is not None and s.stages]
    if not metrics:
        return ["No metrics were measured (--metrics 0)."]
    counts = sorted({m.images for m in metrics})
    multiscale = sorted({m.ms_ssim_images for m in metrics if m.ms_ssim is not None})
    return [
        f"The values are means over the first {' or '.join(map(str, counts))} images by id, after they were corrupted "
        "and before they were encoded. The standard deviation over these images follows after ±. There is no PSNR for "
        "a set in which an image did not change or changed its size.",
        f"MS-SSIM was measured on the first {' or '.join(map(str, multiscale))} of them."
        if multiscale
        else f"MS-SSIM needs images whose sides have at least {MIN_SIDE} pixels and that keep their size.",
    ]
