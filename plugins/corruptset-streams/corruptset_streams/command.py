"""Define the commands `stream` and `schedule`. They import their dependencies late, so that help texts appear fast."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from corruptset.cli.options import (
    OUTPUT,
    AsJson,
    Force,
    Ids,
    Jobs,
    Labels,
    PerClass,
    Samples,
    Seed,
    Sets,
    SkipBad,
    Source,
)
from corruptset.cli.output import progress_of, put, put_json
from corruptset.quantities import size

Kind = Literal["continual", "gradual", "mixed", "correlated", "random-orders"]


def _report(as_json: bool, facts: dict[str, Any], text: str) -> None:
    put_json({"ok": True, **facts}) if as_json else put(text.format(**facts))


def schedule(
    directory: Annotated[
        Path, typer.Argument(metavar="DIR", help="The directory of a dataset. The images are not needed.")
    ],
    kind: Annotated[
        Kind,
        typer.Option(
            metavar="KIND",
            help="Order of the sets: one after the other (continual), up and down the severities (gradual), all mixed "
            "(mixed), with runs of equal labels (correlated), or in several random orders (random-orders).",
        ),
    ] = "continual",
    severity: Annotated[
        int | None,
        typer.Option(metavar="1-5", help="Severity of the sets. The default is 5, and gradual uses all severities."),
    ] = None,
    reset: Annotated[
        Literal["never", "shift"],
        typer.Option(help="When to reset the model: never after the start of an order, or at every shift."),
    ] = "never",
    shuffle: Annotated[bool, typer.Option("--shuffle/--no-shuffle", help="Shuffle the samples of each set.")] = True,
    delta: Annotated[
        float | None,
        typer.Option(
            metavar="X",
            help="For correlated: concentration of the Dirichlet distribution. The default is 0.1, or 0.01 for "
            "datasets with at least 1,000 classes. With 0, each class forms a single run.",
        ),
    ] = None,
    slots: Annotated[
        int | None,
        typer.Option(
            metavar="N", help="For correlated: number of slots per set. By default, there is one slot per class."
        ),
    ] = None,
    orders: Annotated[
        int | None, typer.Option(metavar="N", help="For random-orders: number of orders. The default is 10.")
    ] = None,
    samples: Samples = None,
    per_class: PerClass = None,
    ids: Ids = None,
    sets: Sets = None,
    seed: Seed = 0,
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="FILE", rich_help_panel=OUTPUT, help="The file to write.")
    ] = Path("schedule.jsonl"),
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Write a schedule, which is a recorded order of the samples of a dataset for models that adapt at test time.

    The schedule contains ids and no pixels. Its digest identifies it. To iterate over its images in Python, use
    corruptset.open(DIR).stream(FILE).
    """
    from .schedules import schedule as make

    head, shifts = make(
        directory,
        kind=kind,
        severity=severity,
        reset=reset,
        shuffle=shuffle,
        delta=delta,
        slots=slots,
        orders=orders,
        samples=samples,
        per_class=per_class,
        ids=ids,
        sets=sets,
        seed=seed,
        out=out,
        force=force,
    )
    facts = head | {
        "path": out,
        "sets": len(head["sets"]),
        "samples": len(head["samples"]),
        "shifts": len(shifts),
        "resets": sum(shift["reset"] for shift in shifts),
    }
    _report(
        as_json,
        facts,
        "{path}: {kind}, {length} images in {shifts} shifts of {sets} sets, {resets} resets\nDigest: {digest}",
    )


def stream(
    recipe: Annotated[
        str,
        typer.Argument(
            metavar="RECIPE", help="The recipe of a stream: ccc-easy, ccc-medium, ccc-hard, or a file (.toml)."
        ),
    ],
    grid: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Write only the recipe (.toml) of the sets whose accuracies the stream needs."
        ),
    ] = None,
    accuracies: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Accuracy of a reference model on each set of the grid: the scores.json of the command score, or a "
            "CSV file with the columns set and accuracy.",
        ),
    ] = None,
    speed: Annotated[
        int | None,
        typer.Option(
            metavar="N", help="Number of images before the severities change. The default is that of the recipe."
        ),
    ] = None,
    length: Annotated[
        int | None,
        typer.Option(metavar="N", help="Number of images in the stream. The default is that of the recipe."),
    ] = None,
    seed: Seed = 0,
    source: Source = None,
    labels: Labels = None,
    samples: Samples = None,
    per_class: PerClass = None,
    skip_bad: SkipBad = False,
    out: Annotated[
        Path,
        typer.Option(
            "--out",
            "-o",
            metavar="DIR",
            rich_help_panel=OUTPUT,
            help="Output directory. The .tar files are written to DIR/<recipe>-<version>/baseline_..._seed_....",
        ),
    ] = Path("corruptset-out"),
    jobs: Jobs = None,
    as_json: AsJson = False,
) -> None:
    """Write a stream of images whose corruptions change gradually, for models that adapt at test time.

    Two corruptions are active at a time. Their severities change so that the accuracy of a reference model stays near
    a baseline. To resume an interrupted stream, or to verify the files of a finished one, run the same command again.
    """
    from corruptset.errors import ParameterError
    from corruptset.manifests.disk.atomic import write_atomic

    from .streams import stream as make
    from .walks import grid_recipe, load_stream

    if grid is not None:
        settings, table = load_stream(recipe)
        written = grid_recipe(settings, table).encode()
        if grid.exists() and grid.read_bytes() != written:
            raise ParameterError(f"{grid} already exists with different contents. Choose another file with --grid.")
        write_atomic(grid, written)
        return _report(as_json, {"path": grid, "sets": len(table.cells)}, "{path}: a recipe of {sets} sets")
    with progress_of("stream") as progress:
        made = make(
            recipe,
            source=source or "sample",
            labels=labels,
            samples=samples,
            per_class=per_class,
            skip_bad=skip_bad,
            accuracies=accuracies,
            speed=speed,
            length=length,
            seed=seed,
            out=out,
            jobs=jobs,
            progress=progress,
        )
    text = (
        f"{{images}} images in {{steps}} steps, {{tars}} tars, {size(made.bytes)}, {{made}} images written by this "
        "command\n"
        "Directory: {directory}\nDigest:    {digest}"
    )
    _report(as_json, made._asdict(), text)
