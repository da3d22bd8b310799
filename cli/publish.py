"""`corruptset publish` and `corruptset fetch`: packed archives onto a hub or to a store, and a published data
set back.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from ..errors import first_few
from ..quantities import size
from .options import AsJson, argument, option, split_globs
from .output import progress_of, put, put_json, put_notes, put_rows


def publish(
    directory: Path = argument("DIR", "A folder that `corruptset pack` wrote."),
    to: str = option("--to PLACE", "A folder, hf://datasets/USER/NAME, or a store such as s3://bucket/prefix."),
    layout: Literal["plain", "huggingface", "zenodo"] | None = option(
        "--for",
        "What for; by default what the place wants. zenodo makes a folder: files/ to upload, and zenodo.json.",
        None,
    ),
    go: bool = option("--go", "Send the files. Without it, say what would be sent.", False),
    replace: bool = option("--replace", "Overwrite files that are there and differ.", False),
    private: bool = option("--private", "Of a data set that is made on the hub: only you see it.", False),
    creator: list[str] | None = option(
        "--creator NAME", "'Family, Given; Affiliation', for Zenodo. Can be repeated.", None
    ),
    license: str | None = option("--license ID", "The licence on the record page: an SPDX id such as cc-by-4.0.", None),
    url: str | None = option(
        "--url URL", "Of the folder that people will read the files from, for croissant.json.", None
    ),
    date: str | None = option("--date DAY", "When it is published, YYYY-MM-DD, for croissant.json.", None),
    as_json: AsJson = False,
) -> None:
    """Publish a packed data set: show which files go where, and with --go send them.

    Files that are there already are compared and not sent again, so the same command resumes an interrupted one. Files
    that are there and differ are refused. The index comes last: without it nobody can fetch the release.
    """
    with progress_of("publish") as progress:
        from ..manifests.distribution.publish import publish as run

        done = run(
            directory,
            to,
            layout=layout,
            go=go,
            replace=replace,
            private=private,
            creators=creator or (),
            license=license,
            url=url,
            date=date,
            progress=progress,
        )
    to_send = done.to_send
    if as_json:
        files = [
            {"path": f.path, "bytes": f.bytes, "sha256": f.sha256, "there": done.there.get(f.path)} for f in done.files
        ]
        sent = {"sent": [f.path for f in to_send] if done.done else [], "bytes": sum(f.bytes for f in to_send)}
        release = {"to": done.place, "layout": done.layout, "digest": done.digest, "done": done.done}
        return put_json({"ok": True, **release, **sent, "files": files, "notes": done.notes})
    states = {
        None: "sent" if done.done else "to send",
        "same": "there already",
        "differs": "replaced" if done.done else "to replace",
    }
    put_rows(
        ("file", "size", "state"),
        ((f.path, size(f.bytes), states[done.there.get(f.path)]) for f in done.files),
        right=("size",),
    )
    put_notes(done.notes)
    what = f"{len(to_send)} of {len(done.files)} files, {size(sum(f.bytes for f in to_send))}"
    put(
        f"{what}, sent to {done.place}"
        if done.done
        else f"{what}, would be sent to {done.place}. Nothing was sent: add --go to do it."
    )
    put(f"Digest: {done.digest}")


def fetch(
    address: str = argument(
        "URL", "Of the folder with archives.json: https://..., hf://datasets/USER/NAME, s3://bucket/prefix."
    ),
    out: Path = option("--out -o DIR", "Receives the data set's folder, NAME-VERSION."),
    sets: list[str] | None = option(
        "--sets GLOB",
        "Only the archives with these sets, such as 'fog/*'. Can be repeated, or separated by commas.",
        None,
        callback=split_globs,
    ),
    digest: str | None = option("--digest SHA256", "The digest that is expected; any other is refused.", None),
    packed: bool = option("--packed", "Keep the archives as they are, and unpack nothing.", False),
    connections: int = option("--connections", "Archives that are fetched at the same time.", 4, min=1, max=64),
    level: Literal["structure", "sizes", "hashes", "pixels"] = option(
        "--level", "How far the data set is verified; every byte was compared with a hash before.", "pixels"
    ),
    jobs: int = option("--jobs -j N", "Processes that verify.", 1, min=1),
    as_json: AsJson = False,
) -> None:
    """Fetch a published data set: download the archives that are needed, check every byte, unpack and verify.

    A data set appears when it is whole and verified; until then its pieces lie in a hidden folder of DIR, and the same
    command resumes an interrupted one. More sets can be fetched into the same DIR later.
    """
    if digest is not None and not digest.startswith("sha256:"):
        digest = f"sha256:{digest}"
    with progress_of("fetch") as progress:
        from ..manifests.distribution.fetch import fetch as run

        done = run(
            address,
            out,
            sets=sets,
            digest=digest,
            packed=packed,
            connections=connections,
            level=level,
            jobs=jobs,
            progress=progress,
        )
    if as_json:
        return put_json({"ok": True, **vars(done)})
    put(
        f"{len(done.archives)} archives, {size(done.bytes)}; "
        f"{'every byte checked' if packed else 'unpacked and verified'}"
    )
    if done.absent:
        put_notes([f"a part of the data set; {len(done.absent)} sets are in other archives ({first_few(done.absent)})"])
    put(f"Path:   {done.path}")
    put(f"Digest: {done.digest}")
