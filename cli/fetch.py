"""`corruptset fetch URL --out DIR`: a published data set, or some of its sets."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from ..errors import first_few
from ..quantities import size
from .options import AsJson, split_globs
from .output import progress_of, put, put_json, put_notes


def fetch(
    address: Annotated[
        str,
        typer.Argument(metavar="URL", help="Of the folder with archives.json: https://..., hf://datasets/USER/NAME, s3://bucket/prefix."),
    ],
    out: Annotated[Path, typer.Option("--out", "-o", metavar="DIR", help="Receives the data set's folder, NAME-VERSION.")],
    sets: Annotated[
        list[str] | None,
        typer.Option(
            "--sets",
            metavar="GLOB",
            help="Only the archives with these sets, such as 'fog/*'. Can be repeated, or separated by commas.",
            show_default=False,
        ),
    ] = None,
    digest: Annotated[
        str | None,
        typer.Option("--digest", metavar="SHA256", help="The digest that is expected; any other is refused.", show_default=False),
    ] = None,
    packed: Annotated[bool, typer.Option("--packed", help="Keep the archives as they are, and unpack nothing.")] = False,
    connections: Annotated[int, typer.Option("--connections", min=1, max=64, help="Archives that are fetched at the same time.")] = 4,
    level: Annotated[
        Literal["structure", "sizes", "hashes", "pixels"],
        typer.Option("--level", help="How far the data set is verified; every byte was compared with a hash before."),
    ] = "pixels",
    jobs: Annotated[int, typer.Option("--jobs", "-j", min=1, metavar="N", help="Processes that verify.")] = 1,
    as_json: AsJson = False,
) -> None:
    """Fetch a published data set: download the archives that are needed, check every byte, unpack and verify.

    A data set appears when it is whole and verified; until then its pieces lie in a hidden folder of DIR, and the same command resumes
    an interrupted one. More sets can be fetched into the same DIR later.
    """
    if digest is not None and not digest.startswith("sha256:"):
        digest = f"sha256:{digest}"
    with progress_of("fetch") as progress:
        from ..manifests.distribution.fetch import fetch as run

        done = run(
            address,
            out,
            sets=split_globs(sets),
            digest=digest,
            packed=packed,
            connections=connections,
            level=level,
            jobs=jobs,
            progress=progress,
        )
    if as_json:
        put_json(
            {
                "ok": True,
                "path": str(done.path),
                "digest": done.digest,
                "sets": done.sets,
                "absent": done.absent,
                "archives": done.archives,
                "bytes": done.bytes,
            }
        )
        return
    put(f"{len(done.archives)} archives, {size(done.bytes)}; {'every byte checked' if packed else 'unpacked and verified'}")
    if done.absent:
        put_notes([f"a part of the data set; {len(done.absent)} sets are in other archives ({first_few(done.absent)})"])
    put(f"Path:   {done.path}")
    put(f"Digest: {done.digest}")
