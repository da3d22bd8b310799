"""`corruptset stream` and `corruptset schedule`: what they need is imported when they run, so that help comes
at once.
"""

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
        "Set after set; up and down the severities; all shuffled into one; labels in runs; several orders.",
        "continual",
    )
    out: Path = option("--out -o FILE", "The file to write.", "schedule.jsonl")
    force: Force = False
    severity: int | None = option("--severity 1-5", "Of the sets; 5 by default, and for gradual all.", None)
    reset: Literal["never", "shift"] = option(
        "--reset", "Whether the model is put back at every shift; the marks say so.", "never"
    )
    shuffle: bool = option("--shuffle/--no-shuffle", "Shuffle the samples of each set.", True)
    delta: float | None = option(
        "--delta X",
        "For correlated: of the Dirichlet distribution; 0.1 by default, 0.01 from 1,000 classes on; 0 is one run a "
        "class.",
        None,
    )
    slots: int | None = option("--slots N", "For correlated: stretches of a set; by default one a class.", None)
    orders: int | None = option("--orders N", "For random-orders: how many; 10 by default.", None)


class _Stream:
    source: Source = "sample"
    out: Path = option("--out -o DIR", "The tars go to DIR/<recipe>-<version>/baseline_..._seed_....", "corruptset-out")
    accuracies: Path | None = option(
        "--accuracies FILE",
        "A reference model's accuracy of every set of the grid: the scores.json of score, or a CSV with columns set, "
        "accuracy.",
        None,
    )
    speed: int | None = option("--speed N", "Images before the severities change; by default the recipe's.", None)
    length: int | None = option("--length N", "Images of the whole stream; by default the recipe's.", None)


SCHEDULE = declared(_Schedule) | {name: BUILD_OPTIONS[name] for name in "sets seed samples per_class ids".split()}
STREAM = declared(_Stream) | {
    name: BUILD_OPTIONS[name] for name in "seed jobs samples per_class labels skip_bad".split()
}


def _tell(as_json: bool, told: dict[str, Any], text: str) -> None:
    put_json({"ok": True, **told}) if as_json else put(text.format(**told))


@with_options(SCHEDULE)
def schedule(
    directory: Annotated[Path, argument("DIR", "A data set; its images need not be there.")],
    as_json: AsJson = False,
    **given: Any,
) -> None:
    """Write an order over the sets of a data set, for models that adapt while they are tested.

    The file has ids and no pixels; corruptset.open(DIR).stream(FILE) iterates. The digest names the order.
    """
    from .schedules import schedule as make

    head, shifts = make(directory, **given)
    told = head | {
        "path": given["out"],
        "sets": len(head["sets"]),
        "samples": len(head["samples"]),
        "shifts": len(shifts),
        "resets": sum(shift["reset"] for shift in shifts),
    }
    _tell(
        as_json,
        told,
        "{path}: {kind}, {length} images in {shifts} shifts of {sets} sets, {resets} resets\nDigest: {digest}",
    )


@with_options(STREAM)
def stream(
    recipe: Annotated[
        str, argument("RECIPE", "ccc-easy, ccc-medium, ccc-hard, or the recipe file (.toml) of a stream.")
    ],
    grid: Annotated[
        Path | None, option("--grid FILE", "Write the recipe of the sets whose accuracies are needed, and no more.")
    ] = None,
    as_json: AsJson = False,
    **given: Any,
) -> None:
    """Write a stream of images whose corruptions change, two at a time, while a reference model's accuracy stays near
    to a baseline.

    The same command resumes one that was stopped, and checks the files of one that is finished.
    """
    from corruptset.errors import ParameterError
    from corruptset.manifests.disk.atomic import write_atomic

    from .streams import stream as make
    from .walks import grid_recipe, load_stream

    if grid is not None:
        settings, table = load_stream(recipe)
        written = grid_recipe(settings, table).encode()
        if grid.exists() and grid.read_bytes() != written:
            raise ParameterError(f"{grid} exists and is another file: give another --grid.")
        write_atomic(grid, written)
        return _tell(as_json, {"path": grid, "sets": len(table.cells)}, "{path}: a recipe of {sets} sets")
    with progress_of("stream") as progress:
        made = make(recipe, **given, progress=progress)
    text = (
        f"{{images}} images in {{steps}} steps, {{tars}} tars, {size(made.bytes)}; {{made}} images made by this call\n"
        "Directory: {directory}\nDigest:    {digest}"
    )
    _tell(as_json, made._asdict(), text)
