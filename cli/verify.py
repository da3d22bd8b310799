"""`corruptset verify` and `corruptset rebuild`: a dataset checked, repaired, and rebuilt from its records."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import first_few
from ..quantities import plural, size
from .options import (
    OUTPUT,
    AsJson,
    Device,
    FrostTextures,
    Groups,
    ImageNames,
    Jobs,
    Labels,
    OriginalSource,
    Plugins,
    Sets,
    Surrogate,
    count_or_all,
)
from .output import progress_of, put, put_json, put_notes, say
from .records import put_facts, put_result

if TYPE_CHECKING:
    from ..generate.reproduction.rebuild import Rebuilt
    from ..manifests.records.report import VerificationReport

MOST_SHOWN = 50
MOST_OTHER = 5
"""The number of files with other bytes that are named after a rebuild."""


def verify(
    directory: Annotated[
        Path,
        typer.Argument(metavar="DIR", help="The directory of a dataset (manifest.json) or of an export (VIEW.json)."),
    ],
    export: Annotated[
        Path | None,
        typer.Option(
            metavar="PATH",
            help="Check the export at PATH, which was made from this dataset, image by image against the dataset.",
        ),
    ] = None,
    rederive: Annotated[
        int | None,
        typer.Option(
            metavar="N|all",
            parser=count_or_all,
            help="Also compute N samples of every set again from the source, and compare them.",
        ),
    ] = None,
    repair: Annotated[
        bool,
        typer.Option(
            "--repair", help="Restore what is wrong or missing from the source, leave the rest, and verify again."
        ),
    ] = False,
    source: OriginalSource = None,
    labels: Labels = None,
    images: ImageNames = None,
    groups: Groups = None,
    frost_textures: FrostTextures = None,
    plugins: Plugins = None,
    calibration: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="With --rederive: the table file that a dataset with --scale side was built with.",
        ),
    ] = None,
    surrogate: Surrogate = None,
    device: Device = None,
    jobs: Jobs = None,
    as_json: AsJson = False,
) -> None:
    """Check a dataset against its manifest: structure, missing and unexpected files, sizes, hashes, pixels.

    An export is checked by its own VIEW.json, or with --export against the dataset that it was made from.
    """
    from .. import verify as run

    side = None
    if calibration is not None:
        from ..corruptions.calibrations import get_calibration

        side = get_calibration(calibration).side
    with progress_of("verify") as progress:
        report = run(
            directory,
            export=export,
            rederive=rederive,
            repair=repair,
            source=source,
            labels=labels,
            images=images,
            groups=groups,
            frost_textures=frost_textures,
            plugins=plugins,
            calibration_side=side,
            surrogate=surrogate,
            device=device,
            jobs=jobs,
            progress=progress,
        )
    if as_json:
        put_json(report.as_json())
    else:
        _put_report(report, export or directory)
    raise typer.Exit(0 if report.ok else 1)


def _put_report(report: VerificationReport, checked: Path) -> None:
    _put_first([f"mended: {path}" for path in report.mended or []], "more mended")
    if not report.ok:
        say(f"{report.directory}: {plural(len(report.problems), 'problem')}", style="red")
        return _put_first([f"{problem.kind}: {problem.path}: {problem.detail}" for problem in report.problems], "more")
    counts = report.checked
    parts = [f"{n} {what}" for what, n in counts.items() if n and what not in ("bytes", "rederived")]
    parts += [f"{size(counts['bytes'])} on disk"] * bool(counts["bytes"])
    parts += [f"{counts['rederived']} samples rederived from the source"] * bool(counts["rederived"])
    put(f"{checked}: verified ({', '.join(parts)})", style="green")
    if len(report.containers) > 1:
        put("Every image is stored in a folder and in a shard: both are checked, and images are counted in both.")
    if report.partial:
        absent = f"not in it: {first_few(report.absent)}" if report.absent else "it has all sets"
        put_notes([f"a part of the data set; {absent}"])
    put_notes(report.notes)
    put_facts({"Digest": report.digest})


def _put_first(lines: Sequence[str], more: str) -> None:
    for line in lines[:MOST_SHOWN]:
        put(line)
    if len(lines) > MOST_SHOWN:
        put(f"... and {len(lines) - MOST_SHOWN} {more} (all of them with --json)")


def _compared(done: Rebuilt) -> dict[str, Any]:
    built = done.built
    compared = {name: getattr(done, name) for name in ("whole", "identical", "other_files", "other_images")}
    made = {"sets": len(built.manifest.sets), "images": built.images, "seconds": round(built.seconds, 3)}
    other = (
        f"The pixels are the same, some bytes are not: {done.other_images} images are encoded otherwise; "
        f"{first_few(done.other_files, MOST_OTHER)} differ. {done.advice}"
    )
    same = "Every file has the bytes that the manifest lists."
    notes = [same if done.identical else other]
    return {"ok": True, "directory": built.directory, "digest": built.digest, **compared, **made, "notes": notes}


def rebuild(
    manifest: Annotated[
        Path,
        typer.Argument(
            metavar="MANIFEST", help="A manifest.json, its folder, or what `corruptset pack --manifest-only` wrote."
        ),
    ],
    source: OriginalSource = None,
    labels: Labels = None,
    images: ImageNames = None,
    groups: Groups = None,
    sets: Sets = None,
    frost_textures: FrostTextures = None,
    plugins: Plugins = None,
    out: Annotated[
        Path,
        typer.Option(
            "--out",
            "-o",
            metavar="DIR",
            rich_help_panel=OUTPUT,
            help="The dataset is written to DIR/<recipe>-<version>.",
        ),
    ] = Path("corruptset-out"),
    as_json: AsJson = False,
    surrogate: Surrogate = None,
    device: Device = None,
    jobs: Jobs = None,
) -> None:
    """Rebuild a dataset from its records and its source, and check its digests.

    This is for releases without pixels. To resume a rebuild that was stopped, run the same command again.
    """
    from .. import rebuild as run

    with progress_of("rebuild") as progress:
        done = run(
            manifest,
            source,
            out,
            labels=labels,
            images=images,
            groups=groups,
            sets=sets,
            frost_textures=frost_textures,
            plugins=plugins,
            surrogate=surrogate,
            device=device,
            jobs=jobs,
            progress=progress,
        )
    put_result(_compared(done), as_json=as_json)
