"""`corruptset predict` and `corruptset score`: what a model says of a data set, and from that to the numbers of
papers.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from ..errors import ParameterError
from ..quantities import duration
from .options import AsJson, FinishedBuild, Sets, argument, option
from .output import progress_of, put, put_json, put_notes, put_rows, put_table

if TYPE_CHECKING:
    from ..scores.records import Interval, Profile, Scores
    from ..scores.tables import Cell, Table

Device = Annotated[str, option("--device NAME", "Where the model computes: cpu, cuda, cuda:1.")]


def predict(
    directory: FinishedBuild,
    model: Path = option("--model FILE", "The model file (TOML); docs/models.md describes it."),
    out: Path = option("--out -o FOLDER", "Receives predictions.json and <set id>.npz for each set; the same resumes."),
    sets: Sets = None,
    device: Device = "cpu",
    batch: int = option("--batch N", "Images that go through the model at once.", 64, min=1),
    kind: Literal["logits", "probs", "top", "rank"] = option(
        "--kind",
        "What is kept of an image: logits or probs of all classes, the top 5, or the rank and probability of the true "
        "class.",
        "logits",
    ),
    as_json: AsJson = False,
) -> None:
    """Ask a model about every image of a data set, and write what it says.

    Needs PyTorch: the extra 'torch'. Images are given to the model as they are stored: they must have its size. The
    same command resumes one that was stopped.
    """
    with progress_of("predict") as progress:
        from ..scores.predict import predict as run

        done = run(directory, model, out, sets=sets, device=device, batch=batch, kind=kind, progress=progress)
    if as_json:
        return put_json({"ok": True, **vars(done), "directory": str(done.directory), "seconds": round(done.seconds, 3)})
    put_rows(["set", "accuracy"], [[name, f"{accuracy:.1%}"] for name, accuracy in done.accuracy.items()])
    kept = f"; {len(done.kept)} set{'s were' if len(done.kept) > 1 else ' was'} there already" if done.kept else ""
    put(f"{len(done.accuracy)} sets; {done.images} images in {duration(done.seconds)}{kept}")
    put(f"Model:     {done.model}")
    put(f"Digest:    {done.digest}")
    put(f"Directory: {done.directory}")


SHOWN = (
    "families", "worst_case", "greatest_loss", "degradation", "degradation_levels", "two_factor", "order_effects",
    "fragile", "style",
)  # fmt: skip
"""Tables of a comparison that are printed of its one model, below those by severity and by level."""
SHOWN_LEVELS = (0, 1, 2, 5, 10, 15, 20, 25, 30)
"""Of a degradation profile; --json has all."""
MOST_SETS = 40


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
    """Score a model's predictions of a data set by the measures of the papers that its sets come from.

    Intervals are over resamples of the images. Notes say why a score cannot be had, or cannot be laid beside a
    published one.
    """

    if maps is not None and out is None:
        raise ParameterError("--maps needs --out FOLDER, in which the pictures go to FOLDER/maps.")
    with progress_of("score") as progress:
        from .. import score as run

        drawn = _write_maps(directory, predictions, baseline, out / "maps", maps) if maps and out is not None else 0
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
        put(f"Written:   {out}" + (f", maps of {drawn} image{'s' * (drawn > 1)}" if drawn else ""))


def _write_maps(directory: Path, predictions: Path, baseline: str | None, folder: Path, images: int) -> int:
    """Draw the maps of the first images, with those of the baseline if there is one, and return how many there are."""
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
    put(f"{scores.model} on {scores.name}", style="bold")
    counted = next(iter(scores.sets.values())).n if scores.sets else 0
    only = f", {counted} of which count ({scores.condition})" if scores.condition else ""
    put(f"{len(scores.sets)} set{'s' * (len(scores.sets) != 1)} of {scores.samples} images{only}\n")
    from ..scores.compare import compare

    tables = {table.name: table for table in compare([scores], plots=False).tables}
    _put_of_one(tables["summary"], scores.model)
    _put_corruptions(scores)
    _put_profiles(scores)
    for name in SHOWN:
        if name in tables:
            _put_of_one(tables[name], scores.model)
    _put_other_sets(scores)
    put_notes(scores.notes)
    put(f"Digest:    {scores.digest}")


def _put_of_one(table: Table, model: str) -> None:
    """Print a comparison's table for its one model, intervals beside their scores."""
    columns = [column for column in table.columns if column.end is None and column.title != "model"]
    lines = [_with_intervals(table, row) for row in table.rows]
    headings = [column.heading.replace(model, "this model") for column in columns]
    if len(lines) == 1 or table.name == "two_factor":  # one line a score; the second row is the mean over models
        pairs = zip(headings, lines[0], strict=True)
        return put_table([table.name.replace("_", " "), "value"], [pair for pair in pairs if pair[1] != "-"])
    right = [heading for heading, column in zip(headings, columns, strict=True) if column.kind != "text"]
    put_rows(headings, lines[:MOST_SETS], right=right)
    _put_more(len(lines))


def _with_intervals(table: Table, row: Sequence[Cell]) -> list[str]:
    """Return a row's cells, each interval behind its score; the name of the model is left out."""
    cells: list[str] = []
    for column, cell in zip(table.columns, row, strict=True):
        if column.end == "low" and cell is not None:
            cells[-1] += f" ({column.shown(cell)} to "
        elif column.end == "high" and cell is not None:
            cells[-1] += f"{column.shown(cell)})"
        elif column.end is None and column.title != "model":
            cells.append(column.shown(cell))
    return cells


def _put_corruptions(scores: Scores) -> None:
    """Print the accuracy of each corruption at its severities, its AUDE and CE."""
    curves = {name: [scores.sets[f"{name}/{s}"] for s in range(1, 6)] for name in _single_curves(scores)}
    if curves:
        columns = ["accuracy %", "1", "2", "3", "4", "5", "AUDE", "CE", "rel. CE"]
        tables = {"AUDE": scores.aude, "CE": scores.ce, "rel. CE": scores.relative_ce}
        columns = [c for c in columns if tables.get(c, columns)]
        rows = [
            [
                name,
                *(_short(one.accuracy) for one in at),
                *(_short(t[name]) if name in t else "-" for t in tables.values() if t),
            ]
            for name, at in curves.items()
        ]
        put_table(columns, rows, right=columns[1:])
    chains = {name: area for name, area in scores.aude.items() if name not in curves}
    if chains:
        put_rows(
            ["AUDE of chains", "%"],
            ([name, _short(area)] for name, area in list(chains.items())[:MOST_SETS]),
            right=["%"],
        )
        _put_more(len(chains))


def _single_curves(scores: Scores) -> list[str]:
    names = [name.rpartition("/")[0] for name in scores.sets if name.endswith("/1") and "+" not in name]
    return [name for name in names if all(f"{name}/{s}" in scores.sets for s in range(1, 6))]


def _put_profiles(scores: Scores) -> None:
    profiles: dict[str, Profile] = dict(scores.profiles)
    if scores.mean_profile is not None and len(profiles) > 1:
        profiles["mean"] = scores.mean_profile
    if not profiles:
        return
    levels = [level for level in SHOWN_LEVELS if any(level in profile.levels for profile in profiles.values())]
    columns = ["accuracy % at level", *map(str, levels)]
    put_table(
        columns,
        ([name, *_at(profile.levels, profile.accuracy, levels)] for name, profile in profiles.items()),
        right=columns[1:],
    )


def _at(levels: Sequence[int], values: Sequence[float], wanted: Iterable[int]) -> list[str]:
    return [_short(values[levels.index(level)]) if level in levels else "-" for level in wanted]


def _put_other_sets(scores: Scores) -> None:
    """Print the sets that stand in no table above."""
    shown = {f"{name}/{s}" for name in _single_curves(scores) for s in range(1, 6)} | {"clean"}
    shown |= {name for name in scores.sets if name.rpartition("/")[0] in scores.profiles}
    others = {name: one for name, one in scores.sets.items() if name not in shown}
    if others:
        rows = (
            [name, _percent(one.accuracy), _interval(one.interval), "-" if one.top5 is None else _percent(one.top5)]
            for name, one in list(others.items())[:MOST_SETS]
        )
        put_rows(["set", "accuracy", "95 % interval", "top-5"], rows, right=["accuracy", "top-5"])
        _put_more(len(others))


def _put_more(count: int, shown: int = MOST_SETS) -> None:
    put(f"... and {count - shown} more (all of them with --json)\n" if count > shown else "")


def _percent(share: float) -> str:
    return f"{share:.1%}"


def _short(share: float) -> str:
    return f"{100 * share:.1f}"


def _interval(interval: Interval | None) -> str:
    return "" if interval is None else f"{_percent(interval[0])} to {_percent(interval[1])}"
