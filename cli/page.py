"""`corruptset page DIR`: the page of a finished data set, made again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .options import AsJson, Groups, ImagesOption, Labels
from .output import put, put_json, put_notes, size


def page(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="The directory of a finished build (the one that holds manifest.json).")],
    source: Annotated[
        str | None,
        typer.Option(
            "--source",
            metavar="SOURCE",
            help="The source of the data set, for its clean images; not needed for 'sample', nor where they are stored.",
            show_default=False,
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FILE", help="Write the page there, and leave the data set as it is.", show_default=False),
    ] = None,
    labels: Labels = None,
    images: ImagesOption = None,
    groups: Groups = None,
    as_json: AsJson = False,
) -> None:
    """Make the page of a finished data set, index.html: what it is, every set with pictures and curves, how to load it.

    A build has one already, unless it was made with --no-page or by an earlier release. The data set's digest stays.
    """
    from .progress import Progress

    with Progress("page"):
        from ..generate.again.page_again import page as make_page
        from ..generate.again.remake import Means

        made = make_page(directory, out=out, means=Means(source, labels, images, groups))
    if as_json:
        put_json({"ok": True, "page": str(made.path), "bytes": made.bytes, "clean": made.clean, "digest": made.digest})
        return
    if not made.clean:
        put_notes(["it shows no clean images: the data set stores none, and no --source was named"])
    put(f"Page:   {made.path} ({size(made.bytes)})")
    put(f"Digest: {made.digest}")
