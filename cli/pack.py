"""`corruptset pack DIR` and `corruptset unpack ARCHIVES...`: a data set as archives, and back."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import typer

from ..digests import digits
from ..errors import first_few
from ..quantities import size
from .options import AsJson, FinishedBuild, argument, option
from .output import progress_of, put, put_json, put_notes


def bytes_of(text: str) -> int:
    """Return a number of bytes from text such as ``50GB``; anything else is a user's mistake.

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


def pack(
    directory: FinishedBuild,
    out: Path = option("--out -o DIR2", "Receives the archives and what goes with them; new or empty."),
    by: Literal["family", "corruption", "set"] = option(
        "--by",
        "An archive for each family (as ImageNet-C ships: noise, blur, weather, digital, extra), corruption or set.",
        "family",
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
    as_json: AsJson = False,
) -> None:
    """Pack a finished build into archives for publishing, with checksums, a data card, BagIt and Croissant files.

    Two packings of one build are equal byte for byte. Every file is checked while it is read. The same command resumes
    an interrupted pack.
    """
    with progress_of("pack") as progress:
        from .. import pack as run

        done = run(
            directory,
            out,
            by=by,
            max_bytes=max_bytes,
            manifest_only=manifest_only,
            digests=digests,
            parquet=parquet,
            progress=progress,
        )
    if as_json:
        archives = [{"path": a.path, "bytes": a.bytes, "sha256": a.sha256, "sets": list(a.sets)} for a in done.archives]
        record = {
            "ok": True,
            "path": done.path,
            "digest": done.digest,
            "bytes": done.bytes,
            "kept": done.kept,
            "archives": archives,
        }
        return put_json(record)
    for a in done.archives:
        put(f"{digits(a.sha256)}  {a.path}  {size(a.bytes)}, {len(a.sets)} sets")
    kept = f", {done.kept} of them stood already" if done.kept else ""
    put(f"{len(done.archives)} archives, {size(done.bytes)}{kept}")
    put(f"Path:   {done.path}")
    put(f"Digest: {done.digest}")


def unpack(
    archives: list[Path] = argument("ARCHIVES...", "The folder that pack wrote, or any of the archives in it."),
    out: Path = option("--out -o DIR", "Receives the data set's folder, NAME-VERSION."),
    as_json: AsJson = False,
) -> None:
    """Unpack archives of a data set: all of them, or those of the sets that are wanted.

    Every file is checked while it is read, and nothing that the records do not name is written. More archives can be
    added later, and the same command resumes an interrupted unpack.
    """
    with progress_of("unpack") as progress:
        from ..manifests.release.unpack import unpack as run

        done = run(archives, out, progress=progress)
    if as_json:
        return put_json({"ok": True, **vars(done)})
    kept = f", {done.kept} were there already" if done.kept else ""
    put(f"{len(done.sets)} sets; {done.written} files written{kept}")
    if done.absent:
        put_notes([f"a part of the data set; {len(done.absent)} sets are in other archives ({first_few(done.absent)})"])
    put(f"Path:   {done.path}")
    put(f"Digest: {done.digest}")
