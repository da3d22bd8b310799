"""`corruptset calibrate NAME...`: a table of severities for another image size."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Literal

from . import completion
from .options import AsJson, Force, Jobs, Samples, Source, argument, option
from .output import progress_of, put, put_json


def calibrate(
    names: Annotated[list[str], argument("NAME...", "Corruptions.", autocompletion=completion.corruptions)],
    to: Annotated[int, option("--to SIDE", "The new size: the short side in pixels.", min=8)],
    reference: Annotated[
        str, option("--from NAME", "The reference: a calibration, or a table file (.toml).", autocompletion=completion.calibrations)
    ] = "imagenet",
    source: Source = "sample",
    metric: Annotated[Literal["ms-ssim", "ssim"], option("--metric", "Of quality; ms-ssim needs 176 pixels.")] = "ms-ssim",
    samples: Samples = None,
    out: Annotated[
        Path | None, option("--out -o FILE", "The table file (.toml); a report goes beside it. By default NAME-SIDE.toml.")
    ] = None,
    force: Force = False,
    jobs: Jobs = None,
    as_json: AsJson = False,
) -> None:
    """Make a table whose severities have, at another size, the quality that the reference has at its own, on the same photographs.

    Any command takes the table as --calibration FILE.
    """
    with progress_of("calibrate") as progress:
        from ..generate.calibration.calibrate import calibrate as run
        from ..generate.calibration.calibration_page import deviations, level_rows

        made = run(
            names,
            to=to,
            reference=reference,
            source=source,
            metric=metric,
            samples=samples,
            out=out,
            force=force,
            jobs=jobs or os.cpu_count() or 1,
            progress=progress,
        )
    means = {name: deviations(list(levels)) for name, levels in made.levels.items()}
    if as_json:
        return put_json({"ok": True, "table": str(made.table), "report": str(made.report), "metric": made.metric, "deviations": means})
    for name, levels in made.levels.items():
        put(f"{name}: severity, target, place on the path, quality, deviation (with scale none, with scale side)")
        for severity, target, place, quality, own, none, side in level_rows(list(levels)):
            put(f"  {severity}  {target}  {place:>8}  {quality}  {own} ({none}, {side})")
    put(f"{made.table}: {len(made.levels)} corruptions; report: {made.report}")
