"""`corruptset calibrate NAME...`: a table of severities for another image size."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Literal

from corruptset.cli import completion
from corruptset.cli.options import AsJson, Force, Jobs, Samples, Source, argument, option
from corruptset.cli.output import progress_of, put, put_json


def calibrate(
    names: Annotated[list[str], argument("NAME...", "Corruptions.", autocompletion=completion.corruptions)],
    to: Annotated[int, option("--to SIDE", "The new size: the short side in pixels.", min=8)],
    reference: Annotated[
        str,
        option(
            "--from NAME",
            "The reference: a calibration, or a table file (.toml).",
            autocompletion=completion.calibrations,
        ),
    ] = "imagenet",
    source: Source = "sample",
    metric: Annotated[
        Literal["ms-ssim", "ssim"], option("--metric", "Of quality; ms-ssim needs 176 pixels.")
    ] = "ms-ssim",
    samples: Samples = None,
    out: Annotated[Path | None, option("--out -o FILE", "The table file (.toml), by default NAME-SIDE.toml.")] = None,
    force: Force = False,
    jobs: Jobs = None,
    as_json: AsJson = False,
) -> None:
    """Make a table whose severities have, at another size, the quality that the reference has at its own, on the same
    photographs.

    Any command takes the table as --calibration FILE.
    """
    from .calibration import calibrate as run

    with progress_of("calibrate") as progress:
        made = run(
            names, to=to, reference=reference, source=source, metric=metric, samples=samples, out=out, force=force,
            jobs=jobs or os.cpu_count() or 1, progress=progress,
        )  # fmt: skip
    if as_json:
        return put_json(
            {"ok": True, "table": str(made.table), "distances": {name: made.distances(name) for name in made.levels}}
        )
    for name, levels in made.levels.items():
        put(f"{name}: severity, target, place on the path, quality, distance (with scale none, with scale side)")
        for level in levels:
            own, none, side = (value - level.target for value in (level.quality, level.unscaled, level.scaled))
            reached = f"  {level.severity}  {level.target:.4f}  {float(level.place):8g}  {level.quality:.4f}"
            put(f"{reached}  {own:+.4f} ({none:+.4f}, {side:+.4f}){'' if level.reached else '  (not reached)'}")
    put(f"{made.table}: {len(made.levels)} corruptions")
