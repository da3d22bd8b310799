"""The folder of a packed data set: archives, index, data card, checksums, BagIt's files.

The folder is a BagIt bag (RFC 8493): the archives are its payload, in ``data/``. BagIt's date is left out: it is
optional, and would differ between two packings.
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

from ...errors import VerificationError, first_few, listed
from ...quantities import size
from ..checksums import sums_bytes
from ..paths import SHA256SUMS
from ..records.digests import sha256_bytes
from ..records.fields import Count, SetId, Sha256
from ..records.markdown import filled, one_line
from ..records.models import FileRecord, Manifest, Record
from ..records.parsing import record_or_mistakes

INDEX = "archives.json"
PAYLOAD = "data"
"""The folder of archives."""
TAG_SUMS = "tagmanifest-sha256.txt"
INDEX_CAP = 64 << 20
"""Bytes of an index; one of 10,000 archives has some 3 MB."""
Lacks = Literal["nothing", "images", "rows"]
"""What of a data set is in none of its archives."""


class IndexedFile(Record):
    """A small file of a release, such as README.md."""

    path: Annotated[str, Field(pattern=r"^[0-9A-Za-z_][0-9A-Za-z._+-]*$", max_length=255)]
    bytes: Count
    sha256: Sha256

    @property
    def name(self) -> str:
        """The file's own name."""
        return self.path.rpartition("/")[2]


class IndexedArchive(IndexedFile):
    """An archive of a release, and its sets: none in the archive of records."""

    path: Annotated[str, Field(pattern=r"^(data/)?[a-z0-9][0-9A-Za-z._+-]*$", max_length=255)]
    """Beside the index, or in ``data/``."""
    sets: tuple[SetId, ...]


class ReleaseIndex(Record):
    """archives.json."""

    schema_version: Annotated[int, Field(ge=1, le=1)]
    name: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9._-]*$", max_length=255)]
    version: Annotated[str, Field(pattern=r"^[0-9A-Za-z][0-9A-Za-z._+-]*$", max_length=100)]
    digest: Sha256
    """The data set's."""
    aliases: dict[SetId, list[str]]
    """Other names of sets, of those that have some."""
    files: list[IndexedFile]
    archives: Annotated[list[IndexedArchive], Field(min_length=1)]

    @property
    def folder(self) -> str:
        """What the unpacked data set's folder is called: ``<name>-<version>``."""
        return f"{self.name}-{self.version}"

    def encode(self) -> bytes:
        """Return the bytes of archives.json."""
        return json.dumps(self.as_json(), ensure_ascii=False, indent=1).encode() + b"\n"


def indexed_files(texts: Mapping[str, bytes]) -> list[IndexedFile]:
    """Return the records of small files, by path."""
    return [IndexedFile(path=path, bytes=len(data), sha256=sha256_bytes(data)) for path, data in sorted(texts.items())]


def parse_index(data: bytes, where: str) -> ReleaseIndex:
    """Return an index from its bytes; `where` says in messages where they came from.

    VerificationError: it is no index, or names a file twice, itself, or the folder of archives as a file.
    """
    index, mistakes = record_or_mistakes(ReleaseIndex, data)
    if index is None:
        raise VerificationError(f"{where} is not an index that `corruptset pack` writes:\n{listed(mistakes)}")
    names = Counter([INDEX, PAYLOAD, *(file.name.casefold() for file in (*index.files, *index.archives))])
    if twice := [name for name, times in names.items() if times > 1]:
        raise VerificationError(
            f"{where} names a file twice, itself or the folder {PAYLOAD} as a file (capitals aside): "
            f"{first_few(twice)}. Do not use this release."
        )
    return index


@dataclass(frozen=True)
class Bag:
    """What `pack` wrote.

    Attributes
    ----------
    path : Path
    digest : str
        The build's.
    archives : list of IndexedArchive
        With path, bytes, sha256 and sets of each.
    kept : int
        Archives that an earlier, interrupted pack had finished.
    parquet : list of FileRecord
        The images once more, where they were asked for.
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
        """The bytes of all archives, and of the Parquet files."""
        return sum(a.bytes for a in self.archives) + sum(f.bytes for f in self.parquet)


def tag_files(manifest: Manifest, archives: Sequence[IndexedArchive], texts: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return the files of a bag beside its payload, SHA256SUMS last.

    `texts` are those that BagIt does not know.
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
    """Return BagIt's hashes of the files beside the archives."""
    return sums_bytes({path: sha256_bytes(data) for path, data in texts.items()})


def release_card(manifest: Manifest, archives: Sequence[IndexedArchive], *, samples: int, lacks: Lacks) -> bytes:
    """Return the README.md beside the archives."""
    template = files(__package__).joinpath("card.md").read_text("utf-8")
    ranges = [(a, _ranges(a.sets)) for a in archives]
    return filled(template, m=manifest, title=title(manifest), archives=ranges, samples=samples, lacks=lacks).encode()


def _ranges(sets: Sequence[str]) -> str:
    """Return set ids, with severities that follow each other as one: ``fog/1..5``."""
    runs: list[list[str]] = []
    for set_id in sets:
        name, _, severity = set_id.rpartition("/")
        if runs and severity.isdecimal() and runs[-1][-1] == f"{name}/{int(severity) - 1}":
            runs[-1].append(set_id)
        else:
            runs.append([set_id])
    texts = (f"`{ids[0]}..{ids[-1].rpartition('/')[2]}`" if len(ids) > 1 else f"`{ids[0]}`" for ids in runs)
    return ", ".join(texts) or "records, no images"


def title(manifest: Manifest) -> str:
    """Return the title of a data set, as one line."""
    return one_line(manifest.recipe.get("title") or manifest.name)
