"""The beginning of a stranger's archive: its record and the manifest, checked against each other before anything is written."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from ...errors import BuildError, VerificationError, listed
from ..checksums import SUMS_CAP
from ..layout import IMAGES, MANIFEST, PARTIAL, SAMPLES, SETS, SHA256SUMS, SHARDS, WORK_FOLDER, set_path, set_places
from ..manifest_file import MANIFEST_CAP, parse_manifest
from ..records.digests import sha256_pieces
from ..records.models import FileRecord
from ..records.parsing import record_or_mistakes
from ..records.report import printable
from ..verify.rules import manifest_problems
from .archives import BadArchive, Member, name_problem, read_members
from .division import ArchiveRecord, Contents

RECORD_CAP = 32 << 20
"""Bytes of an archive's record; one of 10,000 sets has some 3 MB."""
_RECORD_NAME = re.compile(r"([a-z0-9][0-9A-Za-z._+-]*)/archives/([^/]+)\.json")
_OWN = frozenset({WORK_FOLDER, PARTIAL.casefold()})
"""What `unpack` itself writes at the top of a data set."""
_NO_IMAGES = _OWN | {MANIFEST, SAMPLES, SHA256SUMS.casefold(), SETS.rstrip("/"), "archives"}
"""Where no image of a view can be."""


@dataclass(frozen=True)
class ArchiveHead:
    """The record of an archive, and the bytes of the manifest in it."""

    archive: Path
    record: ArchiveRecord
    manifest: bytes


def read_heads(archives: Iterable[Path]) -> tuple[list[ArchiveHead], Contents]:
    """Return the heads of archives of one data set, and its contents.

    Raises
    ------
    BadArchive
        An archive is damaged, or its record contradicts the manifest.
    VerificationError
        The manifest contradicts itself.
    BuildError
        The archives are of different data sets.
    """
    heads = [_read_head(archive) for archive in archives]
    first = heads[0]
    manifest = parse_manifest(first.manifest, f"{first.archive}: {MANIFEST}")
    problems = [p.detail for p in manifest_problems(manifest)]
    problems += [
        f"images of set {set_id!r} are said to be in {place!r}"
        for set_id, places in set_places(manifest).items()
        for place in places
        if name_problem(place) is not None or place.split("/")[0].casefold() in _NO_IMAGES
    ]
    if problems:
        raise VerificationError(f"{first.archive}: {MANIFEST} contradicts itself:\n{listed(problems)}")
    contents = Contents(manifest)
    for head in heads:
        if head.manifest != first.manifest:
            raise BuildError(f"{head.archive} and {first.archive} are not of one data set: their manifests differ. Unpack them apart.")
        if (problem := next(_record_problems(head.record, contents), None)) is not None:
            raise BadArchive(head.archive, problem, f"archives/{head.record.archive}.json")
    return heads, contents


def expected_member(archive: Path, members: Iterator[Member], name: str, file: FileRecord) -> Member:
    """Return the next member, which must have the name and size of a record."""
    member = next(members, None)
    if member is None:
        raise BadArchive(archive, f"ends before {printable(name)}")
    if member.name != name:
        raise unnamed(member, name)
    if member.size != file.bytes:
        raise BadArchive(archive, f"has {member.size} bytes, recorded are {file.bytes}", member.name)
    return member


def unnamed(member: Member, expected: str) -> BadArchive:
    """Return the error for a member that the records do not name at this place."""
    return BadArchive(member.archive, f"is not what the records name here ({printable(expected)} comes next)", member.name)


def _read_head(archive: Path) -> ArchiveHead:
    members = read_members(archive)
    member = next(members, None)
    if member is None:
        raise BadArchive(archive, "is empty")
    match = _RECORD_NAME.fullmatch(member.name)
    if match is None:
        raise unnamed(member, "<name>-<version>/archives/<archive>.json, which says what is in it,")
    record, mistakes = record_or_mistakes(ArchiveRecord, member.read(RECORD_CAP))
    if record is None:
        raise BadArchive(archive, f"is not a record of an archive:\n{listed(mistakes)}\nIt", member.name)
    if f"{record.name}-{record.version}" != match[1] or record.archive != match[2]:
        raise BadArchive(archive, f"is of {record.name}-{record.version}, archive {record.archive}", member.name)
    if not record.files or record.files[0].path != MANIFEST or record.files[0].bytes > MANIFEST_CAP:
        raise BadArchive(archive, f"does not name {MANIFEST} first, or a very large one", member.name)
    member = expected_member(archive, members, f"{match[1]}/{MANIFEST}", record.files[0])
    # hashed before it is held in memory: a false manifest may be large
    if (digest := sha256_pieces(member.chunks())) != record.files[0].sha256:
        raise BadArchive(archive, f"has {digest}, recorded is {record.files[0].sha256}", member.name)
    return ArchiveHead(archive, record, member.read(MANIFEST_CAP))


def _record_problems(record: ArchiveRecord, contents: Contents) -> Iterator[str]:
    """Yield what contradicts the manifest in an archive's record."""
    manifest = contents.manifest
    if (record.name, record.version, record.digest) != (manifest.name, manifest.version, manifest.digest):
        yield "names another data set than the manifest beside it"
    known = {f.path: f for f in manifest.files}
    if len({f.path.casefold() for f in record.files}) < len(record.files):
        yield "names a file twice, or two that differ in capitals alone"
    for f in record.files:
        problem = name_problem(f.path)
        if problem is not None or f.path.split("/")[0].casefold() in _OWN | {IMAGES.rstrip("/"), SHARDS.rstrip("/")}:
            yield f"names {printable(f.path)!r}, which {problem or 'is not a small file of a data set'}"
        if f.path == SHA256SUMS and f.bytes > SUMS_CAP:
            yield f"names {SHA256SUMS} with {f.bytes} bytes"
        if f.path not in (MANIFEST, SHA256SUMS) and known.get(f.path) != f:
            yield f"names {printable(f.path)!r}, which the manifest does not list so"
    paths = {f.path for f in record.files}
    if {SAMPLES, SHA256SUMS} - paths:
        yield f"does not name {SAMPLES} and {SHA256SUMS}"
    units = [tuple(u.sets) for u in record.units]
    for unit, files in zip(units, record.units, strict=True):
        if unit not in contents.containers or units.count(unit) > 1:
            yield f"names the sets {list(unit)}, which the manifest has not, or twice"
            return  # nothing is known of their files
        count, stop = contents.count(unit), files.first + files.count
        if files.total != count or stop > files.total:
            yield f"names files {files.first} to {stop} of {files.total} of set {unit[0]}, which has {count}"
        if missing := [s for s in unit if set_path(s) not in paths]:
            yield f"names images of {missing}, but not their rows"
