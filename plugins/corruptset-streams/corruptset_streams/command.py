"""`corruptset stream` and `corruptset schedule`: the options are those of the functions in Python."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from inspect import signature
from pathlib import Path
from typing import Annotated, Any

from corruptset.cli.options import AsJson, option, with_options
from corruptset.cli.output import progress_of, put, put_json
from corruptset.manifests.disk.atomic import write_atomic
from corruptset.quantities import size

from .schedules import schedule as make_schedule
from .streams import stream as make_stream
from .walks import grid_recipe, load_stream

GRID = {
    "grid": (Annotated[Path | None, option("--grid FILE", "Write the recipe of the sets whose accuracies are needed, and no more.")], None)
}


def _options(function: Callable[..., Any]) -> dict[str, tuple[Any, Any]]:
    return {p.name: (p.annotation, p.default) for p in signature(function, eval_str=True).parameters.values() if p.name != "progress"}


@with_options(_options(make_schedule))
def schedule(as_json: AsJson = False, *, given: Mapping[str, Any]) -> None:
    """Write an order over the sets of a data set, for models that adapt while they are tested.

    The file has ids and no pixels; corruptset.open(DIR).stream(FILE) iterates. The digest names the order.
    """
    out = given["out"] or Path("schedule.jsonl")
    head, shifts = make_schedule(**{**given, "out": out})
    counts = {"length": head["length"], "shifts": len(shifts), "resets": sum(shift["reset"] for shift in shifts)}
    counts |= {name: len(head[name]) for name in ("sets", "samples")}
    if as_json:
        return put_json({"ok": True, "path": str(out), **{key: head[key] for key in ("kind", "digest", "parameters")}, **counts})
    put("{}: {kind}, {length} images in {shifts} shifts of {sets} sets, {resets} resets".format(out, **head | counts))
    put(f"Digest: {head['digest']}")


@with_options(_options(make_stream) | GRID)
def stream(as_json: AsJson = False, *, given: Mapping[str, Any]) -> None:
    """Write a stream of images whose corruptions change, two at a time, while a reference model's accuracy stays near to a baseline.

    The same command resumes one that was stopped, and checks the files of one that is finished.
    """
    options = dict(given)
    if (grid := options.pop("grid")) is not None:
        chosen = load_stream(options["recipe"])
        write_atomic(grid, grid_recipe(*chosen).encode())
        cells = len(chosen[1].cells)
        return put_json({"ok": True, "path": str(grid), "sets": cells}) if as_json else put(f"{grid}: a recipe of {cells} sets")
    with progress_of("stream") as progress:
        made = make_stream(**options, progress=progress)
    if as_json:
        return put_json({"ok": True, **made._asdict()})
    put(f"{made.images} images in {made.steps} steps, {made.tars} tars, {size(made.bytes)}; {made.made} images made by this call")
    put(f"Directory: {made.directory}")
    put(f"Digest:    {made.digest}", style="green")
