"""`corruptset verify` and `corruptset rebuild`: a data set checked, and made again."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from ..errors import first_few
from ..quantities import plural, size
from .command import runs
from .options import REMAKE_OPTIONS, AsJson, Sets, argument, count_or_all, option, with_options
from .output import progress_of, put, put_json, put_notes, say
from .records import put_facts

if TYPE_CHECKING:
    from ..generate.reproduction.rebuild import Rebuilt
    from ..manifests.records.report import VerificationReport

MOST_SHOWN = 50
MOST_OTHER = 5
"""Files of other bytes that are named of a data set that was made again."""


@with_options(REMAKE_OPTIONS)
def verify(
    directory: Path = argument("DIR", "The directory of a build (manifest.json) or of an export (VIEW.json)."),
    export: Path | None = option(
        "--export PATH",
        "Check the export at PATH, which was made from this dataset, image by image against the dataset.",
        None,
    ),
    rederive: str | None = option(
        "--rederive N|all",
        "Also make N samples again from the source under every set, and compare.",
        None,
        callback=count_or_all,
    ),
    repair: bool = option(
        "--repair",
        "Make what is wrong or missing again from the source, leave the rest untouched, and verify again.",
        False,
    ),
    calibration: str | None = option(
        "--calibration FILE", "For --rederive of a build with --scale side and a table of your own: that table.", None
    ),
    as_json: AsJson = False,
    **given: Any,
) -> None:
    """Check a data set against its manifest: structure, missing and unexpected files, sizes, hashes, pixels.

    An export is checked by its own VIEW.json, or with --export against the dataset that it was made from.
    """
    given |= {"rederive": rederive, "repair": repair, "export": export}
    with progress_of("verify") as progress:
        from ..corruptions.calibrations import get_calibration
        from ..generate.reproduction.verify import verify as run

        side = None if calibration is None else get_calibration(calibration).side
        report = run(directory, calibration_side=side, progress=progress, **given)
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
    parts += [f"{counts['rederived']} samples made again from the source"] * bool(counts["rederived"])
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


@runs(REMAKE_OPTIONS, json=_compared)
def rebuild(
    manifest: Path = argument("MANIFEST", "A manifest.json, its folder, or what pack --manifest-only wrote."),
    out: Path = option("--out -o DIR", "The data set goes to DIR/<recipe>-<version>.", Path("corruptset-out")),
    sets: Sets = None,
) -> None:
    """Make a data set again from its records and source, and check its digests.

    For releases without pixels. The same command resumes one that was stopped.
    """
