"""`corruptset fetch URL --out DIR`: a published data set, or some of its sets."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from ..errors import first_few
from ..quantities import size
from .options import AsJson, argument, option, split_globs
from .output import progress_of, put, put_json, put_notes


def fetch(
    address: Annotated[str, argument("URL", "Of the folder with archives.json: https://..., hf://datasets/USER/NAME, s3://bucket/prefix.")],
    out: Annotated[Path, option("--out -o DIR", "Receives the data set's folder, NAME-VERSION.")],
    sets: Annotated[
        list[str] | None,
        option("--sets GLOB", "Only the archives with these sets, such as 'fog/*'. Can be repeated, or separated by commas."),
    ] = None,
    digest: Annotated[str | None, option("--digest SHA256", "The digest that is expected; any other is refused.")] = None,
    packed: Annotated[bool, option("--packed", "Keep the archives as they are, and unpack nothing.")] = False,
    connections: Annotated[int, option("--connections", "Archives that are fetched at the same time.", min=1, max=64)] = 4,
    level: Annotated[
        Literal["structure", "sizes", "hashes", "pixels"],
        option("--level", "How far the data set is verified; every byte was compared with a hash before."),
    ] = "pixels",
    jobs: Annotated[int, option("--jobs -j N", "Processes that verify.", min=1)] = 1,
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
        return put_json({"ok": True, **vars(done)})
    put(f"{len(done.archives)} archives, {size(done.bytes)}; {'every byte checked' if packed else 'unpacked and verified'}")
    if done.absent:
        put_notes([f"a part of the data set; {len(done.absent)} sets are in other archives ({first_few(done.absent)})"])
    put(f"Path:   {done.path}")
    put(f"Digest: {done.digest}")
