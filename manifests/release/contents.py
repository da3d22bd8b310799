"""The content of an archive: its record, the images of its sets, and their agreement.

A unit is what cannot be divided by sets: one set, or the sets that share an array. The order of everything follows from
the manifest.
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
from ..partial import owners
from ..paths import MANIFEST, PARTIAL, SHA256SUMS, WORK_FOLDER, set_path, set_places
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

Unit = tuple[str, ...]
"""Set ids, sorted."""


class UnitRecord(Record):
    """The files of a unit that an archive holds."""

    sets: list[SetId]
    first: Count
    """Of the unit's files sorted by path, from 0."""
    count: Count
    total: Count
    """Files of the unit, in all archives."""


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
    units: list[UnitRecord]
    """Then the images: those of each unit by path. Their sizes and hashes are in the rows, those of shards and arrays
    in the manifest.
    """

    def encode(self) -> bytes:
        """Return the record's bytes in the archive."""
        return json.dumps(self.as_json(), ensure_ascii=False, indent=1).encode() + b"\n"


def top_folder(manifest: Manifest) -> str:
    """Return the folder that everything in an archive lies in: ``<name>-<version>``."""
    return f"{manifest.name}-{manifest.version}"


class Contents:
    """The files that hold the images of each set.

    `single` are the sets whose images are files of their own; `containers` the shards and arrays of each unit.
    """

    def __init__(self, manifest: Manifest) -> None:
        self.manifest = manifest
        self.sets = {s.id: s for s in manifest.sets}
        self._known = {f.path: f for f in manifest.files}
        self.places = set_places(manifest)
        stored = manifest.encoding["containers"]
        self.single = {
            set_id
            for set_id, places in self.places.items()
            if "folder" in stored or (stored == ["view"] and not places[0].endswith(".npy"))
        }
        sharing: dict[str, list[str]] = {}
        for set_id, places in self.places.items():
            arrays = places[0].endswith(".npy")
            sharing.setdefault("\n".join(places) if arrays else set_id, []).append(set_id)
        unit_of = {set_id: tuple(sorted(sets)) for sets in sharing.values() for set_id in sets}
        self.containers: dict[Unit, list[FileRecord]] = {unit: [] for unit in sorted(set(unit_of.values()))}
        owned = owners(manifest)
        for file in manifest.files:
            if file.path in owned:
                self.containers[unit_of[owned[file.path][0]]].append(file)

    def total(self, unit: Unit) -> tuple[int, int]:
        """Return how many files hold the images of a unit, and their bytes."""
        shared, single = self.containers[unit], [self.sets[s] for s in unit if s in self.single]
        return len(shared) + sum(s.count for s in single), sum(f.bytes for f in shared) + sum(s.bytes for s in single)

    def files(self, root: Path, unit: Unit) -> list[FileRecord]:
        """Return the files that hold the images of a unit, sorted by path.

        VerificationError: rows are missing, do not have the manifest's digest, or name files outside the folder of
        their set.
        """
        files = [*self.containers[unit], *(file for set_id in unit for file in self.images(root, set_id))]
        count, different = self.total(unit)[0], len({f.path.casefold() for f in files})
        if not len(files) == count == different:
            raise VerificationError(
                f"{root / set_path(unit[0])}: the rows name {different} different files (capitals aside) where the "
                f"manifest has {count}. Run `corruptset verify` on the build."
            )
        return sorted(files, key=lambda f: f.path)

    def images(self, root: Path, set_id: str) -> Iterator[FileRecord]:
        """Yield the single files of a set's images, in the order of its samples."""
        path, place, pixels = root / set_path(set_id), self.places[set_id][0], []
        for row in read_jsonl(path, ImageRecord):
            pixels.append(row.pixels)
            for file in row.files if set_id in self.single else ():
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
        units = (self.files(root, tuple(unit.sets))[unit.first : unit.first + unit.count] for unit in record.units)
        for file in chain(record.files, chain.from_iterable(units)):
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
            (unit := tuple(one.sets)) in self.containers and one.first + one.count <= one.total == self.total(unit)[0]
            for one in record.units
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
