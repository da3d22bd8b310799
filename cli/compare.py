"""`corruptset compare` and `corruptset report`: models side by side, as tables, plots and a page."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from .command import runs
from .options import argument, option
from .output import put, put_notes
from .records import put_facts
from .score import put_cells

if TYPE_CHECKING:
    from ..scores.compare import Comparison

SHOWN = ("summary", "degradation", "correlations", "fragile")
"""The tables that are printed; all are written."""


def _compared(done: Comparison) -> dict[str, Any]:
    return {"ok": True, **done.as_json()}


def _put_comparison(done: Comparison) -> None:
    for table in done.tables:
        if table.name in SHOWN:
            put_cells(table)
    if paired := [d.exceeds for d in done.differences if d.exceeds is not None]:
        put(f"{sum(paired)} of {len(paired)} differences between models exceed their intervals of 95 %.")
    put_notes(done.notes)
    put_facts({"Files": "".join(f"\n  {file}" for file in done.files)})


@runs(json=_compared, put=_put_comparison, watched=False)
def compare(
    scores: list[Path] = argument(
        "SCORES",
        "Scores files, one a model, or the folders that `corruptset score --out` wrote; or a paper's table (.csv: "
        "model, cv, mean, clean).",
    ),
    out: Path | None = option("--out -o FOLDER", "Receives comparison.md, tables/ and plots/.", None),
    reference: str | None = option(
        "--reference MODELS|CV,MEAN",
        "What splits the plot of accuracy against its variation in four: models, whose mean it is, or two numbers in "
        "per cent; by default all models.",
        None,
    ),
    any_data: bool = option("--any-data", "Put scores of different data sets side by side.", False),
    plots: bool = option("--plots/--no-plots", "Draw plots.", True),
) -> None:
    """Put models side by side: the papers' tables, differences with intervals, and plots."""


@runs()
def report(
    directory: Path = argument("DIR", "The data set that the scores are of: pictures come from it."),
    scores: list[Path] = argument(
        "SCORES", "Scores files, one a model, or the folders that `corruptset score --out` wrote."
    ),
    out: Path = option("--out -o FILE", "The HTML file, which is replaced where it is there.", Path("report.html")),
    predictions: list[str] = option(
        "--predictions [NAME=]PATH",
        "What a model predicted, by which the page shows the images that flip; once for each model. NAME is the "
        "model's, where the predictions do not say it.",
        [],
    ),
    sample: str | None = option("--sample ID", "The sample that stands under every degradation.", None),
) -> None:
    """Write a page of results: models side by side, with figures, tables and pictures.

    It is one HTML file that fetches nothing.
    """
