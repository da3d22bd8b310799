"""`corruptset predict`, `score` and `score-table`: predictions, and the numbers of papers from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from ..errors import ParameterError
from ..quantities import plural
from .command import runs
from .options import AsJson, FinishedBuild, Sets, argument, option, split_globs
from .output import progress_of, put, put_json, put_notes
from .records import put_facts, put_table

if TYPE_CHECKING:
    from ..scores.records import Scores
    from ..scores.score_table import TableScores
    from ..scores.tables import Cell, Column, Table

SHOWN = (
    "aude_others", "families", "worst_case", "greatest_loss", "degradation", "degradation_levels", "two_factor",
    "order_effects", "fragile", "style",
)  # fmt: skip
"""Tables of a comparison that are printed of its one model, below those by severity and by level."""
SEVERITIES = range(1, 6)
SHOWN_LEVELS = (0, 1, 2, 5, 10, 15, 20, 25, 30)
"""Levels of a degradation profile that are printed; --json has all."""
MOST_ROWS = 40


@runs()
def predict(
    directory: FinishedBuild,
    model: Path = option("--model FILE", "The model file (TOML); docs/models.md describes it."),
    out: Path = option("--out -o FOLDER", "Receives predictions.json and <set id>.npz for each set; the same resumes."),
    sets: Sets = None,
    device: str = option("--device NAME", "Where the model computes: cpu, cuda, cuda:1.", "cpu"),
    batch: int = option("--batch N", "Images that go through the model at once.", 64, min=1),
    kind: Literal["logits", "probs", "top", "rank"] = option(
        "--kind",
        "What is kept of an image: logits or probs of all classes, the top 5, or the rank and probability of the true "
        "class.",
        "logits",
    ),
) -> None:
    """Ask a model about every image of a data set, and write what it says.

    Needs PyTorch: the extra 'torch'. Images are given to the model as they are stored: they must have its size. The
    same command resumes one that was stopped.
    """


def score(
    directory: FinishedBuild,
    predictions: Path = argument(
        "PREDICTIONS", "A folder of <set id>.npz, one .npz, or a CSV; docs/evaluate.md says how to write them."
    ),
    baseline: str | None = option(
        "--baseline PREDICTIONS",
        "What CE and mCE are relative to: another model's predictions, or alexnet (the default, on ImageNet-C as "
        "published).",
        None,
    ),
    condition: str | None = option(
        "--condition CONDITION",
        "Which images count: correct@clean, those that the model has right, or correct@clean=PREDICTIONS, those that "
        "another one has right.",
        None,
    ),
    sets: Sets = None,
    profile_over: Literal["ours", "figures", "tables"] = option(
        "--profile-over",
        "What the mean profile of gradual degradations is over: all of the data set, or the fourteen of the paper's "
        "figures or tables.",
        "ours",
    ),
    seed: int = option("--seed N", "Of the resamples that intervals come from.", 0),
    out: Path | None = option("--out -o FOLDER", "Receives scores.json and sets.csv, for compare and report.", None),
    maps: int | None = option(
        "--maps N",
        "Of regions at every position: pictures of the first N images in FOLDER/maps, with --baseline of both models.",
        None,
        min=1,
    ),
    as_json: AsJson = False,
) -> None:
    """Score a model's predictions by the measures of the papers that the sets come from.

    Intervals are over resamples of the images. Notes say why a score cannot be had, or cannot be laid beside a
    published one.
    """
    if maps is not None and out is None:
        raise ParameterError("--maps needs --out FOLDER, in which the pictures go to FOLDER/maps.")
    given: dict[str, Any] = {"baseline": baseline, "condition": condition, "sets": sets, "seed": seed, "out": out}
    with progress_of("score") as progress:
        from .. import score as run

        drawn = _write_maps(directory, predictions, baseline, out / "maps", maps) if maps and out else 0
        scores = run(directory, predictions, profile_over=profile_over, progress=progress, **given)
    if as_json:
        return put_json(scores.as_json() | {"resamples": None})
    put_scores(scores)
    if out is not None:
        put_facts({"Written": f"{out}, maps of {plural(drawn, 'image')}" if drawn else out})


def _write_maps(directory: Path, predictions: Path, baseline: str | None, folder: Path, images: int) -> int:
    """Draw the maps of the first images, also of a baseline, and count them."""
    from ..manifests.reader import open as open_data_set
    from ..scores.fragile_maps import write_maps
    from ..scores.prediction_files import read_predictions

    data = open_data_set(directory)
    outcomes = read_predictions(predictions, data, sets=["clean"]).outcomes
    has_other = baseline not in (None, "alexnet")
    others = read_predictions(str(baseline), data, sets=["clean"]).outcomes if has_other else None
    return len(write_maps(data, outcomes, folder, images, others))


def put_scores(scores: Scores) -> None:
    """Print scores as tables that fit 80 columns."""
    from ..scores.compare import compare

    put(f"{scores.model} on {scores.name}", style="bold")
    counted = next(iter(scores.sets.values())).n if scores.sets else 0
    only = f", {counted} of which are scored ({scores.condition})" if scores.condition else ""
    put(f"{plural(len(scores.sets), 'set')} of {scores.samples} images{only}\n")
    shown = [[score.column.heading, score.shown()] for score in scores.summary()]
    put_table(["score", "value (95 % confidence interval from the bootstrap)"], shown)
    curves = {name: [scores.sets[f"{name}/{s}"] for s in SEVERITIES] for name in _with_severities(scores)}
    measures = {"AUDE": scores.values("aude"), "CE": scores.values("ce"), "rel. CE": scores.values("relative_ce")}
    measures = {title: of for title, of in measures.items() if of}
    _put_numbers(
        ["accuracy %", *map(str, SEVERITIES), *measures],
        {
            name: [*(one.accuracy for one in sets), *(of.get(name) for of in measures.values())]
            for name, sets in curves.items()
        },
    )
    profiles = dict(scores.profiles)
    if scores.mean_profile is not None and len(profiles) > 1:
        profiles["mean"] = scores.mean_profile
    by_level = {name: dict(zip(one.levels, one.accuracy, strict=True)) for name, one in profiles.items()}
    levels = [level for level in SHOWN_LEVELS if any(level in own for own in by_level.values())]
    rows = {name: [own.get(level) for level in levels] for name, own in by_level.items()}
    _put_numbers(["accuracy % at level", *map(str, levels)], rows)
    tables = {table.name: table for table in compare([scores], plots=False).tables}
    for name in SHOWN:
        if name in tables:
            _put_of_one(tables[name], scores.model)
    # The remaining table has the sets that are in none of the tables above.
    above = {*curves, *profiles}
    others = {n: one for n, one in scores.sets.items() if n != "clean" and n.rpartition("/")[0] not in above}
    heads, has_top5 = ["set", "accuracy %", "low", "high"], any(one.top5 is not None for one in others.values())
    rows = {n: [s.accuracy, *(s.interval or (None, None)), *[s.top5] * has_top5] for n, s in others.items()}
    _put_numbers(heads + ["top-5 %"] * has_top5, rows)
    put_notes(scores.notes)
    put_facts({"Digest": scores.digest})


def _with_severities(scores: Scores) -> list[str]:
    """Return the corruptions that have a set at each of the five severities."""
    names = [name.removesuffix("/1") for name in scores.sets if name.endswith("/1") and "+" not in name]
    return [name for name in names if all(f"{name}/{s}" in scores.sets for s in SEVERITIES)]


def _put_numbers(columns: Sequence[str], rows: Mapping[str, Sequence[float | None]]) -> None:
    """Print a table of shares in per cent, where it has any rows."""
    if rows:
        cells = [[name, *("-" if one is None else f"{100 * one:.1f}" for one in own)] for name, own in rows.items()]
        _put_first(columns, cells, columns[1:])


def _put_of_one(table: Table, model: str) -> None:
    """Print a comparison's table for its one model, intervals beside their scores."""
    columns = [column for column in table.columns if column.end is None and not _is_models(column)]
    lines = [_with_intervals(table, row) for row in table.rows]
    headings = [(replace(c, title="this model") if c.title == model else c).heading for c in columns]
    if table.name == "two_factor":  # The second row is the reference point.
        put(table.title)
        pairs = zip(headings, lines[0], strict=True)
        return put_table([table.name.replace("_", " "), "value"], [pair for pair in pairs if pair[1] != "-"])
    right = [heading for heading, column in zip(headings, columns, strict=True) if column.kind != "text"]
    put(table.title)
    _put_first(headings, lines, right)


def _is_models(column: Column) -> bool:
    """Return whether a column has the names of models."""
    return column.title == "model" and column.kind == "text"


def put_cells(table: Table) -> None:
    """Print a table of scores without the ends of intervals."""
    kept = [(i, column) for i, column in enumerate(table.columns) if column.end is None]
    right = [column.heading for _, column in kept if column.kind != "text"]
    rows = [[column.shown(row[i]) for i, column in kept] for row in table.rows]
    put_table([column.heading for _, column in kept], rows, right=right)


def _put_first(columns: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[str]) -> None:
    """Print the first rows of a table, and how many more there are."""
    put_table(columns, rows[:MOST_ROWS], right=right)
    if len(rows) > MOST_ROWS:
        put(f"... and {len(rows) - MOST_ROWS} more (all of them with --json)\n")


def _with_intervals(table: Table, row: Sequence[Cell]) -> list[str]:
    """Return a row's cells but the model's name, each interval behind its score."""
    cells: list[str] = []
    for column, cell in zip(table.columns, row, strict=True):
        if column.end == "low" and cell is not None:
            cells[-1] += f" ({column.shown(cell)} to "
        elif column.end == "high" and cell is not None:
            cells[-1] += f"{column.shown(cell)})"
        elif column.end is None and not _is_models(column):
            cells.append(column.shown(cell))
    return cells


def _put_table_scores(done: TableScores) -> None:
    put_cells(done.table())
    put_notes(done.notes)


@runs(json=lambda done: done.as_json(), put=_put_table_scores, watched=False)
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
    lower_is_better: list[str] = option(
        "--lower-is-better METRICS",
        "Metrics such as errors: their RB-index has the other sign. Repeated, or separated by commas.",
        [],
        callback=lambda given: split_globs(given) or [],
    ),
    out: Path | None = option("--out -o FOLDER", "Receives score-table.json and score-table.csv.", None),
) -> None:
    """Score any metric from its value on each set: mPC, rPC and robustness index.

    mPC and rPC are the mean and the relative performance under corruption. The metrics come from pycocotools,
    mmdetection or any other evaluation, in any unit. Missing sets are named.
    """
