"""archives.json, the index of a release: what there is to fetch, and which archive has which sets."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from typing import Annotated

from pydantic import Field

from ...errors import VerificationError, first_few, listed
from ..records.digests import sha256_bytes
from ..records.fields import Count, SetId, Sha256
from ..records.models import FileRecord, Record
from ..records.parsing import record_or_mistakes

INDEX = "archives.json"
PAYLOAD = "data"
"""The folder of archives."""
INDEX_CAP = 64 << 20
"""Bytes of an index; one of 10,000 archives has some 3 MB."""


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
    """An archive of a release, and the sets that it has images of: none in the archive of records."""

    path: Annotated[str, Field(pattern=r"^(data/)?[a-z0-9][0-9A-Za-z._+-]*$", max_length=255)]
    """Beside the index, or in ``data/``."""
    sets: tuple[SetId, ...]

    @property
    def file(self) -> FileRecord:
        """The file by itself, under its own name."""
        return FileRecord(path=self.name, bytes=self.bytes, sha256=self.sha256)


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

    Raises
    ------
    VerificationError
        It is no index, or names a file twice, itself, or the folder of archives as a file.
    """
    index, mistakes = record_or_mistakes(ReleaseIndex, data)
    if index is None:
        raise VerificationError(f"{where} is not an index that `corruptset pack` writes:\n{listed(mistakes)}")
    names = [INDEX, PAYLOAD, *(file.name.casefold() for file in (*index.files, *index.archives))]
    if twice := [name for name, times in Counter(names).items() if times > 1]:
        raise VerificationError(
            f"{where} names a file twice, itself or the folder {PAYLOAD} as a file (capitals aside): {first_few(twice)}. "
            "Do not use this release."
        )
    return index
