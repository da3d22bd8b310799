"""`corruptset schedule` and `corruptset stream`: an order over the sets of a data set, and a changing stream of corrupted images."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from ..errors import ParameterError
from ..quantities import size
from .options import AsJson, Force, Ids, Jobs, Labels, PerClass, Samples, Seed, Sets, SkipBad, Source, argument, option, split_globs
from .output import progress_of, put, put_json


def schedule(
    directory: Annotated[Path, argument("DIR", "A data set; its images need not be there.")],
    out: Annotated[Path, option("--out -o FILE", "The file to write.")] = Path("schedule.jsonl"),
    kind: Annotated[
        Literal["continual", "gradual", "mixed", "correlated", "random-orders"],
        option("--kind", "Set after set; up and down the severities; all shuffled into one; labels in runs; several orders."),
    ] = "continual",
    severity: Annotated[int | None, option("--severity 1-5", "Of the sets; 5 by default, and for gradual all.")] = None,
    sets: Sets = None,
    reset: Annotated[
        Literal["never", "shift"], option("--reset", "Whether the model is put back at every shift; the marks say so.")
    ] = "never",
    shuffle: Annotated[bool, option("--shuffle/--no-shuffle", "Shuffle the samples of each set.")] = True,
    delta: Annotated[
        float | None,
        option(
            "--delta X", "For correlated: of the Dirichlet distribution; 0.1 by default, 0.01 from 1,000 classes on; 0 is one run a class."
        ),
    ] = None,
    slots: Annotated[int | None, option("--slots N", "For correlated: stretches of a set; by default one a class.")] = None,
    orders: Annotated[int | None, option("--orders N", "For random-orders: how many; 10 by default.")] = None,
    seed: Seed = 0,
    samples: Samples = None,
    per_class: PerClass = None,
    ids: Ids = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Write an order over the sets of a data set, for models that adapt while they are tested.

    The file has ids and no pixels; corruptset.open(DIR).stream(FILE) iterates. The digest names the order.
    """
    from ..generate.schedules import schedule as run

    made = run(
        directory,
        kind,
        out=out,
        force=force,
        severity=severity,
        sets=split_globs(sets),
        reset=reset,
        shuffle=shuffle,
        delta=delta,
        slots=slots,
        orders=orders,
        seed=seed,
        samples=samples,
        per_class=per_class,
        ids=ids,
    )
    resets = sum(shift.reset for shift in made.shifts)
    if as_json:
        counts = {"length": len(made), "shifts": len(made.shifts), "resets": resets, "sets": len(made.sets), "samples": len(made.samples)}
        put_json({"ok": True, "path": str(out), "kind": kind, "digest": made.digest, **counts, "parameters": made.parameters})
    else:
        put(f"{out}: {kind}, {len(made)} images in {len(made.shifts)} shifts of {len(made.sets)} sets, {resets} resets")
        put(f"Digest: {made.digest}")


def stream(
    recipe: Annotated[str, argument("RECIPE", "ccc-easy, ccc-medium, ccc-hard, or the recipe file (.toml) of a stream.")],
    source: Source = "sample",
    out: Annotated[Path, option("--out -o DIR", "The tars go to DIR/<recipe>-<version>/baseline_..._seed_....")] = Path("corruptset-out"),
    accuracies: Annotated[
        Path | None,
        option(
            "--accuracies FILE",
            "A reference model's accuracy of every set of the grid: the scores.json of score, or a CSV with columns set, accuracy.",
        ),
    ] = None,
    grid: Annotated[
        Path | None, option("--grid FILE", "Write the recipe (.toml) of the sets whose accuracies are needed, and nothing else.")
    ] = None,
    seed: Seed = 0,
    speed: Annotated[int | None, option("--speed N", "Images before the severities change; by default the recipe's.", min=1)] = None,
    length: Annotated[int | None, option("--length N", "Images of the whole stream; by default the recipe's.", min=1)] = None,
    jobs: Jobs = None,
    samples: Samples = None,
    per_class: PerClass = None,
    labels: Labels = None,
    skip_bad: SkipBad = False,
    as_json: AsJson = False,
) -> None:
    """Write a stream of images whose corruptions change, two at a time, while a reference model's accuracy stays near to a baseline.

    The same command resumes one that was stopped.
    """
    from ..generate.streams.stream_recipe import load_stream

    if grid is not None:
        from ..manifests.disk.atomic import write_atomic

        loaded = load_stream(recipe)
        write_atomic(grid, loaded.grid_recipe().encode())
        pairs, steps = len(loaded.pairs()), len(loaded.severities) - 1
        count = pairs * steps**2 + len(loaded.stream.corruptions) * steps
        if as_json:
            put_json({"ok": True, "path": str(grid), "sets": count})
        else:
            put(f"{grid}: a recipe of {count} sets, {pairs} ordered pairs of corruptions at {steps} severities each")
        return
    if accuracies is None:
        raise ParameterError(
            "--accuracies FILE is missing: the walk follows the accuracies of a reference model. --grid FILE.toml writes the recipe of the "
            "sets that they are needed for."
        )
    with progress_of("stream") as progress:
        from ..generate.streams.stream import stream as run

        made = run(
            load_stream(recipe),
            source,
            out,
            accuracies=accuracies,
            seed=seed,
            speed=speed,
            length=length,
            jobs=jobs,
            samples=samples,
            per_class=per_class,
            labels=labels,
            skip_bad=skip_bad,
            progress=progress,
        )
    if as_json:
        return put_json({"ok": True, **{name: value for name, value in vars(made).items() if name != "manifest"}})
    total = sum(file["bytes"] for file in made.manifest["files"])
    put(f"{made.images} images in {made.steps} steps, {made.tars} tars, {size(total)}; {made.made} images made by this call")
    put(f"Directory: {made.directory}")
    put(f"Digest:    {made.digest}", style="green")
