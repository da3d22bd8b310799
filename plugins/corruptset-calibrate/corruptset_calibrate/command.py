"""Define the command `calibrate`: write a severity table for another image size."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Literal

import typer

from corruptset.cli import completion
from corruptset.cli.options import OUTPUT, AsJson, Force, Jobs, Samples, Source
from corruptset.cli.output import progress_of, put, put_json


def calibrate(
    names: Annotated[
        list[str],
        typer.Argument(metavar="NAME...", autocompletion=completion.corruptions, help="The corruptions to calibrate."),
    ],
    to: Annotated[int, typer.Option(metavar="SIDE", min=8, help="Short side in pixels of images of the new size.")],
    reference: Annotated[
        str,
        typer.Option(
            "--from",
            metavar="NAME",
            autocompletion=completion.calibrations,
            help="The severity table to match: the name of a calibration, or a table file (.toml).",
        ),
    ] = "imagenet",
    source: Source = None,
    metric: Annotated[
        Literal["ms-ssim", "ssim"],
        typer.Option(help="Measure of image quality. ms-ssim needs images of at least 176 pixels."),
    ] = "ms-ssim",
    samples: Samples = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE",
            rich_help_panel=OUTPUT,
            help="The table file to write (.toml). The default is NAME-SIDE.toml.",
        ),
    ] = None,
    force: Force = False,
    jobs: Jobs = None,
    as_json: AsJson = False,
) -> None:
    """Calibrate a severity table for another image size.

    At each severity, images of the new size have the same quality as images of the size that the reference table is
    made for. Both are measured on the same photographs. Use the table with --calibration FILE in any command that has
    this option.
    """
    from .calibration import calibrate as run

    with progress_of("calibrate") as progress:
        made = run(
            names, to=to, reference=reference, source=source or "sample", metric=metric, samples=samples, out=out,
            force=force, jobs=jobs or os.cpu_count() or 1, progress=progress,
        )  # fmt: skip
    if as_json:
        return put_json(
            {"ok": True, "table": str(made.table), "distances": {name: made.distances(name) for name in made.levels}}
        )
    for name, levels in made.levels.items():
        put(f"{name}: severity, target, severity of the reference, quality, difference (with scale none, scale side)")
        for level in levels:
            calibrated, none, side = (value - level.target for value in (level.quality, level.unscaled, level.scaled))
            row = f"  {level.severity}  {level.target:.4f}  {float(level.place):8g}  {level.quality:.4f}"
            put(f"{row}  {calibrated:+.4f} ({none:+.4f}, {side:+.4f}){'' if level.reached else '  (not reached)'}")
    put(f"{made.table}: {len(made.levels)} corruptions")
