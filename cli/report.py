"""`corruptset report DIR SCORES...`: a page of results."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from ..quantities import size
from .options import AsJson, argument, option
from .output import progress_of, put, put_json


def report(
    directory: Annotated[Path, argument("DIR", "The data set that the scores are of: pictures come from it.")],
    scores: Annotated[list[Path], argument("SCORES", "Scores files, one a model, or the folders that `corruptset score --out` wrote.")],
    out: Annotated[Path, option("--out -o FILE", "The HTML file, which is replaced where it is there.")] = Path("report.html"),
    predictions: Annotated[
        list[str] | None,
        option(
            "--predictions [NAME=]PATH",
            "What a model predicted, by which the page shows the images that flip; once for each model. NAME is the model's, "
            "where the predictions do not say it.",
        ),
    ] = None,
    sample: Annotated[str | None, option("--sample ID", "The sample that stands under every degradation.")] = None,
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
