"""`corruptset score-table FILE`: mPC, rPC and RB-index from a table of metrics by set."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from .options import AsJson, argument, option, split_globs
from .output import put, put_json, put_notes, put_table

if TYPE_CHECKING:
    from ..scores.score_table import TableScores


def score_table(
    table: Path = argument(
        "FILE", "A CSV with the column set and one for each metric, or JSON: {set id: {metric: value}}."
    ),
    corruptions: list[str] | None = option(
        "--corruptions LIST",
        "What the means are over; by default the fifteen of ImageNet-C. Repeated, or separated by commas.",
        None,
        callback=split_globs,
    ),
    lower_is_better: list[str] | None = option(
        "--lower-is-better METRICS",
        "Metrics such as errors: their RB-index has the other sign. Repeated, or separated by commas.",
        None,
        callback=split_globs,
    ),
    out: Path | None = option("--out -o FOLDER", "Receives score-table.json and score-table.csv.", None),
    as_json: AsJson = False,
) -> None:
    """Score any metric: mean and relative performance under corruption (mPC, rPC) and robustness index, from its value
    on each set.

    The metrics come from pycocotools, mmdetection or any other evaluation, in any unit. Missing sets are named.
    """
    from ..scores.score_table import score_table as run

    scores = run(table, corruptions=corruptions, lower_is_better=lower_is_better or (), out=out)
    if as_json:
        return put_json(scores.as_json())
    put_table_scores(scores)
    if out is not None:
        put(f"Written: {out}")


def put_table_scores(scores: TableScores) -> None:
    """Print the scores of all metrics, then the means of families and corruptions."""
    rows = [
        [name, *map(_value, (one.clean, one.mpc)), _percent(one.rpc), _value(one.rb_index)]
        for name, one in scores.metrics.items()
    ]
    put_table(["metric", "clean", "mPC", "rPC", "RB-index"], rows, right=["clean", "mPC", "rPC", "RB-index"])
    columns = [title for name in scores.metrics for title in (name, f"{name} / clean")]
    for kind in ("families", "corruptions"):
        of_metric = [getattr(one, kind) for one in scores.metrics.values()]
        cells = [
            [name, *(text for one in of_metric for text in (_value(one[name].mean), _percent(one[name].relative)))]
            for name in of_metric[0]
        ]
        put_table(["family" if kind == "families" else "corruption", *columns], cells, right=columns)
    put_notes(scores.notes)


def _value(value: float | None) -> str:
    return "-" if value is None else f"{value:.4g}"


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{value:.1%}"
