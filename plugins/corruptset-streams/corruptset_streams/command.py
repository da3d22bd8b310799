"""Define the commands `stream` and `schedule`, which import their dependencies late so that their help stays fast."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from corruptset.cli.options import BUILD_OPTIONS, AsJson, Force, Source, argument, declared, option, with_options
from corruptset.cli.output import progress_of, put, put_json
from corruptset.quantities import size

Kind = Literal["continual", "gradual", "mixed", "correlated", "random-orders"]


class _Schedule:
    kind: Kind = option(
        "--kind",
        "Order of the sets: one after the other, up and down the severities, all mixed, with runs of equal labels, or "
        "in several random orders.",
        "continual",
    )
    out: Path = option("--out -o FILE", "The file to write.", "schedule.jsonl")
    force: Force = False
    severity: int | None = option(
        "--severity 1-5", "Severity of the sets. The default is 5, and gradual uses all severities.", None
    )
    reset: Literal["never", "shift"] = option(
        "--reset", "When to reset the model: never after the start of an order, or at every shift.", "never"
    )
    shuffle: bool = option("--shuffle/--no-shuffle", "Shuffle the samples of each set.", True)
    delta: float | None = option(
        "--delta X",
        "For correlated: concentration of the Dirichlet distribution. The default is 0.1, or 0.01 for datasets with at "
        "least 1,000 classes. With 0, each class forms a single run.",
        None,
    )
    slots: int | None = option(
        "--slots N", "For correlated: number of slots per set. By default, there is one slot per class.", None
    )
    orders: int | None = option("--orders N", "For random-orders: number of orders. The default is 10.", None)


class _Stream:
    source: Source = "sample"
    out: Path = option(
        "--out -o DIR",
        "Output directory. The tars are written to DIR/<recipe>-<version>/baseline_..._seed_....",
        "corruptset-out",
    )
    accuracies: Path | None = option(
        "--accuracies FILE",
        "Accuracy of a reference model on each set of the grid: the scores.json of the command score, or a CSV file "
        "with the columns set and accuracy.",
        None,
    )
    speed: int | None = option(
        "--speed N", "Number of images before the severities change. The default is that of the recipe.", None
    )
    length: int | None = option(
        "--length N", "Number of images in the stream. The default is that of the recipe.", None
    )


SCHEDULE = declared(_Schedule) | {name: BUILD_OPTIONS[name] for name in "sets seed samples per_class ids".split()}
STREAM = declared(_Stream) | {
    name: BUILD_OPTIONS[name] for name in "seed jobs samples per_class labels skip_bad".split()
}


def _report(as_json: bool, facts: dict[str, Any], text: str) -> None:
    put_json({"ok": True, **facts}) if as_json else put(text.format(**facts))


@with_options(SCHEDULE)
def schedule(
    directory: Annotated[Path, argument("DIR", "The directory of a dataset. Its images may be missing.")],
    as_json: AsJson = False,
    **given: Any,
) -> None:
    """Write a schedule, which is a recorded order of the samples of a dataset for models that adapt at test time.

    The schedule contains ids and no pixels. Its digest identifies it. To iterate over its images in Python, use
    corruptset.open(DIR).stream(FILE).
    """
    from .schedules import schedule as make

    head, shifts = make(directory, **given)
    facts = head | {
        "path": given["out"],
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


@with_options(STREAM)
def stream(
    recipe: Annotated[
        str, argument("RECIPE", "The recipe of a stream: ccc-easy, ccc-medium, ccc-hard, or a file (.toml).")
    ],
    grid: Annotated[
        Path | None,
        option("--grid FILE", "Write only the recipe (.toml) of the sets whose accuracies the stream needs."),
    ] = None,
    as_json: AsJson = False,
    **given: Any,
) -> None:
    """Write a stream of images whose corruptions change gradually, for models that adapt at test time.

    Two corruptions are active at a time. Their severities change such that the accuracy of a reference model stays near
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
            raise ParameterError(f"{grid} already exists with other contents. Choose another file with --grid.")
        write_atomic(grid, written)
        return _report(as_json, {"path": grid, "sets": len(table.cells)}, "{path}: a recipe of {sets} sets")
    with progress_of("stream") as progress:
        made = make(recipe, **given, progress=progress)
    text = (
        f"{{images}} images in {{steps}} steps, {{tars}} tars, {size(made.bytes)}, {{made}} images written by this "
        "command\n"
        "Directory: {directory}\nDigest:    {digest}"
    )
    _report(as_json, made._asdict(), text)
