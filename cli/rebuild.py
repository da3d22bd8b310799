"""`corruptset rebuild`: a data set again, from its records and its source."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from ..quantities import duration, size
from .build_options import REMAKE_OPTIONS, with_options
from .options import AsJson, Sets, argument, option, split_globs
from .output import progress_of, put, put_json

MOST_SHOWN = 5


@with_options(REMAKE_OPTIONS)
def rebuild(
    manifest: Annotated[Path, argument("MANIFEST", "A manifest.json, its folder, or what pack --manifest-only wrote.")],
    out: Annotated[Path, option("--out -o DIR", "The data set goes to DIR/<recipe>-<version>.")] = Path("corruptset-out"),
    sets: Sets = None,
    as_json: AsJson = False,
    *,
    given: Mapping[str, Any],
) -> None:
    """Make a data set again from its records and its source, and check it image by image against its digests.

    For releases without pixels. The same command resumes one that was stopped.
    """
    with progress_of("rebuild") as progress:
        from ..generate.again.rebuild import rebuild as run

        rebuilt = run(manifest, out=out, sets=split_globs(sets), progress=progress, **given)
    built = rebuilt.built
    if as_json:
        compared = {name: getattr(rebuilt, name) for name in ("whole", "identical", "other_files", "other_images")}
        made = {"sets": len(built.manifest.sets), "images": built.images, "seconds": round(built.seconds, 3)}
        return put_json({"ok": True, "directory": built.directory, "digest": built.digest, **compared, **made})
    total = sum(s.bytes for s in built.manifest.sets)
    count = sum(s.count for s in built.manifest.sets)
    put(f"{len(built.manifest.sets)} sets, {count} images, {size(total)}: the pixels of the manifest, in {duration(built.seconds)}")
    put(f"Directory: {built.directory}")
    put(
        f"Digest:    {built.digest}{' (the manifest’s)' if rebuilt.whole else ' (of these sets)'}", style="green" if rebuilt.whole else None
    )
    if rebuilt.identical:
        put("Every file has the bytes that the manifest lists.")
    else:
        more = f" and {len(rebuilt.other_files) - MOST_SHOWN} more" if len(rebuilt.other_files) > MOST_SHOWN else ""
        put(
            f"The pixels are the same, some bytes are not: {rebuilt.other_images} images are encoded otherwise; "
            f"{', '.join(rebuilt.other_files[:MOST_SHOWN])}{more} differ. {rebuilt.advice}",
            style="yellow",
        )
