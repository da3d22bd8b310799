"""List the contents of archives (their records and the images of their sets), and compare them with the manifest.

The order of the members of an archive is determined by the manifest.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Annotated

from pydantic import Field

from ...errors import BuildError, VerificationError, format_list
from ..disk.jsonl import read_jsonl
from ..manifest_file import MANIFEST_CAP, parse_manifest
from ..paths import MANIFEST, PARTIAL, SHA256SUMS, WORK_FOLDER, image_folder, set_of_shard, set_path
from ..records.digests import set_digest, sha256_pieces
from ..records.fields import Count, SetId, Sha256
from ..records.models import FileRecord, ImageRecord, Manifest, Record
from ..records.parsing import parse_record
from ..records.report import printable
from ..verify.rules import manifest_problems
from .archives import BadArchive, Member, read_members

RECORD_CAP = 32 << 20
"""Limit on the size of the record of an archive in bytes. With 10,000 sets, a record has about 3 MB."""
_RECORD_NAME = re.compile(r"([a-z0-9][0-9A-Za-z._+-]*)/archives/[^/]+\.json")
NAME_CAP = 255
"""Limit of file systems on the number of bytes in each part of a path between slashes."""
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_RESERVED = (WORK_FOLDER, PARTIAL.casefold())
"""Names, in lower case, of files that `unpack` writes in the folder of a dataset."""


class PackedSet(Record):
    """The image files and shards of one set that are in one archive."""

    set: SetId
    first: Count
    """The index of the first file among all files of the set, sorted by path."""
    count: Count
    total: Count
    """The number of files of the set in all archives."""


class ArchiveRecord(Record):
    """The contents of ``archives/<archive>.json``, the first member of an archive, which lists the other members."""

    schema_version: Annotated[int, Field(ge=1, le=1)]
    archive: Annotated[str, Field(pattern=r"^[a-z0-9][0-9A-Za-z._+-]*$", max_length=255)]
    name: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9._-]*$")]
    version: Annotated[str, Field(pattern=r"^[0-9A-Za-z][0-9A-Za-z._+-]*$")]
    digest: Sha256
    """The digest of the dataset."""
    files: Annotated[list[FileRecord], Field(min_length=1)]
    """manifest.json, the other small files sorted by path, and the records of the archive's sets, in this order."""
    sets: list[PackedSet]
    """The files with images, which follow `files`. They are grouped by set and sorted by path. The sizes and hashes of
    image files are in the records of their set, and the sizes and hashes of shards are in the manifest.
    """

    def encode(self) -> bytes:
        """Return the bytes of the record."""
        return json.dumps(self.as_json(), ensure_ascii=False, indent=1).encode() + b"\n"


def top_folder(manifest: Manifest) -> str:
    """Return the folder that contains all members of an archive: ``<name>-<version>``."""
    return f"{manifest.name}-{manifest.version}"


class SetFiles:
    """The files that contain the images of each set."""

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
        """Return the number of files with images of a set, and their total size in bytes."""
        shards, record = self.shards[set_id], self.sets[set_id]
        count, size = (record.count, record.bytes) if self.image_files else (0, 0)
        return len(shards) + count, sum(f.bytes for f in shards) + size

    def files(self, root: Path, set_id: str) -> list[FileRecord]:
        """Return the files with images of a set, sorted by path.

        Raises
        ------
        VerificationError
            The records of the set are missing, do not have the digest in the manifest, or list files outside the folder
            of the set.
        """
        files = [*self.shards[set_id], *self.images(root, set_id)]
        count, different = self.total(set_id)[0], len({f.path.casefold() for f in files})
        if not len(files) == count == different:
            raise VerificationError(
                f"{root / set_path(set_id)} lists {different} different files (ignoring case), but the manifest has "
                f"{count}. Run `corruptset verify` on the dataset."
            )
        return sorted(files, key=lambda f: f.path)

    def images(self, root: Path, set_id: str) -> Iterator[FileRecord]:
        """Yield the image files of a set in the order of its samples."""
        path, place, pixels = root / set_path(set_id), image_folder(set_id), []
        for row in read_jsonl(path, ImageRecord):
            pixels.append(row.pixels)
            for file in row.files if self.image_files else ():
                if file.row is None:
                    if not file.path.startswith(f"{place}/"):
                        raise VerificationError(
                            f"{path} lists {printable(file.path)!r}, which is not in the folder {place}. Do not use "
                            "this dataset."
                        )
                    yield FileRecord(path=file.path, bytes=file.bytes, sha256=file.sha256)
        if set_digest(pixels) != self.sets[set_id].pixel_digest:
            raise VerificationError(
                f"The records in {path} do not have the pixel_digest of the manifest. Do not use this dataset."
            )

    def archive_files(self, root: Path, record: ArchiveRecord) -> Iterator[FileRecord]:
        """Yield the files of an archive in the order of the archive. The records of sets precede the images.

        Raises
        ------
        VerificationError
            A file has a name that is not allowed in archives.
        """
        images = (self.files(root, packed.set)[packed.first : packed.first + packed.count] for packed in record.sets)
        for file in chain(record.files, chain.from_iterable(images)):
            longest = max(map(len, file.path.encode().split(b"/")))
            if _CONTROL.search(file.path) or longest > NAME_CAP or file.path.casefold().startswith(_RESERVED):
                raise VerificationError(
                    f"{printable(file.path)!r} cannot be stored in an archive, because the name is reserved, contains "
                    f"control characters, or has more than {NAME_CAP} bytes between slashes. Rename it in the source."
                )
            yield file

    def agrees(self, record: ArchiveRecord) -> bool:
        """Return whether the record of an archive lists only files and sets that are in the manifest."""
        unknown = {f.path for f in record.files if self._known.get(f.path) != f}
        return unknown <= {MANIFEST, SHA256SUMS} and all(
            packed.set in self.shards and packed.first + packed.count <= packed.total == self.total(packed.set)[0]
            for packed in record.sets
        )


def read_heads(archives: Iterable[Path]) -> tuple[dict[Path, ArchiveRecord], bytes, SetFiles]:
    """Read and check the records at the beginning of the archives of a dataset.

    Returns
    -------
    records : dict
        A mapping from each archive to its record.
    manifest : bytes
        The bytes of manifest.json.
    contents : SetFiles
        The files of the sets.

    Raises
    ------
    BadArchive
        An archive is damaged, or its record contradicts the manifest.
    VerificationError
        The manifest contradicts itself.
    BuildError
        The archives belong to different datasets.
    """
    records: dict[Path, ArchiveRecord] = {}
    for archive in archives:
        records[archive], data = _read_head(archive)
        if len(records) == 1:
            first, manifest = archive, data
            contents = SetFiles(parse_manifest(data, f"{archive}: {MANIFEST}"))
            if problems := [p.detail for p in manifest_problems(contents.manifest)]:
                raise VerificationError(f"{archive}: {MANIFEST} contradicts itself:\n{format_list(problems)}")
        if data != manifest:
            raise BuildError(
                f"{archive} and {first} belong to different datasets, because their manifests differ. Unpack them "
                "separately."
            )
        if not contents.agrees(records[archive]):
            problem = f"lists files or sets that {MANIFEST} in the same archive does not list"
            raise BadArchive(archive, problem, f"archives/{records[archive].archive}.json")
    return records, manifest, contents


def _read_head(archive: Path) -> tuple[ArchiveRecord, bytes]:
    """Return the record of an archive, and the bytes of manifest.json, which is the second member."""
    members = read_members(archive)
    member = next(members, None)
    match = None if member is None else _RECORD_NAME.fullmatch(member.name)
    if member is None or match is None:
        problem = "is empty" if member is None else f"begins with '{printable(member.name[:300])}'"
        raise BadArchive(
            archive, f"{problem}, but the first member must be its record, <name>-<version>/archives/<archive>.json"
        )
    record, errors = parse_record(ArchiveRecord, member.read(RECORD_CAP))
    if record is None:
        raise BadArchive(archive, f"is not a valid record of an archive ({'; '.join(errors)})", member.name)
    member = expected_member(archive, members, match[1], record.files[0])
    # the manifest is hashed before it is loaded into memory, because a forged one may be large
    if (digest := sha256_pieces(member.chunks())) != record.files[0].sha256:
        raise BadArchive(archive, f"has {digest}, but {record.files[0].sha256} is recorded", member.name)
    return record, member.read(MANIFEST_CAP)


def expected_member(archive: Path, members: Iterator[Member], top: str, file: FileRecord) -> Member:
    """Return the next member, or raise `BadArchive` if its name or size is not that of the expected file."""
    member, name = next(members, None), f"{top}/{file.path}"
    if member is None:
        raise BadArchive(archive, f"ends before {printable(name)}")
    if (member.name, member.size) != (name, file.bytes):
        expected = f"'{printable(name)}' with {file.bytes} bytes is expected"
        raise BadArchive(archive, f"with {member.size} bytes does not match the records: {expected}", member.name)
    return member
