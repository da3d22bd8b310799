"""archives.json, the index of a release: what there is to fetch, and which archive has which sets."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Annotated

from pydantic import Field

from ...errors import VerificationError, first_few, listed
from ..records.digests import sha256_bytes
from ..records.fields import Count, SetId, Sha256
from ..records.models import Manifest, Record
from ..records.parsing import record_or_mistakes
from .bag import PAYLOAD, PackedArchive

INDEX = "archives.json"
INDEX_CAP = 64 << 20
"""Bytes of an index; one of 10,000 archives has some 3 MB."""


class IndexedFile(Record):
    """A small file of a release, such as README.md."""

    path: Annotated[str, Field(pattern=r"^[0-9A-Za-z_][0-9A-Za-z._+-]*$", max_length=255)]
    bytes: Count
    sha256: Sha256


class IndexedArchive(Record):
    """An archive of a release, and the sets that it has images of."""

    path: Annotated[str, Field(pattern=r"^(data/)?[a-z0-9][0-9A-Za-z._+-]*$", max_length=255)]
    """Beside the index, or in ``data/``."""
    bytes: Count
    sha256: Sha256
    sets: list[SetId]
    """None in the archive of records."""

    @property
    def name(self) -> str:
        """The file's own name."""
        return self.path.rpartition("/")[2]


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


def release_index(manifest: Manifest, archives: Sequence[PackedArchive], texts: Mapping[str, bytes]) -> ReleaseIndex:
    """Return the index of archives and the small files beside them."""
    return ReleaseIndex(
        schema_version=1,
        name=manifest.name,
        version=manifest.version,
        digest=manifest.digest,
        aliases={s.id: list(s.aliases) for s in manifest.sets if s.aliases},
        files=indexed_files(texts),
        archives=[IndexedArchive(path=a.path, bytes=a.file.bytes, sha256=a.file.sha256, sets=list(a.sets)) for a in archives],
    )


def indexed_files(texts: Mapping[str, bytes]) -> list[IndexedFile]:
    """Return the records of small files, by path."""
    return [IndexedFile(path=path, bytes=len(data), sha256=sha256_bytes(data)) for path, data in sorted(texts.items())]


def index_bytes(index: ReleaseIndex) -> bytes:
    """Return the bytes of archives.json."""
    return json.dumps(index.as_json(), ensure_ascii=False, indent=1).encode() + b"\n"


def parse_index(data: bytes, where: str) -> ReleaseIndex:
    """Return an index from its bytes; `where` says in messages where they came from.

    Raises
    ------
    VerificationError
        It is no index, or names a file twice, itself, or the folder of archives as a file.
    """
    index, mistakes = record_or_mistakes(ReleaseIndex, data)
    if index is None:
        raise VerificationError(f"{where} is not an index that `corruptset pack` writes:\n{listed(mistakes)}")
    names = [INDEX, PAYLOAD, *(file.path.casefold() for file in index.files), *(a.name.casefold() for a in index.archives)]
    if twice := [name for name, times in Counter(names).items() if times > 1]:
        raise VerificationError(
            f"{where} names a file twice, itself or the folder {PAYLOAD} as a file (capitals aside): {first_few(twice)}. "
            "Do not use this release."
        )
    return index
