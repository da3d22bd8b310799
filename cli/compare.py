"""The commands `corruptset compare` and `corruptset report`: compare models in tables, plots and an HTML page."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .options import OUTPUT, AsJson
from .output import progress_of, put, put_json, put_notes
from .records import fields_of, put_facts, put_result
from .score import put_cells

if TYPE_CHECKING:
    from ..scores.compare import Comparison

SHOWN = ("summary", "degradation", "correlations", "fragile")
"""The names of the tables that are printed. With ``--out``, all tables are written to files."""


def compare(
    scores: Annotated[
        list[Path],
        typer.Argument(
            metavar="SCORES...",
            help="Scores files, one per model, or the folders that `corruptset score --out` wrote. To include results "
            "from a paper, pass a .csv file with the columns model, cv, mean and clean.",
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="FOLDER",
            rich_help_panel=OUTPUT,
            help="A folder for comparison.md, tables/ and plots/.",
        ),
    ] = None,
    reference: Annotated[
        str | None,
        typer.Option(
            metavar="MODELS|CV,MEAN",
            help="The point that divides the plot of mean accuracy against its coefficient of variation (CV) into "
            "quadrants: the mean of some models, or a CV and a mean accuracy, both in percent. The default is the mean "
            "of all models.",
        ),
    ] = None,
    any_data: Annotated[bool, typer.Option("--any-data", help="Compare scores of different datasets.")] = False,
    plots: Annotated[bool, typer.Option("--plots/--no-plots", rich_help_panel=OUTPUT, help="Draw plots.")] = True,
    as_json: AsJson = False,
) -> None:
    """Compare models in tables and plots like those of published papers.

    Differences between models are shown with their confidence intervals.
    """
    from .. import compare as run

    done = run(scores, out, any_data=any_data, plots=plots, reference=reference)
    if as_json:
        return put_json({"ok": True, **done.as_json()})
    _put_comparison(done)


def _put_comparison(done: Comparison) -> None:
    for table in done.tables:
        if table.name in SHOWN:
            put_cells(table)
        if table.name == "summary":
            put_notes(table.notes)
    if paired := [d.exceeds for d in done.differences if d.exceeds is not None]:
        put(
            f"For {sum(paired)} of {len(paired)} differences between models, the 95 % confidence interval does not "
            "contain 0."
        )
    put_notes(done.notes)
    put_facts({"Files": "".join(f"\n  {file}" for file in done.files)})


def report(
    directory: Annotated[
        Path,
        typer.Argument(metavar="DIR", help="The dataset that the scores belong to. The page shows some of its images."),
    ],
    scores: Annotated[
        list[Path],
        typer.Argument(
            metavar="SCORES...",
            help="Scores files, one per model, or the folders that `corruptset score --out` wrote.",
        ),
    ],
    out: Annotated[
        Path,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE",
            rich_help_panel=OUTPUT,
            help="The HTML file, which is replaced if it exists.",
        ),
    ] = Path("report.html"),
    predictions: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PATH",
            help="The predictions of a model, PATH or NAME=PATH, to show images that it classifies wrongly. Can be "
            "repeated, once per model.",
        ),
    ] = None,
    sample: Annotated[
        str | None, typer.Option(metavar="ID", help="The sample that is shown under every degradation.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Write a page that compares models, with figures, tables and images.

    The page is one HTML file that fetches nothing from the network.
    """
    from .. import report as run

    with progress_of("report") as progress:
        done = run(directory, scores, out, predictions=predictions or (), sample=sample, progress=progress)
    put_result(fields_of(done), as_json=as_json)
