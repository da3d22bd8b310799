"""`corruptset compare` and `corruptset report`: models side by side, as tables and plots, and as a page of results."""

from __future__ import annotations

from pathlib import Path

from ..quantities import size
from .options import AsJson, argument, option
from .output import progress_of, put, put_json, put_notes, put_table

SHOWN = ("summary", "degradation", "correlations", "fragile")
"""The tables that are printed; all are written."""


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
    no_plots: bool = option("--no-plots", "Draw no plots.", False),
    as_json: AsJson = False,
) -> None:
    """Put models side by side: the papers' tables, differences with intervals, and plots."""
    from ..scores.compare import compare as run

    done = run(scores, out, any_data=any_data, plots=not no_plots, reference=reference)
    if as_json:
        return put_json({"ok": True, **done.as_json()})
    for table in done.tables:
        if table.name in SHOWN:
            kept = [i for i, column in enumerate(table.columns) if column.end is None]
            headings = [table.columns[i].heading for i in kept]
            words = [table.columns[i].heading for i in kept if table.columns[i].kind == "text"]
            rows = [[table.columns[i].shown(row[i]) for i in kept] for row in table.rows]
            put_table(headings, rows, right=[heading for heading in headings if heading not in words])
    exceeding = [d for d in done.differences if d.exceeds]
    paired = [d for d in done.differences if d.exceeds is not None]
    if paired:
        put(f"{len(exceeding)} of {len(paired)} differences between models exceed their intervals of 95 %.")
    put_notes(done.notes)
    if out is not None:
        put(f"Directory: {out}")
        put(f"Files:     {len(done.files)}")
        for file in done.files:
            put(f"  {file.relative_to(out)}")


def report(
    directory: Path = argument("DIR", "The data set that the scores are of: pictures come from it."),
    scores: list[Path] = argument(
        "SCORES", "Scores files, one a model, or the folders that `corruptset score --out` wrote."
    ),
    out: Path = option("--out -o FILE", "The HTML file, which is replaced where it is there.", Path("report.html")),
    predictions: list[str] | None = option(
        "--predictions [NAME=]PATH",
        "What a model predicted, by which the page shows the images that flip; once for each model. NAME is the "
        "model's, where the predictions do not say it.",
        None,
    ),
    sample: str | None = option("--sample ID", "The sample that stands under every degradation.", None),
    as_json: AsJson = False,
) -> None:
    """Write a page of results: models side by side on one data set, with figures, tables that sort, and pictures.

    It is one HTML file that fetches nothing.
    """
    with progress_of("report") as progress:
        from ..scores.report import report as run

        done = run(directory, scores, out, predictions=predictions or (), sample=sample, progress=progress)
    if as_json:
        return put_json({"ok": True, **vars(done)})
    put(f"Models:   {', '.join(done.models)}")
    put(f"Sections: {', '.join(done.sections)}")
    put(f"Digest:   {done.digest}")
    put(f"File:     {done.file} ({size(done.bytes)}, {done.pictures} pictures)")
