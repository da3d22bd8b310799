"""The files of a release besides archives: the index, the README, checksums and the BagIt files.

The folder of a release is a BagIt bag (RFC 8493) with the archives as payload in ``data/``. The optional date in a bag
is omitted, because it would differ if the same dataset were packed twice.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from ...errors import VerificationError, first_few, format_list
from ...quantities import size
from ..checksums import sums_bytes
from ..paths import SHA256SUMS
from ..records.digests import sha256_bytes
from ..records.fields import Count, SetId, Sha256
from ..records.markdown import one_line, render_card
from ..records.models import FileRecord, Manifest, Record
from ..records.parsing import parse_record

INDEX = "archives.json"
PAYLOAD = "data"
"""The folder that contains the archives."""
TAG_SUMS = "tagmanifest-sha256.txt"
INDEX_CAP = 64 << 20
"""Limit on the size of the index in bytes. With 10,000 archives, the index has about 3 MB."""
Omitted = Literal["nothing", "images", "rows"]
"""The parts of a dataset that a release omits. ``rows`` means images and their records."""


class IndexedFile(Record):
    """A small file of a release, such as README.md."""

    path: Annotated[str, Field(pattern=r"^[0-9A-Za-z_][0-9A-Za-z._+-]*$", max_length=255)]
    bytes: Count
    sha256: Sha256

    @property
    def name(self) -> str:
        """The name of the file without folders."""
        return self.path.rpartition("/")[2]


class IndexedArchive(IndexedFile):
    """An archive of a release, with the ids of its sets. The archive of the records has no sets."""

    path: Annotated[str, Field(pattern=r"^(data/)?[a-z0-9][0-9A-Za-z._+-]*$", max_length=255)]
    """The path relative to the folder of the index."""
    sets: tuple[SetId, ...]


class ReleaseIndex(Record):
    """The contents of archives.json, the index of a release."""

    schema_version: Annotated[int, Field(ge=1, le=1)]
    name: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9._-]*$", max_length=255)]
    version: Annotated[str, Field(pattern=r"^[0-9A-Za-z][0-9A-Za-z._+-]*$", max_length=100)]
    digest: Sha256
    """The digest of the dataset."""
    aliases: dict[SetId, list[str]]
    """Set id -> aliases, for sets that have aliases."""
    files: list[IndexedFile]
    archives: Annotated[list[IndexedArchive], Field(min_length=1)]

    @property
    def folder(self) -> str:
        """The name of the folder of the unpacked dataset, ``<name>-<version>``."""
        return f"{self.name}-{self.version}"

    def encode(self) -> bytes:
        """Return the bytes of archives.json."""
        return json.dumps(self.as_json(), ensure_ascii=False, indent=1).encode() + b"\n"


def indexed_files(texts: Mapping[str, bytes]) -> list[IndexedFile]:
    """Return the records of small files, sorted by path."""
    return [IndexedFile(path=path, bytes=len(data), sha256=sha256_bytes(data)) for path, data in sorted(texts.items())]


def parse_index(data: bytes, where: str) -> ReleaseIndex:
    """Parse the bytes of archives.json. `where` is the location of the file for error messages.

    Raises
    ------
    VerificationError
        The bytes are not an index, or the index lists a file twice, lists itself, or lists the folder of the archives
        as a file.
    """
    index, errors = parse_record(ReleaseIndex, data)
    if index is None:
        raise VerificationError(
            f"{where} is not an index of a release:\n{format_list(errors)}\nFetch the release again."
        )
    names = Counter([INDEX, PAYLOAD, *(file.name.casefold() for file in (*index.files, *index.archives))])
    if duplicates := [name for name, times in names.items() if times > 1]:
        raise VerificationError(
            f"{where} lists a file twice (ignoring case), lists itself, or lists the folder {PAYLOAD} as a file: "
            f"{first_few(duplicates)}. Do not use this release."
        )
    return index


@dataclass(frozen=True)
class Bag:
    """The result of `pack`.

    Attributes
    ----------
    path : Path
        The folder of the release.
    digest : str
        The digest of the dataset.
    archives : list of IndexedArchive
        The archives, with the path, size, hash and sets of each.
    kept : int
        The number of archives that an earlier, interrupted call had finished.
    parquet : list of FileRecord
        The Parquet files with copies of the images. Empty unless they were requested.
    """

    path: Path
    digest: str
    archives: list[IndexedArchive]
    kept: int
    parquet: list[FileRecord]

    def __repr__(self) -> str:
        return f"<Bag {self.path}: {len(self.archives)} archives ({self.kept} kept), {size(self.bytes)}, {self.digest}>"

    @property
    def bytes(self) -> int:
        """The total size of the archives and Parquet files."""
        return sum(a.bytes for a in self.archives) + sum(f.bytes for f in self.parquet)


def tag_files(manifest: Manifest, archives: Sequence[IndexedArchive], texts: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return the files of a bag except its payload. SHA256SUMS is the last file.

    `texts` are the other files of the bag, which BagIt does not define.
    """
    sums = sums_bytes({a.path: a.sha256 for a in archives})
    info = (
        "Bag-Software-Agent: corruptset\n"
        f"External-Identifier: {manifest.digest}\n"
        f"External-Description: {title(manifest)} ({manifest.name} {manifest.version})\n"
        f"Payload-Oxum: {sum(a.bytes for a in archives)}.{len(archives)}\n"
    )
    texts = {
        "bagit.txt": b"BagIt-Version: 1.0\nTag-File-Character-Encoding: UTF-8\n",
        "bag-info.txt": info.encode(),
        "manifest-sha256.txt": sums,
        **texts,
    }
    return {**texts, TAG_SUMS: tag_sums({**texts, SHA256SUMS: sums}), SHA256SUMS: sums}


def tag_sums(texts: Mapping[str, bytes]) -> bytes:
    """Return the content of the BagIt file that lists the hashes of all files except the payload."""
    return sums_bytes({path: sha256_bytes(data) for path, data in texts.items()})


def release_card(manifest: Manifest, archives: Sequence[IndexedArchive], *, samples: int, omitted: Omitted) -> bytes:
    """Return the README.md of a release."""
    template = files(__package__).joinpath("card.md").read_text("utf-8")
    ranges = [(a, _ranges(a.sets)) for a in archives]
    return render_card(
        template, m=manifest, title=title(manifest), archives=ranges, samples=samples, omitted=omitted
    ).encode()


def _ranges(sets: Sequence[str]) -> str:
    """Return set ids as Markdown, with consecutive severities as a range such as ``fog/1..5``."""
    ranges: list[list[str]] = []
    for set_id in sets:
        name, _, severity = set_id.rpartition("/")
        if ranges and severity.isdecimal() and ranges[-1][-1] == f"{name}/{int(severity) - 1}":
            ranges[-1].append(set_id)
        else:
            ranges.append([set_id])
    texts = (f"`{ids[0]}..{ids[-1].rpartition('/')[2]}`" if len(ids) > 1 else f"`{ids[0]}`" for ids in ranges)
    return ", ".join(texts) or "records without images"


def title(manifest: Manifest) -> str:
    """Return the title of a dataset, as one line."""
    return one_line(manifest.recipe.get("title") or manifest.name)
