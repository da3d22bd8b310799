"""The commands `corruptset verify` and `corruptset rebuild`: check, repair and rebuild datasets."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import first_few
from ..quantities import plural, size
from .options import (
    AsJson,
    DatasetFolder,
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

MAX_LISTED_PROBLEMS = 50
MAX_NAMED_FILES = 5
"""The maximum number of files with different contents that are named after a rebuild."""


def verify(
    directory: Annotated[
        Path,
        typer.Argument(metavar="DIR", help="The directory of a dataset (manifest.json) or of an export (VIEW.json)."),
    ],
    export: Annotated[
        Path | None,
        typer.Option(
            metavar="PATH",
            help="Compare the export at PATH image by image with this dataset, from which it was made.",
        ),
    ] = None,
    rederive: Annotated[
        int | None,
        typer.Option(
            metavar="N|all",
            parser=count_or_all,
            help="Also recompute N samples of every set from the source, and compare them with the stored images.",
        ),
    ] = None,
    repair: Annotated[
        bool,
        typer.Option(
            "--repair", help="Restore damaged and missing files from the source, then verify the dataset again."
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
            help="With --rederive: the calibration file (.toml) of the build. It is needed if the dataset was built "
            "with --scale side and such a file.",
        ),
    ] = None,
    surrogate: Surrogate = None,
    device: Device = None,
    jobs: Jobs = None,
    as_json: AsJson = False,
) -> None:
    """Check a dataset against its manifest.

    The checks cover the structure, missing and unexpected files, sizes, hashes and pixels. An export is checked
    against its VIEW.json, or with --export against the dataset from which it was made.
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
    _put_first([f"repaired: {path}" for path in report.mended or []], "more repaired")
    if not report.ok:
        say(f"{report.directory}: {plural(len(report.problems), 'problem')}", style="red")
        return _put_first([f"{problem.kind}: {problem.path}: {problem.detail}" for problem in report.problems], "more")
    counts = report.checked
    nouns = {"sets": "set", "samples": "sample", "images": "image", "files": "other file"}
    parts = [plural(counts[what], noun) for what, noun in nouns.items() if counts.get(what)]
    parts += [f"{size(counts['bytes'])} on disk"] * bool(counts["bytes"])
    parts += [f"{counts['rederived']} samples rederived from the source"] * bool(counts["rederived"])
    put(f"{checked}: verified ({', '.join(parts)})", style="green")
    if len(report.containers) > 1:
        put("Every image is stored in a folder and in a shard. Both are checked, and each image counts twice.")
    if report.partial:
        absent = f"does not contain {first_few(report.absent)}" if report.absent else "contains all sets"
        put_notes([f"This is a part of the dataset. It {absent}."])
    put_notes(report.notes)
    put_facts({"Digest": report.digest})


def _put_first(lines: Sequence[str], more: str) -> None:
    for line in lines[:MAX_LISTED_PROBLEMS]:
        put(line)
    if len(lines) > MAX_LISTED_PROBLEMS:
        put(f"... and {len(lines) - MAX_LISTED_PROBLEMS} {more} (--json lists all)")


def _rebuild_record(done: Rebuilt) -> dict[str, Any]:
    built = done.built
    comparison = {name: getattr(done, name) for name in ("whole", "identical", "other_files", "other_images")}
    counts = {"sets": len(built.manifest.sets), "images": built.images, "seconds": round(built.seconds, 3)}
    difference = (
        f"All pixels are equal, but {plural(done.other_images, 'image')} are encoded differently, and these files "
        f"differ: {first_few(done.other_files, MAX_NAMED_FILES)}. {done.advice}"
    )
    equality = "Every file is identical to the one that the manifest lists."
    notes = [equality if done.identical else difference]
    return {"ok": True, "directory": built.directory, "digest": built.digest, **comparison, **counts, "notes": notes}


def rebuild(
    manifest: Annotated[
        Path,
        typer.Argument(
            metavar="MANIFEST",
            help="A manifest.json, its folder, or a folder that `corruptset pack --manifest-only` wrote.",
        ),
    ],
    source: OriginalSource = None,
    labels: Labels = None,
    images: ImageNames = None,
    groups: Groups = None,
    sets: Sets = None,
    frost_textures: FrostTextures = None,
    plugins: Plugins = None,
    out: DatasetFolder = Path("corruptset-out"),
    as_json: AsJson = False,
    surrogate: Surrogate = None,
    device: Device = None,
    jobs: Jobs = None,
) -> None:
    """Rebuild a dataset from its records and its source, and check its digests.

    Use this for releases without pixels. To resume an interrupted rebuild, run the same command again.
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
    put_result(_rebuild_record(done), as_json=as_json)
