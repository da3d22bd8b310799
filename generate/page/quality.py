"""How far sets are from their clean images: curves, and MS-SSIM held against what ImageNet-D's authors chose severities
by.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from ...manifests.records.models import AIMED_AT, Manifest, SetRecord
from ...pages.curves import Curve, Mark
from ..pixels.blocks import Block
from ..pixels.ms_ssim import LEAST_SIDE

METRICS = (
    ("psnr", "PSNR", " dB", 2),
    ("ssim", "SSIM", "", 3),
    ("ms_ssim", "MS-SSIM", "", 3),
    ("changed", "changed pixels", " %", 1),
)
"""Field, name, unit, decimals."""
_RISE, _RISES = 0.005, 3
"""Less is not worth a word; and so many are named."""
NONE = "–"


def value_of(record: SetRecord, field: str, *, spread: bool = False) -> float | None:
    """Return a metric of a set, or its standard deviation over images, of changed pixels in per cent; None where there
    is none.
    """
    metrics = record.metrics.spread if spread and record.metrics is not None else record.metrics
    value: float | None = None if metrics is None else getattr(metrics, field)
    return 100 * value if value is not None and field == "changed" else value


def shown(value: float | None, decimals: int) -> str:
    """Return a number as a table has it."""
    return NONE if value is None else f"{value:.{decimals}f}"


def cells_of(record: SetRecord, metrics: Sequence[tuple[str, str, str, int]] = METRICS) -> list[str]:
    """Return the metrics of a set as a table has them: mean and standard deviation."""
    cells = []
    for field, _, _, decimals in metrics:
        value, spread = value_of(record, field), value_of(record, field, spread=True)
        cells.append(
            shown(value, decimals) + ("" if spread is None or value is None else f" ± {shown(spread, decimals)}")
        )
    return cells


def most_psnr(blocks: Sequence[Block[SetRecord]]) -> float | None:
    """Return the greatest PSNR of any set, with its deviation: the top of an axis that curves share."""
    values = [(value_of(s, "psnr"), value_of(s, "psnr", spread=True) or 0.0) for block in blocks for s in block.sets]
    return max((value + spread for value, spread in values if value is not None), default=None)


def curves_of(block: Block[SetRecord], most_psnr: float | None = None) -> list[Curve]:
    """Return the curves of a corruption's severities or levels; of a metric that no set has, none. PSNR goes up to
    `most_psnr`.
    """
    x = [block.number(record) or 0 for record in block.sets]
    curves = []
    for field, name, unit, _ in METRICS:
        y = [value_of(record, field) for record in block.sets]
        if len(x) < 2 or all(value is None for value in y):
            continue
        marks = (
            [Mark(aim, f"aim at {s}") for s, aim in AIMED_AT.items()]
            if field == "ms_ssim" and block.kind == "severities"
            else []
        )
        bounds = {"psnr": (0.0, most_psnr), "changed": (0.0, 100.0)}.get(field, (0.0, 1.0))
        number = "severity" if block.kind == "severities" else "level"
        spread = [value_of(s, field, spread=True) for s in block.sets]
        curves.append(Curve(name + (f" ({unit.strip()})" if unit else ""), number, x, y, spread, bounds, marks))
    return curves


def rises_of(curve: Curve) -> str:
    """Return where a similarity rises with severity, in a sentence; empty where it only falls."""
    known = [(x, y) for x, y in zip(curve.x, curve.y, strict=True) if y is not None]
    rises = [f"{x:g} to {after:g}" for (x, y), (after, above) in pairwise(known) if above > y + _RISE]
    more = " and on" if len(rises) > _RISES else ""
    return f"{curve.title} rises from {curve.x_name} {', '.join(rises[:_RISES])}{more}." if rises else ""


def aimed_rows(blocks: Sequence[Block[SetRecord]]) -> list[list[str]]:
    """Return corruption, MS-SSIM at severities 1 to 5, and how far it is from the aims; of corruptions that have it."""
    rows = []
    for block in blocks:
        values = {block.number(s): value_of(s, "ms_ssim") for s in block.sets}
        if block.kind != "severities" or all(value is None for value in values.values()):
            continue
        offsets = [NONE if (v := values.get(s)) is None else f"{v - aim:+.3f}" for s, aim in AIMED_AT.items()]
        rows.append([block.name, *(shown(values.get(s), 3) for s in range(1, 6)), *offsets])
    return rows


def about_metrics(manifest: Manifest) -> list[str]:
    """Return over which images metrics are, and why some are missing."""
    metrics = [s.metrics for s in manifest.sets if s.metrics is not None and s.stages]
    if not metrics:
        return ["Nothing was measured (--metrics 0)."]
    counts = sorted({m.images for m in metrics})
    lines = [
        f"Means over the first {' or '.join(map(str, counts))} images by id, as corrupted, before they are encoded; ± "
        "is the standard "
        "deviation over these images. There is no PSNR where an image did not change or changed its size."
    ]
    multiscale = sorted({m.ms_ssim_images for m in metrics if m.ms_ssim is not None})
    if multiscale:
        lines.append(f"MS-SSIM is over the first {' or '.join(map(str, multiscale))} of them.")
    else:
        lines.append(
            f"MS-SSIM needs images of at least {LEAST_SIDE} pixels a side; these have fewer, or change their size."
        )
    return lines
