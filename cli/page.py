"""`corruptset page DIR`: the page of a finished data set, made again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from ..quantities import size
from .options import AsJson, FinishedBuild, Groups, Images, Labels, OriginalSource, option
from .output import progress_of, put, put_json, put_notes


def page(
    directory: FinishedBuild,
    source: OriginalSource = None,
    out: Annotated[Path | None, option("--out -o FILE", "Write the page there, and leave the data set as it is.")] = None,
    labels: Labels = None,
    images: Images = None,
    groups: Groups = None,
    as_json: AsJson = False,
) -> None:
    """Make the page of a finished data set, index.html: what it is, every set with pictures and curves, how to load it.

    A build has one already, unless it was made with --no-page or by an earlier release. The data set's digest stays.
    """
    with progress_of("page") as progress:
        from ..generate.again.page_again import page as make_page

        made = make_page(directory, source, out=out, labels=labels, images=images, groups=groups, progress=progress)
    if as_json:
        return put_json({"ok": True, "page": str(made.path), "bytes": made.bytes, "clean": made.clean, "digest": made.digest})
    if not made.clean:
        put_notes(["it shows no clean images: the data set stores none, and no --source was named"])
    put(f"Page:   {made.path} ({size(made.bytes)})")
    put(f"Digest: {made.digest}")
