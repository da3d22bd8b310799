"""The content of an archive: its record, the images of its sets, and their agreement.

A unit is what cannot be divided by sets: one set, or the sets that share an array. The order of everything follows from
the manifest.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Annotated

from pydantic import Field

from ...errors import BuildError, VerificationError, listed
from ..checksums import SUMS_CAP
from ..disk.jsonl import read_jsonl
from ..layout import MANIFEST, PARTIAL, SAMPLES, SETS, SHA256SUMS, WORK_FOLDER, set_path, set_places
from ..manifest_file import MANIFEST_CAP, parse_manifest
from ..partial import owners
from ..records.digests import set_digest, sha256_pieces
from ..records.fields import Count, SetId, Sha256
from ..records.models import FileRecord, ImageRecord, Manifest, Record
from ..records.parsing import record_or_mistakes
from ..records.report import printable
from ..verify.rules import manifest_problems
from .archives import SHOWN, BadArchive, Member, name_problem, read_members

RECORD_CAP = 32 << 20
"""Bytes of an archive's record; one of 10,000 sets has some 3 MB."""
_RECORD_NAME = re.compile(r"([a-z0-9][0-9A-Za-z._+-]*)/archives/([^/]+)\.json")
_OWN = frozenset({WORK_FOLDER, PARTIAL.casefold()})
"""What `unpack` itself writes at the top of a data set."""
_NO_IMAGES = _OWN | {MANIFEST, SAMPLES, SHA256SUMS.casefold(), SETS.rstrip("/"), "archives"}
"""Where no image of a view can be."""

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
    files: list[FileRecord]
    """manifest.json, the other small files by path, and then the rows of this archive's sets."""
    units: list[UnitRecord]
    """Then the images: those of each unit by path. Their sizes and hashes are in the rows, those of shards and arrays
    in the manifest.
    """


def top_folder(manifest: Manifest) -> str:
    """Return the folder that everything in an archive lies in: ``<name>-<version>``."""
    return f"{manifest.name}-{manifest.version}"


class Contents:
    """The files that hold the images of each set.

    `containers` are the shards and arrays of each unit.
    """

    def __init__(self, manifest: Manifest) -> None:
        self.manifest = manifest
        self.sets = {s.id: s for s in manifest.sets}
        self.places = set_places(manifest)
        owned = owners(manifest)
        joined = {set_id: {set_id} for set_id in self.sets}
        for set_ids in owned.values():
            union = set().union(*(joined[set_id] for set_id in set_ids))
            joined.update(dict.fromkeys(union, union))
        unit_of = {set_id: tuple(sorted(sets)) for set_id, sets in joined.items()}
        self.containers: dict[Unit, list[FileRecord]] = {unit: [] for unit in sorted(set(unit_of.values()))}
        for file in manifest.files:
            if file.path in owned:
                self.containers[unit_of[owned[file.path][0]]].append(file)

    def count(self, unit: Unit) -> int:
        """Return how many files hold the images of a unit, according to the manifest."""
        return len(self.containers[unit]) + sum(self.sets[s].count for s in unit if self.in_single_files(s))

    def in_single_files(self, set_id: str) -> bool:
        """Return whether each image of a set is a file of its own."""
        containers = self.manifest.encoding["containers"]
        return "folder" in containers or (containers == ["view"] and not self.places[set_id][0].endswith(".npy"))

    def files(self, root: Path, unit: Unit) -> list[FileRecord]:
        """Return the files that hold the images of a unit, sorted by path.

        VerificationError: rows are missing, do not have the manifest's digest, or name files outside the folder of
        their set.
        """
        files = [*self.containers[unit], *(file for set_id in unit for file in self.images(root, set_id))]
        different = len({f.path.casefold() for f in files})
        if len(files) != self.count(unit) or different != len(files):
            raise VerificationError(
                f"{root / set_path(unit[0])}: the rows name {different} different files (capitals aside) where the "
                f"manifest has {self.count(unit)}. Run `corruptset verify` on the build."
            )
        return sorted(files, key=lambda f: f.path)

    def archive_files(self, root: Path, record: ArchiveRecord) -> Iterator[FileRecord]:
        """Yield the files of an archive in its order; the rows of a set are on the disk before they are needed.

        VerificationError: no archive can hold a file of this name.
        """
        units = (self.files(root, tuple(unit.sets))[unit.first : unit.first + unit.count] for unit in record.units)
        for file in chain(record.files, chain.from_iterable(units)):
            if (problem := name_problem(file.path)) is not None:
                raise VerificationError(
                    f"The file {printable(file.path)!r} {problem}: no archive may hold it. Rename it in the source."
                )
            yield file

    def images(self, root: Path, set_id: str) -> Iterator[FileRecord]:
        """Yield the single files of a set's images, in the order of its samples."""
        path, place, single = root / set_path(set_id), self.places[set_id][0], self.in_single_files(set_id)
        pixels = []
        for row in read_jsonl(path, ImageRecord):
            pixels.append(row.pixels)
            for file in row.files if single else ():
                if file.row is None:
                    if not file.path.startswith(f"{place}/"):
                        raise VerificationError(
                            f"{path}: {printable(file.path)!r} is not below {place}. Do not use this data set."
                        )
                    yield FileRecord(path=file.path, bytes=file.bytes, sha256=file.sha256)
        if set_digest(pixels) != self.sets[set_id].pixel_digest:
            raise VerificationError(f"{path}: the digest of the rows is not the manifest's pixel_digest.")


@dataclass(frozen=True)
class ArchiveHead:
    """The record of an archive, and the bytes of the manifest in it."""

    archive: Path
    record: ArchiveRecord
    manifest: bytes


def read_heads(archives: Iterable[Path]) -> tuple[list[ArchiveHead], Contents]:
    """Return the heads of archives of one data set, and its contents, all checked.

    BadArchive: one is damaged, or its record contradicts the manifest. VerificationError: the manifest contradicts
    itself. BuildError: the archives are of different data sets.
    """
    heads = [_read_head(archive) for archive in archives]
    first = heads[0]
    contents = Contents(parse_manifest(first.manifest, f"{first.archive}: {MANIFEST}"))
    problems = [p.detail for p in manifest_problems(contents.manifest)]
    for set_id, places in contents.places.items():
        if any(name_problem(place) is not None or place.split("/")[0].casefold() in _NO_IMAGES for place in places):
            problems.append(f"images of set {set_id!r} are said to be in {places!r}")
    if problems:
        raise VerificationError(f"{first.archive}: {MANIFEST} contradicts itself:\n{listed(problems)}")
    for head in heads:
        if head.manifest != first.manifest:
            raise BuildError(
                f"{head.archive} and {first.archive} are not of one data set: their manifests differ. Unpack them "
                "apart."
            )
        if not _agrees(head.record, contents):
            problem = f"names other files or sets than {MANIFEST} beside it has"
            raise BadArchive(head.archive, problem, f"archives/{head.record.archive}.json")
    return heads, contents


def expected_member(archive: Path, members: Iterator[Member], file: FileRecord) -> Member:
    """Return the next member, which must have the name and size of a record."""
    member = next(members, None)
    if member is None:
        raise BadArchive(archive, f"ends before {printable(file.path)}")
    if (member.name, member.size) != (file.path, file.bytes):
        expected = f"'{printable(file.path)}' of {file.bytes} bytes comes next"
        raise BadArchive(archive, f"of {member.size} bytes is not what the records name here: {expected}", member.name)
    return member


def _read_head(archive: Path) -> ArchiveHead:
    members = read_members(archive)
    member = next(members, None)
    match = None if member is None else _RECORD_NAME.fullmatch(member.name)
    if member is None or match is None:
        begins = "is empty" if member is None else f"begins with '{printable(member.name[:SHOWN])}'"
        raise BadArchive(
            archive, f"{begins}; expected <name>-<version>/archives/<archive>.json, which says what is in it"
        )
    record, mistakes = record_or_mistakes(ArchiveRecord, member.read(RECORD_CAP))
    if record is None:
        raise BadArchive(archive, f"is not a record of an archive:\n{listed(mistakes)}\nIt", member.name)
    (top, name), manifest = match.groups(), record.files[0] if record.files else None
    if manifest is None or (f"{record.name}-{record.version}", record.archive, manifest.path) != (top, name, MANIFEST):
        raise BadArchive(archive, f"is of another archive, or does not name {MANIFEST} first", member.name)
    member = expected_member(archive, members, manifest.model_copy(update={"path": f"{top}/{MANIFEST}"}))
    # hashed before it is held in memory: a false manifest may be large
    if (digest := sha256_pieces(member.chunks())) != manifest.sha256:
        raise BadArchive(archive, f"has {digest}, recorded is {manifest.sha256}", member.name)
    return ArchiveHead(archive, record, member.read(MANIFEST_CAP))


def _agrees(record: ArchiveRecord, contents: Contents) -> bool:
    """Return whether an archive's record names what the manifest has, each once and in full."""
    manifest, paths = contents.manifest, [f.path for f in record.files]
    known = {f.path: f for f in manifest.files}
    units = [tuple(unit.sets) for unit in record.units]
    return (
        (record.name, record.version, record.digest) == (manifest.name, manifest.version, manifest.digest)
        and len({path.casefold() for path in paths}) == len(paths)
        and len(set(units)) == len(units)
        and {SAMPLES, SHA256SUMS, *(set_path(set_id) for unit in units for set_id in unit)} <= {*paths}
        and not any(path.split("/")[0].casefold() in _OWN for path in paths)
        and all(
            known.get(f.path) == f or f.path == MANIFEST or (f.path == SHA256SUMS and f.bytes <= SUMS_CAP)
            for f in record.files
        )
        and all(
            tuple(unit.sets) in contents.containers
            and unit.first + unit.count <= unit.total == contents.count(tuple(unit.sets))
            for unit in record.units
        )
    )
