"""`corruptset schedule DIR`: an order over the sets of a data set, as a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from .options import AsJson, Force, Ids, PerClass, Samples, Seed, Sets, argument, option, split_globs
from .output import put, put_json


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
