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
from ..layout import SHA256SUMS
from ..records.digests import sha256_bytes
from ..records.fields import Count, SetId, Sha256
from ..records.markdown import filled, markdown_text, one_line
from ..records.models import Manifest, Record
from ..records.parsing import record_or_mistakes
from .contents import top_folder

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
    names = [INDEX, PAYLOAD, *(file.name.casefold() for file in (*index.files, *index.archives))]
    if twice := [name for name, times in Counter(names).items() if times > 1]:
        raise VerificationError(
            f"{where} names a file twice, itself or the folder {PAYLOAD} as a file (capitals aside): "
            f"{first_few(twice)}. Do not use this release."
        )
    return index


Lacks = Literal["nothing", "images", "rows"]


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
    """

    path: Path
    digest: str
    archives: list[IndexedArchive]
    kept: int

    def __repr__(self) -> str:
        return f"<Bag {self.path}: {len(self.archives)} archives ({self.kept} kept), {size(self.bytes)}, {self.digest}>"

    @property
    def bytes(self) -> int:
        """The bytes of all archives."""
        return sum(a.bytes for a in self.archives)


def tag_files(manifest: Manifest, archives: Sequence[IndexedArchive], texts: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return the files of a bag but for its payload, SHA256SUMS last; `texts` are other files beside the payload, by
    name.
    """
    sums = sums_bytes({a.path: a.sha256 for a in archives})
    info = {
        "Bag-Software-Agent": "corruptset",
        "External-Identifier": manifest.digest,
        "External-Description": f"{title(manifest)} ({manifest.name} {manifest.version})",
        "Payload-Oxum": f"{sum(a.bytes for a in archives)}.{len(archives)}",
    }
    texts = {
        "bagit.txt": b"BagIt-Version: 1.0\nTag-File-Character-Encoding: UTF-8\n",
        "bag-info.txt": "".join(f"{key}: {value}\n" for key, value in info.items()).encode(),
        "manifest-sha256.txt": sums,
        **texts,
    }
    tags = {path: sha256_bytes(data) for path, data in {**texts, SHA256SUMS: sums}.items()}
    return {**texts, "tagmanifest-sha256.txt": sums_bytes(tags), SHA256SUMS: sums}


def release_card(manifest: Manifest, archives: Sequence[IndexedArchive], *, samples: int, lacks: Lacks) -> bytes:
    """Return the README.md beside the archives; `lacks` says what of the data set is in none of them."""
    text = filled(
        files(__package__).joinpath("card.md").read_text("utf-8"),
        m=manifest,
        title=markdown_text(title(manifest)),
        top=top_folder(manifest),
        source=one_line(manifest.source.name),
        example=next((s.id for s in manifest.sets if s.stages), manifest.sets[0].id if manifest.sets else "clean"),
        archives=[(a, _ranges(a.sets)) for a in archives],
        samples=samples,
        lacks=lacks,
    )
    return text.encode()


def _ranges(sets: Sequence[str]) -> str:
    """Return set ids with those of one corruption as one: ``fog/1..5``."""
    groups: dict[str, list[str]] = {}
    for set_id in sets:
        start, _, last = set_id.rpartition("/")
        groups.setdefault(start or set_id, []).append(f"/{last}" if start else "")
    ranges = (f"`{start}{lasts[0]}{f'..{lasts[-1][1:]}' * (len(lasts) > 1)}`" for start, lasts in groups.items())
    return ", ".join(ranges) or "records, no images"


def title(manifest: Manifest) -> str:
    """Return the title of a data set, as one line."""
    return one_line(manifest.recipe.get("title") or manifest.name)
