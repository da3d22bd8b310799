"""The commands `corruptset predict`, `score` and `score-table`: make predictions and compute robustness scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from ..errors import ParameterError
from ..quantities import plural
from .options import MODEL, OUTPUT, SETS, AsJson, FinishedBuild, Sets, split_list
from .output import progress_of, put, put_json, put_notes
from .records import fields_of, put_facts, put_record, put_table

if TYPE_CHECKING:
    from ..scores.records import Scores
    from ..scores.tables import Cell, Column, Table

SHOWN = (
    "aude_others", "families", "worst_case", "greatest_loss", "degradation", "degradation_levels", "two_factor",
    "order_effects", "fragile", "style",
)  # fmt: skip
"""The tables of `compare` that are printed for a single model, below the tables by severity and by level."""
SEVERITIES = range(1, 6)
SHOWN_LEVELS = (0, 1, 2, 5, 10, 15, 20, 25, 30)
"""The levels of degradation profiles that are printed. The output of ``--json`` contains all levels."""


def predict(
    directory: FinishedBuild,
    model: Annotated[
        Path, typer.Option(metavar="FILE", rich_help_panel=MODEL, help="The model file (.toml); see docs/models.md.")
    ],
    out: Annotated[
        Path,
        typer.Option(
            "--out",
            "-o",
            metavar="FOLDER",
            rich_help_panel=OUTPUT,
            help="The folder for predictions.json and one file <set id>.npz per set.",
        ),
    ],
    sets: Sets = None,
    device: Annotated[
        str, typer.Option(metavar="NAME", rich_help_panel=MODEL, help="The device of the model: cpu, cuda, cuda:1.")
    ] = "cpu",
    batch: Annotated[int, typer.Option(metavar="N", min=1, rich_help_panel=MODEL, help="The batch size.")] = 64,
    kind: Annotated[
        Literal["logits", "probs", "top", "rank"],
        typer.Option(
            rich_help_panel=OUTPUT,
            help="The values to store for each image: logits or probabilities of all classes, the five most likely "
            "classes, or the rank and probability of the true class.",
        ),
    ] = "logits",
    as_json: AsJson = False,
) -> None:
    """Write a model's predictions for every image of a dataset.

    This command needs PyTorch (install the extra `torch`). Images are not resized, so they must have the size of the
    model's input. To resume, run the same command again.
    """
    from .. import predict as run

    with progress_of("predict") as progress:
        done = run(directory, model, out, sets=sets, device=device, batch=batch, kind=kind, progress=progress)
    record = fields_of(done)
    if as_json:
        return put_json(record)
    put_record(record, hidden=["accuracy"])
    put()
    _put_percentages(["set", "accuracy %"], {name: [accuracy] for name, accuracy in done.accuracy.items()}, digits=2)


def score(
    directory: FinishedBuild,
    predictions: Annotated[
        Path,
        typer.Argument(
            metavar="PREDICTIONS",
            help="A folder of <set id>.npz files, a single .npz file, or a CSV file. docs/evaluate.md describes the "
            "formats.",
        ),
    ],
    sets: Sets = None,
    baseline: Annotated[
        str | None,
        typer.Option(
            metavar="PREDICTIONS",
            help="The predictions of the model that CE and mCE are relative to, or alexnet. The default is alexnet if "
            "the dataset is ImageNet-C as published.",
        ),
    ] = None,
    condition: Annotated[
        str | None,
        typer.Option(
            metavar="CONDITION",
            help="The images that are scored: correct@clean (clean images that the model classifies correctly), or "
            "correct@clean=PREDICTIONS (those that another model classifies correctly). The default is all images.",
        ),
    ] = None,
    profile_over: Annotated[
        Literal["ours", "figures", "tables"],
        typer.Option(
            help="The gradual degradations to average over: all test degradations of the dataset (ours), or the "
            "fourteen in Swingler's figures (figures) or tables (tables)."
        ),
    ] = "ours",
    seed: Annotated[int, typer.Option(metavar="N", help="The random seed of the bootstrap.")] = 0,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="FOLDER",
            rich_help_panel=OUTPUT,
            help="A folder for scores.json and sets.csv, which compare and report read.",
        ),
    ] = None,
    maps: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            rich_help_panel=OUTPUT,
            help="For datasets that contain a region at every position of an image: draw maps that show at which "
            "positions the model is correct, for the first N images, into FOLDER/maps. With --baseline, the maps show "
            "both models.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Compute published robustness scores, such as mCE, from a model's predictions.

    Confidence intervals come from a bootstrap over the images. Notes explain why a score is absent, or not comparable
    with a published one.
    """
    if maps is not None and out is None:
        raise ParameterError("--maps needs --out FOLDER, because the maps are written to FOLDER/maps.")
    from .. import score as run

    with progress_of("score") as progress:
        drawn = _write_maps(directory, predictions, baseline, out / "maps", maps) if maps and out else 0
        scores = run(
            directory,
            predictions,
            baseline=baseline,
            condition=condition,
            sets=sets,
            profile_over=profile_over,
            seed=seed,
            out=out,
            progress=progress,
        )
    if as_json:
        return put_json(scores.as_json() | {"resamples": None})
    put_scores(scores)
    if out is not None:
        put_facts({"Written": f"{out}, with maps of {plural(drawn, 'image')}" if drawn else out})


def _write_maps(directory: Path, predictions: Path, baseline: str | None, folder: Path, images: int) -> int:
    """Draw the maps of the first images, and return how many images were drawn.

    If a baseline is given, the maps show both models.
    """
    from ..manifests.reader import Dataset
    from ..scores.fragile_maps import write_maps
    from ..scores.prediction_files import read_predictions

    data = Dataset(directory)
    outcomes = read_predictions(predictions, data, sets=["clean"]).outcomes
    has_baseline = baseline not in (None, "alexnet")
    others = read_predictions(str(baseline), data, sets=["clean"]).outcomes if has_baseline else None
    return len(write_maps(data, outcomes, folder, images, others))


def put_scores(scores: Scores) -> None:
    """Print scores as tables that fit into 80 columns."""
    from ..scores.compare import compare

    put(f"{scores.model} on {scores.name}", style="bold")
    n_scored = next(iter(scores.sets.values())).n if scores.sets else 0
    selection = f", {n_scored} of which are scored ({scores.condition})" if scores.condition else ""
    put(f"{plural(len(scores.sets), 'set')} of {scores.samples} images{selection}\n")
    shown = [[score.column.heading, score.shown()] for score in scores.summary()]
    put_table(["score", "value (95 % confidence interval from the bootstrap)"], shown)
    curves = {name: [scores.sets[f"{name}/{s}"] for s in SEVERITIES] for name in _with_severities(scores)}
    measures = {"AUDE": scores.values("aude"), "CE": scores.values("ce"), "rel. CE": scores.values("relative_ce")}
    measures = {title: values for title, values in measures.items() if values}
    if curves:
        put(
            f"Accuracy at severities 1 to 5{', and the area under the error curve (AUDE)' * ('AUDE' in measures)}, in %"
        )
    if curves and "CE" in measures:
        put(f"CE and relative CE are errors in % of those of {scores.baseline}.")
    _put_percentages(
        ["corruption", *map(str, SEVERITIES), *measures],
        {
            name: [*(score.accuracy for score in sets), *(values.get(name) for values in measures.values())]
            for name, sets in curves.items()
        },
    )
    profiles = dict(scores.profiles)
    if scores.mean_profile is not None and len(profiles) > 1:
        profiles["mean"] = scores.mean_profile
    by_level = {name: dict(zip(p.levels, p.accuracy, strict=True)) for name, p in profiles.items()}
    levels = [level for level in SHOWN_LEVELS if any(level in curve for curve in by_level.values())]
    rows = {name: [curve.get(level) for level in levels] for name, curve in by_level.items()}
    _put_percentages(["accuracy % at level", *map(str, levels)], rows)
    tables = {table.name: table for table in compare([scores], plots=False).tables}
    for name in SHOWN:
        if name in tables:
            _put_model_table(tables[name], scores.model)
    # The last table contains the sets that do not occur in any table above.
    above = {*curves, *profiles}
    others = {n: score for n, score in scores.sets.items() if n != "clean" and n.rpartition("/")[0] not in above}
    heads, has_top5 = ["set", "accuracy %", "low", "high"], any(score.top5 is not None for score in others.values())
    rows = {n: [s.accuracy, *(s.interval or (None, None)), *[s.top5] * has_top5] for n, s in others.items()}
    _put_percentages(heads + ["top-5 %"] * has_top5, rows)
    put_notes(scores.notes)
    put_facts({"Digest": scores.digest})


def _with_severities(scores: Scores) -> list[str]:
    """Return the corruptions that have a set at each of the five severities."""
    names = [name.removesuffix("/1") for name in scores.sets if name.endswith("/1") and "+" not in name]
    return [name for name in names if all(f"{name}/{s}" in scores.sets for s in SEVERITIES)]


def _put_percentages(columns: Sequence[str], rows: Mapping[str, Sequence[float | None]], *, digits: int = 1) -> None:
    """Print a table of fractions as percentages. Nothing is printed if the table has no rows."""
    if rows:
        cells = [
            [name, *("-" if x is None else f"{100 * x:.{digits}f}" for x in values)] for name, values in rows.items()
        ]
        put_table(columns, cells, right=columns[1:])


def _put_model_table(table: Table, model: str) -> None:
    """Print a table from a comparison with a single model. Intervals follow their scores."""
    columns = [column for column in table.columns if column.end is None and not _is_models(column)]
    lines = [_with_intervals(table, row) for row in table.rows]
    headings = [(replace(c, title="this model") if c.title == model else c).heading for c in columns]
    if table.name == "two_factor":  # The second row is the reference point.
        put(table.title)
        pairs = zip(headings, lines[0], strict=True)
        return put_table([table.name.replace("_", " "), "value"], [pair for pair in pairs if pair[1] != "-"])
    right = [heading for heading, column in zip(headings, columns, strict=True) if column.kind != "text"]
    put(table.title)
    put_table(headings, lines, right=right)


def _is_models(column: Column) -> bool:
    """Return whether a column contains the names of models."""
    return column.title == "model" and column.kind == "text"


def put_cells(table: Table) -> None:
    """Print a table of scores without confidence intervals."""
    kept = [(i, column) for i, column in enumerate(table.columns) if column.end is None]
    right = [column.heading for _, column in kept if column.kind != "text"]
    rows = [[column.shown(row[i]) for i, column in kept] for row in table.rows]
    put_table([column.heading for _, column in kept], rows, right=right)


def _with_intervals(table: Table, row: Sequence[Cell]) -> list[str]:
    """Return the cells of a row as text, without the model name and with each interval after its score."""
    cells: list[str] = []
    for column, cell in zip(table.columns, row, strict=True):
        if column.end == "low" and cell is not None:
            cells[-1] += f" ({column.shown(cell)} to "
        elif column.end == "high" and cell is not None:
            cells[-1] += f"{column.shown(cell)})"
        elif column.end is None and not _is_models(column):
            cells.append(column.shown(cell))
    return cells


def score_table(
    table: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="A CSV file with a column named `set` and one column per metric, or a JSON file of the form "
            "{set id: {metric: value}}.",
        ),
    ],
    corruptions: Annotated[
        list[str] | None,
        typer.Option(
            metavar="LIST",
            rich_help_panel=SETS,
            callback=split_list,
            help="The corruptions in the means, by default the fifteen of ImageNet-C. Repeat the option, or separate "
            "names with commas.",
        ),
    ] = None,
    lower_is_better: Annotated[
        list[str] | None,
        typer.Option(
            metavar="METRICS",
            callback=split_list,
            help="Metrics for which lower values are better, such as error rates. The sign of their RB-index is "
            "reversed. Repeat the option, or separate names with commas.",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="FOLDER",
            rich_help_panel=OUTPUT,
            help="A folder for score-table.json and score-table.csv.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Compute mPC, rPC and the robustness benchmark index (RB-index) of any metric from its value on each set.

    mPC and rPC are the mean and the relative performance under corruption. The metrics can come from pycocotools,
    mmdetection or any other evaluation, in any unit. Missing sets are listed in notes.
    """
    from .. import score_table as run

    done = run(table, corruptions=corruptions, lower_is_better=lower_is_better or (), out=out)
    if as_json:
        return put_json(done.as_json())
    put_cells(done.table())
    put_notes(done.notes)
