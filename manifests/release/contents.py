"""The content of an archive: its record, the images of its sets, and their agreement.

The order of everything follows from the manifest.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Annotated

from pydantic import Field

from ...errors import BuildError, VerificationError, listed
from ..disk.jsonl import read_jsonl
from ..manifest_file import MANIFEST_CAP, parse_manifest
from ..paths import MANIFEST, PARTIAL, SHA256SUMS, WORK_FOLDER, image_folder, set_of_shard, set_path
from ..records.digests import set_digest, sha256_pieces
from ..records.fields import Count, SetId, Sha256
from ..records.models import FileRecord, ImageRecord, Manifest, Record
from ..records.parsing import record_or_mistakes
from ..records.report import printable
from ..verify.rules import manifest_problems
from .archives import BadArchive, Member, read_members

RECORD_CAP = 32 << 20
"""Bytes of an archive's record; one of 10,000 sets has some 3 MB."""
_RECORD_NAME = re.compile(r"([a-z0-9][0-9A-Za-z._+-]*)/archives/[^/]+\.json")
NAME_CAP = 255
"""Bytes of a name between two slashes, which file systems limit."""
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_OWN = (WORK_FOLDER, PARTIAL.casefold())
"""What `unpack` itself writes at the top of a data set."""


class PackedSet(Record):
    """The files with images of a set that an archive contains."""

    set: SetId
    first: Count
    """The index of the first file among all files of the set, sorted by path."""
    count: Count
    total: Count
    """The number of files of the set in all archives."""


class ArchiveRecord(Record):
    """``archives/<archive>.json``, the first member of an archive: what else is in it, in this order."""

    schema_version: Annotated[int, Field(ge=1, le=1)]
    archive: Annotated[str, Field(pattern=r"^[a-z0-9][0-9A-Za-z._+-]*$", max_length=255)]
    name: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9._-]*$")]
    version: Annotated[str, Field(pattern=r"^[0-9A-Za-z][0-9A-Za-z._+-]*$")]
    digest: Sha256
    """The build's."""
    files: Annotated[list[FileRecord], Field(min_length=1)]
    """manifest.json, the other small files by path, and then the rows of this archive's sets."""
    sets: list[PackedSet]
    """The images, which follow these files: those of each set by path. The sizes and hashes of image files are in the
    rows, those of shards in the manifest.
    """

    def encode(self) -> bytes:
        """Return the record's bytes in the archive."""
        return json.dumps(self.as_json(), ensure_ascii=False, indent=1).encode() + b"\n"


def top_folder(manifest: Manifest) -> str:
    """Return the folder that everything in an archive lies in: ``<name>-<version>``."""
    return f"{manifest.name}-{manifest.version}"


class Contents:
    """The files with the images of each set."""

    def __init__(self, manifest: Manifest) -> None:
        self.manifest = manifest
        self.sets = {s.id: s for s in manifest.sets}
        self._known = {f.path: f for f in manifest.files}
        self.image_files = "folder" in manifest.storage.containers
        """Whether images are stored as single files."""
        self.shards: dict[str, list[FileRecord]] = {set_id: [] for set_id in sorted(self.sets)}
        """The shards of each set."""
        for file in manifest.files:
            if (set_id := set_of_shard(file.path)) in self.shards:
                self.shards[set_id].append(file)

    def total(self, set_id: str) -> tuple[int, int]:
        """Return the number of files with images of a set, and their bytes."""
        shards, record = self.shards[set_id], self.sets[set_id]
        count, size = (record.count, record.bytes) if self.image_files else (0, 0)
        return len(shards) + count, sum(f.bytes for f in shards) + size

    def files(self, root: Path, set_id: str) -> list[FileRecord]:
        """Return the files with images of a set, sorted by path.

        VerificationError: rows are missing, do not have the manifest's digest, or name files outside the folder of
        their set.
        """
        files = [*self.shards[set_id], *self.images(root, set_id)]
        count, different = self.total(set_id)[0], len({f.path.casefold() for f in files})
        if not len(files) == count == different:
            raise VerificationError(
                f"{root / set_path(set_id)}: the rows name {different} different files (capitals aside) where the "
                f"manifest has {count}. Run `corruptset verify` on the dataset."
            )
        return sorted(files, key=lambda f: f.path)

    def images(self, root: Path, set_id: str) -> Iterator[FileRecord]:
        """Yield the single files of a set's images, in the order of its samples."""
        path, place, pixels = root / set_path(set_id), image_folder(set_id), []
        for row in read_jsonl(path, ImageRecord):
            pixels.append(row.pixels)
            for file in row.files if self.image_files else ():
                if file.row is None:
                    if not file.path.startswith(f"{place}/"):
                        raise VerificationError(
                            f"{path}: {printable(file.path)!r} is not below {place}. Do not use this data set."
                        )
                    yield FileRecord(path=file.path, bytes=file.bytes, sha256=file.sha256)
        if set_digest(pixels) != self.sets[set_id].pixel_digest:
            raise VerificationError(f"{path}: the digest of the rows is not the manifest's pixel_digest.")

    def archive_files(self, root: Path, record: ArchiveRecord) -> Iterator[FileRecord]:
        """Yield the files of an archive in its order, rows before their images.

        VerificationError: no archive can hold a file of this name.
        """
        images = (self.files(root, one.set)[one.first : one.first + one.count] for one in record.sets)
        for file in chain(record.files, chain.from_iterable(images)):
            longest = max(map(len, file.path.encode().split(b"/")))
            if _CONTROL.search(file.path) or longest > NAME_CAP or file.path.casefold().startswith(_OWN):
                raise VerificationError(
                    f"{printable(file.path)!r} is unpack's own, or has control characters or more than {NAME_CAP} "
                    "bytes between slashes: no archive may hold it. Rename it in the source."
                )
            yield file

    def agrees(self, record: ArchiveRecord) -> bool:
        """Return whether an archive's record names files and sets of the manifest."""
        others = {f.path for f in record.files if self._known.get(f.path) != f}
        return others <= {MANIFEST, SHA256SUMS} and all(
            one.set in self.shards and one.first + one.count <= one.total == self.total(one.set)[0]
            for one in record.sets
        )


def read_heads(archives: Iterable[Path]) -> tuple[dict[Path, ArchiveRecord], bytes, Contents]:
    """Return the records of a data set's archives, its manifest.json and its contents, checked.

    BadArchive: one is damaged, or its record contradicts the manifest. VerificationError: the manifest contradicts
    itself. BuildError: the archives are of different data sets.
    """
    records: dict[Path, ArchiveRecord] = {}
    for archive in archives:
        records[archive], data = _read_head(archive)
        if len(records) == 1:
            first, manifest = archive, data
            contents = Contents(parse_manifest(data, f"{archive}: {MANIFEST}"))
            if problems := [p.detail for p in manifest_problems(contents.manifest)]:
                raise VerificationError(f"{archive}: {MANIFEST} contradicts itself:\n{listed(problems)}")
        if data != manifest:
            raise BuildError(
                f"{archive} and {first} are not of one data set: their manifests differ. Unpack them apart."
            )
        if not contents.agrees(records[archive]):
            problem = f"names other files or sets than {MANIFEST} beside it has"
            raise BadArchive(archive, problem, f"archives/{records[archive].archive}.json")
    return records, manifest, contents


def _read_head(archive: Path) -> tuple[ArchiveRecord, bytes]:
    """Return an archive's record and the manifest.json behind it."""
    members = read_members(archive)
    member = next(members, None)
    match = None if member is None else _RECORD_NAME.fullmatch(member.name)
    if member is None or match is None:
        begins = "is empty" if member is None else f"begins with '{printable(member.name[:300])}'"
        raise BadArchive(
            archive, f"{begins}; expected <name>-<version>/archives/<archive>.json, which says what is in it"
        )
    record, mistakes = record_or_mistakes(ArchiveRecord, member.read(RECORD_CAP))
    if record is None:
        raise BadArchive(archive, f"is not a record of an archive:\n{listed(mistakes)}\nIt", member.name)
    member = expected_member(archive, members, match[1], record.files[0])
    # hashed before it is held in memory: a false manifest may be large
    if (digest := sha256_pieces(member.chunks())) != record.files[0].sha256:
        raise BadArchive(archive, f"has {digest}, recorded is {record.files[0].sha256}", member.name)
    return record, member.read(MANIFEST_CAP)


def expected_member(archive: Path, members: Iterator[Member], top: str, file: FileRecord) -> Member:
    """Return the next member, which must have the name and size of a record."""
    member, name = next(members, None), f"{top}/{file.path}"
    if member is None:
        raise BadArchive(archive, f"ends before {printable(name)}")
    if (member.name, member.size) != (name, file.bytes):
        expected = f"'{printable(name)}' of {file.bytes} bytes comes next"
        raise BadArchive(archive, f"of {member.size} bytes is not what the records name here: {expected}", member.name)
    return member
