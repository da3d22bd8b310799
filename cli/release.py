"""The commands `corruptset pack`, `unpack`, `publish` and `fetch`: archive datasets and exchange releases."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from .options import MACHINE, OUTPUT, SETS, AsJson, FinishedBuild, split_list
from .output import progress_of
from .records import fields_of, put_result

if TYPE_CHECKING:
    from ..manifests.distribution.publish import Publication
    from ..manifests.release.bag import Bag

Out = Annotated[
    Path,
    typer.Option(
        "--out",
        "-o",
        metavar="DIR",
        rich_help_panel=OUTPUT,
        help="The folder in which the folder of the dataset, NAME-VERSION, is created.",
    ),
]


def bytes_of(text: str) -> int:
    """Parse a number of bytes such as ``50GB``. Raise `typer.BadParameter` for any other text.

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
    """Return a digest with the prefix ``sha256:``. The prefix is added if it is missing."""
    return text if text.startswith("sha256:") else f"sha256:{text}"


def _archives(done: Bag) -> dict[str, Any]:
    archives = [{"path": a.path, "bytes": a.bytes, "sha256": a.sha256, "sets": list(a.sets)} for a in done.archives]
    whole = {"path": done.path, "digest": done.digest, "bytes": done.bytes, "kept": done.kept}
    return {"ok": True, **whole, "archives": archives, "parquet": [f.as_json() for f in done.parquet]}


def pack(
    directory: FinishedBuild,
    out: Annotated[
        Path,
        typer.Option(
            "--out",
            "-o",
            metavar="FOLDER",
            rich_help_panel=OUTPUT,
            help="A new or empty folder for the archives, or the folder of an interrupted call.",
        ),
    ],
    by: Annotated[
        Literal["family", "corruption", "set"],
        typer.Option(
            help="Write one archive per corruption, per set, or per family. The families are those of ImageNet-C "
            "(noise, blur, weather, digital, extra)."
        ),
    ] = "corruption",
    max_bytes: Annotated[
        int,
        typer.Option(
            metavar="SIZE",
            parser=bytes_of,
            show_default="50GB",
            help="The maximum size of an archive, such as 50GB or 4GiB. Larger archives are split.",
        ),
    ] = "50GB",  # type: ignore[assignment]  # `bytes_of` parses it.
    manifest_only: Annotated[
        bool,
        typer.Option(
            "--manifest-only",
            help="Pack only the records, without images, for a source whose licence does not allow redistribution.",
        ),
    ] = False,
    digests: Annotated[
        Literal["images", "sets"],
        typer.Option(
            help="With --manifest-only: keep the digest of each image, or only one per set, for a smaller release."
        ),
    ] = "images",
    parquet: Annotated[
        bool,
        typer.Option(
            "--parquet", help="Also write the images as Parquet files, for load_dataset from the Hugging Face Hub."
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Pack a finished dataset into archives for publishing, with checksums, a data card and Croissant files.

    Packing a dataset twice gives byte-identical archives. Every file is checked while it is read. If packing was
    interrupted, run the same command again to resume it.
    """
    from .. import pack as run

    with progress_of("pack") as progress:
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
    put_result(_archives(done), as_json=as_json)


def unpack(
    archives: Annotated[
        list[Path],
        typer.Argument(metavar="ARCHIVES...", help="The folder that `corruptset pack` wrote, or archives in it."),
    ],
    out: Out,
    as_json: AsJson = False,
) -> None:
    """Unpack all archives of a dataset, or those of some sets.

    Every file is checked while it is read, and only files that are listed in the records are written. More archives
    can be added later. If unpacking was interrupted, run the same command again to resume it.
    """
    from .. import unpack as run

    with progress_of("unpack") as progress:
        done = run(archives, out, progress=progress)
    put_result(fields_of(done), as_json=as_json)


def _files(done: Publication) -> dict[str, Any]:
    files = [
        {"path": f.path, "bytes": f.bytes, "sha256": f.sha256, "there": done.existing.get(f.path)} for f in done.files
    ]
    release = {"to": done.place, "layout": done.layout, "digest": done.digest, "done": done.sent}
    sent = {"sent": [f.path for f in done.to_send if done.sent], "bytes": sum(f.bytes for f in done.to_send)}
    dry = [] if done.sent else [f"Nothing was sent to {done.place}. To send the files, add --go."]
    return {"ok": True, **release, **sent, "files": files, "notes": [*done.notes, *dry]}


def publish(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="A folder that `corruptset pack` wrote.")],
    to: Annotated[
        str,
        typer.Option(metavar="PLACE", help="A folder, hf://datasets/USER/NAME, or a store such as s3://bucket/prefix."),
    ],
    layout: Annotated[
        Literal["plain", "huggingface", "zenodo"] | None,
        typer.Option(
            "--for",
            help="The layout to prepare, by default the one that suits --to. zenodo writes a folder with zenodo.json, "
            "and with the files to upload in its folder files/.",
        ),
    ] = None,
    go: Annotated[bool, typer.Option("--go", help="Send the files. Without it, only show what would be sent.")] = False,
    replace: Annotated[bool, typer.Option("--replace", help="Overwrite files that differ at the destination.")] = False,
    private: Annotated[
        bool, typer.Option("--private", help="If the dataset does not exist on the Hub, create it as private.")
    ] = False,
    creators: Annotated[
        list[str] | None,
        typer.Option("--creator", metavar="NAME", help="For Zenodo: 'Family, Given; Affiliation'. Can be repeated."),
    ] = None,
    license: Annotated[
        str | None,
        typer.Option(
            metavar="ID",
            help="The licence of the release, an SPDX id such as cc-by-4.0. It is shown on the page of the dataset on "
            "Zenodo or the Hub.",
        ),
    ] = None,
    url: Annotated[
        str | None,
        typer.Option(
            metavar="URL", help="For croissant.json: the public address of the folder with the files of the release."
        ),
    ] = None,
    date: Annotated[
        str | None, typer.Option(metavar="DAY", help="For croissant.json: the day of publication, YYYY-MM-DD.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Publish a packed dataset. Without --go, only show which files would be sent.

    Files that already exist at the destination are compared and not sent again. If one of them differs, nothing is
    sent, unless --replace is given. The index is sent last, so nobody can fetch an incomplete release. To resume, run
    the same command again.
    """
    from .. import publish as run

    with progress_of("publish") as progress:
        done = run(
            directory,
            to,
            layout=layout,
            go=go,
            replace=replace,
            private=private,
            creators=creators or (),
            license=license,
            url=url,
            date=date,
            progress=progress,
        )
    put_result(_files(done), as_json=as_json)


def fetch(
    address: Annotated[
        str,
        typer.Argument(
            metavar="URL",
            help="The folder that contains archives.json: https://..., hf://datasets/USER/NAME, s3://bucket/prefix.",
        ),
    ],
    out: Out,
    sets: Annotated[
        list[str] | None,
        typer.Option(
            metavar="GLOB",
            rich_help_panel=SETS,
            callback=split_list,
            help="Fetch only the archives with these sets, such as 'fog/*'. Repeat the option, or separate names with "
            "commas.",
        ),
    ] = None,
    digest: Annotated[
        str | None,
        typer.Option(
            metavar="SHA256",
            parser=sha256_of,
            help="The expected digest. A dataset with a different digest is refused.",
        ),
    ] = None,
    packed: Annotated[bool, typer.Option("--packed", help="Only download the archives, without unpacking.")] = False,
    level: Annotated[
        Literal["structure", "sizes", "hashes", "pixels"],
        typer.Option(
            help="How thoroughly to verify the dataset. Each level includes the previous ones. The hashes of "
            "all archives are checked in any case."
        ),
    ] = "pixels",
    connections: Annotated[
        int,
        typer.Option(metavar="N", min=1, max=64, rich_help_panel=MACHINE, help="The number of parallel downloads."),
    ] = 4,
    jobs: Annotated[
        int,
        typer.Option(
            "--jobs",
            "-j",
            metavar="N",
            min=1,
            rich_help_panel=MACHINE,
            help="The number of worker processes that verify the dataset.",
        ),
    ] = 1,
    as_json: AsJson = False,
) -> None:
    """Download the archives of a published dataset, unpack them, and verify the dataset.

    The dataset appears when it is complete and verified. Until then, its files are in a hidden folder in DIR. To
    resume, run the same command again. More sets can be fetched into the same DIR later.
    """
    from .. import fetch as run

    with progress_of("fetch") as progress:
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
    put_result(fields_of(done), as_json=as_json)
