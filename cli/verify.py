"""`corruptset verify` and `corruptset rebuild`: is a data set what its manifest says; and one made again from its
records.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from ..errors import first_few
from ..quantities import duration, size
from .options import REMAKE_OPTIONS, AsJson, Sets, argument, count_or_all, option, with_options
from .output import progress_of, put, put_json, put_notes, say

if TYPE_CHECKING:
    from ..manifests.records.report import VerificationReport

MOST_SHOWN = 50
MOST_OTHER = 5
"""Files of other bytes that are named of a data set that was made again."""


@with_options(REMAKE_OPTIONS)
def verify(
    directory: Path = argument("DIR", "The directory of a build (manifest.json) or of a view (VIEW.json)."),
    view: Path | None = option(
        "--view PATH",
        "Check the view that was exported from this build to PATH, image by image, against the build's digests.",
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

    An exported view is checked by its own VIEW.json, or with --view against the build that it came from.
    """
    with progress_of("verify") as progress:
        from ..corruptions.calibrations import get_calibration
        from ..generate.reproduction.verify import verify as run

        report = run(
            directory,
            rederive=rederive,  # type: ignore[arg-type]
            repair=repair,
            calibration_side=None if calibration is None else get_calibration(calibration).side,
            view=view,
            progress=progress,
            **given,
        )
    if as_json:
        put_json(report.as_json())
    else:
        _put_report(report, view or directory)
    raise typer.Exit(0 if report.ok else 1)


def _put_report(report: VerificationReport, checked_path: Path) -> None:

    _put_first([f"mended: {path}" for path in report.mended or []], "more mended")
    if not report.ok:
        say(f"{report.directory}: {len(report.problems)} problem{'s' * (len(report.problems) != 1)}", style="red")
        _put_first([f"{problem.kind}: {problem.path}: {problem.detail}" for problem in report.problems], "more")
        return
    checked = [
        f"{count} {what}" for what, count in report.checked.items() if count and what not in ("bytes", "rederived")
    ]
    checked += [f"{size(report.checked['bytes'])} on disk"] if report.checked.get("bytes") else []
    checked += [f"{report.checked['rederived']} samples made again from the source"] * bool(
        report.checked.get("rederived")
    )
    put(f"{checked_path}: verified ({', '.join(checked)})", style="green")
    if len(report.containers) > 1:
        put("Every image is stored in a folder and in a shard: both are checked, and images are counted in both.")
    if report.partial:
        absent = (
            f"these {len(report.absent)} sets are not in it: {first_few(report.absent)}"
            if report.absent
            else "it has all sets"
        )
        put_notes([f"a part of the data set; {absent}"])
    put_notes(report.notes)
    put(f"Digest: {report.digest}")


def _put_first(lines: Sequence[str], more: str) -> None:
    for line in lines[:MOST_SHOWN]:
        put(line)
    if len(lines) > MOST_SHOWN:
        put(f"... and {len(lines) - MOST_SHOWN} {more} (all of them with --json)")


@with_options(REMAKE_OPTIONS)
def rebuild(
    manifest: Path = argument("MANIFEST", "A manifest.json, its folder, or what pack --manifest-only wrote."),
    out: Path = option("--out -o DIR", "The data set goes to DIR/<recipe>-<version>.", Path("corruptset-out")),
    sets: Sets = None,
    as_json: AsJson = False,
    **given: Any,
) -> None:
    """Make a data set again from its records and its source, and check it image by image against its digests.

    For releases without pixels. The same command resumes one that was stopped.
    """
    with progress_of("rebuild") as progress:
        from ..generate.reproduction.rebuild import rebuild as run

        rebuilt = run(manifest, out=out, sets=sets, progress=progress, **given)
    built = rebuilt.built
    if as_json:
        compared = {name: getattr(rebuilt, name) for name in ("whole", "identical", "other_files", "other_images")}
        made = {"sets": len(built.manifest.sets), "images": built.images, "seconds": round(built.seconds, 3)}
        return put_json({"ok": True, "directory": built.directory, "digest": built.digest, **compared, **made})
    count = sum(s.count for s in built.manifest.sets)
    put(f"{len(built.manifest.sets)} sets, {count} images: the pixels of the manifest, in {duration(built.seconds)}")
    put(f"Directory: {built.directory}")
    put(
        f"Digest:    {built.digest}{' (the manifest’s)' if rebuilt.whole else ' (of these sets)'}",
        style="green" if rebuilt.whole else None,
    )
    if rebuilt.identical:
        put("Every file has the bytes that the manifest lists.")
    else:
        more = f" and {len(rebuilt.other_files) - MOST_OTHER} more" if len(rebuilt.other_files) > MOST_OTHER else ""
        put(
            f"The pixels are the same, some bytes are not: {rebuilt.other_images} images are encoded otherwise; "
            f"{', '.join(rebuilt.other_files[:MOST_OTHER])}{more} differ. {rebuilt.advice}",
            style="yellow",
        )
