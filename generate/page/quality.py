"""The quality of sets on a page: metrics, curves, and distance from their aims."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from ...manifests.records.models import AIMED_AT, Manifest, SetRecord
from ...pages.charts import Chart, Mark, metric_chart
from ..pixels.matrix import Block, number_of
from ..pixels.ms_ssim import LEAST_SIDE


class Metric(NamedTuple):
    """A metric of the manifest, and how it is shown."""

    field: str
    name: str
    unit: str
    decimals: int

    def value(self, record: SetRecord, *, spread: bool = False) -> float | None:
        """Return a set's value, or its standard deviation; None where there is none."""
        metrics = record.metrics.spread if spread and record.metrics is not None else record.metrics
        value: float | None = None if metrics is None else getattr(metrics, self.field)
        return 100 * value if value is not None and self.field == "changed" else value

    def shown(self, value: float | None) -> str:
        """Return a value as a table has it."""
        return NONE if value is None else f"{value:.{self.decimals}f}"

    def cell(self, record: SetRecord) -> str:
        """Return it as a table has it: mean and standard deviation."""
        value, spread = self.value(record), self.value(record, spread=True)
        return self.shown(value) + ("" if spread is None or value is None else f" ± {self.shown(spread)}")


NONE = "–"
MS_SSIM = Metric("ms_ssim", "MS-SSIM", "", 3)
METRICS = (
    Metric("psnr", "PSNR", " dB", 2),
    Metric("ssim", "SSIM", "", 3),
    MS_SSIM,
    Metric("changed", "changed pixels", " %", 1),
)
_RISE, _RISES = 0.005, 3
"""Less is not worth a word; and so many are named."""


def most_psnr(records: Iterable[SetRecord]) -> float:
    """Return the greatest PSNR of any set, with its deviation; 1 without any.

    It is the top of an axis that curves share.
    """
    psnr = METRICS[0]
    values = [(psnr.value(record), psnr.value(record, spread=True) or 0.0) for record in records]
    return max((value + spread for value, spread in values if value is not None), default=0.0) or 1.0


def curves_of(block: Block, records: Mapping[str, SetRecord], psnr: float) -> list[Chart]:
    """Return the curves of a corruption's severities or levels.

    There is none of a metric that no set has. PSNR goes up to `psnr`.
    """
    x, sets = list(map(number_of, block.sets)), [records[name] for name in block.sets]
    across = "severity" if block.kind == "severities" else "level"
    tops = {"psnr": psnr, "changed": 100.0}
    curves = []
    for metric in METRICS:
        values, spread = ([metric.value(record, spread=some) for record in sets] for some in (False, True))
        if len(x) < 2 or all(value is None for value in values):
            continue
        aims = AIMED_AT if metric is MS_SSIM and block.kind == "severities" else {}
        marks = [Mark(aim, f"aim at {severity}") for severity, aim in aims.items()]
        title = metric.name + (f" ({metric.unit.strip()})" if metric.unit else "")
        curves.append(metric_chart(title, across, x, values, spread, (0.0, tops.get(metric.field, 1.0)), marks))
    return curves


def rises_of(curve: Chart) -> str:
    """Return where a similarity rises with severity, in a sentence; empty where it only falls."""
    points = [point for line in curve.lines for point in line.points]
    rises = [f"{a.x:g} to {b.x:g}" for a, b in pairwise(points) if b.y > a.y + _RISE]
    more = " and on" if len(rises) > _RISES else ""
    return f"{curve.title} rises from {curve.x_name} {', '.join(rises[:_RISES])}{more}." if rises else ""


def aimed_rows(blocks: Sequence[Block], records: Mapping[str, SetRecord]) -> list[list[str]]:
    """Return each corruption's MS-SSIM at severities 1 to 5, and its distance from the aims."""
    rows = []
    for block in blocks:
        values = {number_of(name): MS_SSIM.value(records[name]) for name in block.sets if block.kind == "severities"}
        if any(value is not None for value in values.values()):
            offsets = [NONE if (v := values.get(s)) is None else f"{v - aim:+.3f}" for s, aim in AIMED_AT.items()]
            rows.append([block.name, *(MS_SSIM.shown(values.get(s)) for s in range(1, 6)), *offsets])
    return rows


def about_metrics(manifest: Manifest) -> list[str]:
    """Return over which images metrics are, and why some are missing."""
    metrics = [s.metrics for s in manifest.sets if s.metrics is not None and s.stages]
    if not metrics:
        return ["Nothing was measured (--metrics 0)."]
    counts = sorted({m.images for m in metrics})
    multiscale = sorted({m.ms_ssim_images for m in metrics if m.ms_ssim is not None})
    return [
        f"Means over the first {' or '.join(map(str, counts))} images by id, as corrupted, before they are encoded; ± "
        "is the standard deviation over these images. There is no PSNR where an image did not change or changed its "
        "size.",
        f"MS-SSIM is over the first {' or '.join(map(str, multiscale))} of them."
        if multiscale
        else f"MS-SSIM needs images of at least {LEAST_SIDE} pixels a side; these have fewer, or change their size.",
    ]
