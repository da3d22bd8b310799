"""`corruptset pack`, `unpack`, `publish` and `fetch`: archives of a data set, and the network."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import typer

from .command import runs
from .options import FinishedBuild, argument, option, split_globs

if TYPE_CHECKING:
    from ..manifests.distribution.publish import Publication
    from ..manifests.release.bag import Bag

OUT = option("--out -o DIR", "Receives the data set's folder, NAME-VERSION.")


def bytes_of(text: str) -> int:
    """Return a number of bytes from text such as ``50GB``; refuse any other.

    Examples
    --------
    >>> bytes_of("1.5 GB"), bytes_of("2KiB")
    (1500000000, 2048)
    """
    from pydantic import ByteSize, TypeAdapter, ValidationError

    try:
        count = int(TypeAdapter(ByteSize).validate_python(text))
    except ValidationError:
        count = 0
    if count < 1:
        raise typer.BadParameter(f"{text!r} is not a size such as 50GB, 4GiB or 1000000.")
    return count


def sha256_of(text: str) -> str:
    """Return a digest with the name of its algorithm, which may be left out."""
    return text if text.startswith("sha256:") else f"sha256:{text}"


def _archives(done: Bag) -> dict[str, Any]:
    archives = [{"path": a.path, "bytes": a.bytes, "sha256": a.sha256, "sets": list(a.sets)} for a in done.archives]
    whole = {"path": done.path, "digest": done.digest, "bytes": done.bytes, "kept": done.kept}
    return {"ok": True, **whole, "archives": archives, "parquet": [f.as_json() for f in done.parquet]}


@runs(json=_archives)
def pack(
    directory: FinishedBuild,
    out: Path = option("--out -o DIR2", "Receives the archives and what goes with them; new or empty."),
    by: Literal["family", "corruption", "set"] = option(
        "--by",
        "Write one archive per corruption, per set, or per family as ImageNet-C does (noise, blur, weather, digital, "
        "extra).",
        "corruption",
    ),
    max_bytes: int = option(
        "--max-bytes SIZE",
        "The largest archive, such as 50GB or 4GiB; what is larger is split.",
        "50GB",
        parser=bytes_of,
    ),
    manifest_only: bool = option(
        "--manifest-only", "Only the records, no images: for a source whose licence forbids passing them on.", False
    ),
    digests: Literal["images", "sets"] = option(
        "--digests",
        "With --manifest-only: the digest of every image, or one of each set, which makes a small release.",
        "images",
    ),
    parquet: bool = option("--parquet", "Write the images once more, for load_dataset on the Hugging Face hub.", False),
) -> None:
    """Pack a finished build into archives for publishing, with checksums, data card and Croissant files.

    Two packings of one build are equal byte for byte. Every file is checked while it is read. The same command resumes
    an interrupted pack.
    """


@runs()
def unpack(
    archives: list[Path] = argument("ARCHIVES...", "The folder that pack wrote, or any of the archives in it."),
    out: Path = OUT,
) -> None:
    """Unpack archives of a data set: all of them, or those of some sets.

    Every file is checked while it is read, and nothing that the records do not name is written. More archives can be
    added later, and the same command resumes an interrupted unpack.
    """


def _files(done: Publication) -> dict[str, Any]:
    files = [
        {"path": f.path, "bytes": f.bytes, "sha256": f.sha256, "there": done.there.get(f.path)} for f in done.files
    ]
    release = {"to": done.place, "layout": done.layout, "digest": done.digest, "done": done.done}
    sent = {"sent": [f.path for f in done.to_send if done.done], "bytes": sum(f.bytes for f in done.to_send)}
    dry = [] if done.done else [f"Nothing was sent to {done.place}: add --go to do it."]
    return {"ok": True, **release, **sent, "files": files, "notes": [*done.notes, *dry]}


@runs(json=_files)
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
    creators: list[str] = option("--creator NAME", "'Family, Given; Affiliation', for Zenodo. Can be repeated.", []),
    license: str | None = option("--license ID", "The licence on the record page: an SPDX id such as cc-by-4.0.", None),
    url: str | None = option(
        "--url URL", "Of the folder that people will read the files from, for croissant.json.", None
    ),
    date: str | None = option("--date DAY", "When it is published, YYYY-MM-DD, for croissant.json.", None),
) -> None:
    """Publish a packed data set: show which files go where, and with --go send them.

    Files that are there already are compared and not sent again, so the same command resumes an interrupted one. Files
    that are there and differ are refused. The index comes last: without it nobody can fetch the release.
    """


@runs()
def fetch(
    address: str = argument(
        "URL", "Of the folder with archives.json: https://..., hf://datasets/USER/NAME, s3://bucket/prefix."
    ),
    out: Path = OUT,
    sets: list[str] | None = option(
        "--sets GLOB",
        "Only the archives with these sets, such as 'fog/*'. Can be repeated, or separated by commas.",
        None,
        callback=split_globs,
    ),
    digest: str | None = option(
        "--digest SHA256", "The digest that is expected; any other is refused.", None, parser=sha256_of
    ),
    packed: bool = option("--packed", "Keep the archives as they are, and unpack nothing.", False),
    connections: int = option("--connections", "Archives that are fetched at the same time.", 4, min=1, max=64),
    level: Literal["structure", "sizes", "hashes", "pixels"] = option(
        "--level", "How far the data set is verified; every byte was compared with a hash before.", "pixels"
    ),
    jobs: int = option("--jobs -j N", "Processes that verify.", 1, min=1),
) -> None:
    """Fetch a published data set: download the archives, check every byte, unpack and verify.

    A data set appears when it is whole and verified; until then its pieces lie in a hidden folder of DIR, and the same
    command resumes an interrupted one. More sets can be fetched into the same DIR later.
    """
