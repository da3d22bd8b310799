"""Unpack archives that may come from anywhere: every member is one that the records name, checked while it is read.

An archive's first member says what follows; then come the manifest, the small files and the rows of its sets, each held to the manifest,
and then the images, each held to its row. So a member that nothing names has no place, and no name leads anywhere that the records do not.
The manifest takes its place last: until then the directory is an incomplete data set, which the same command goes on with.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ...errors import BuildError, VerificationError, listed
from ..checksums import SUMS_CAP
from ..disk.atomic import fsync_folder, name_target, write_atomic
from ..disk.jsonl import json_line, read_jsonl
from ..disk.lock import locked
from ..disk.space import check_space
from ..layout import CONTACT, IMAGES, MANIFEST, PARTIAL, SAMPLES, SETS, SHA256SUMS, UNPACK_STATE, WORK_FOLDER, set_path, set_places
from ..manifest_file import MANIFEST_CAP, parse_manifest
from ..partial import Partial, Span, load_partial
from ..records.digests import sha256_bytes, sha256_file
from ..records.models import FileRecord, Manifest, SampleRecord
from ..records.parsing import record_or_mistakes
from ..records.report import printable
from ..verify.rules import manifest_problems, sample_problems
from .archives import BadArchive, Member, name_problem, read_members
from .division import ArchiveRecord, Contents, UnitRecord, top_folder

LOCK = "unpack.lock"
RECORD_CAP = 32 << 20
"""Bytes of an archive's record; one of 10,000 sets has some 3 MB."""
MOST_REMEMBERED = 100_000
"""Names of earlier members, for saying that one is there twice; it would be refused without them as well."""
_RESERVED = frozenset({WORK_FOLDER, PARTIAL.casefold(), MANIFEST, SAMPLES, SHA256SUMS.casefold(), "sets", "archives"})
"""Where no image of a view can be."""
_RECORD = re.compile(r"([a-z0-9][0-9A-Za-z._+-]*)/archives/([^/]+)\.json")

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Unpacked:
    """What `unpack` left.

    Attributes
    ----------
    path : Path
        The data set.
    digest : str
        The build's.
    sets : list of str
        Ids of the sets that are whole.
    absent : list of str
        Ids of those that are in other archives; empty when the data set is whole.
    written, kept : int
        Files written, and files that were there already as they should be.
    """

    path: Path
    digest: str
    sets: list[str]
    absent: list[str]
    written: int
    kept: int


@dataclass
class _Head:
    """The beginning of an archive, read and held to itself."""

    archive: Path
    record: ArchiveRecord
    manifest: bytes


@dataclass
class _There:
    """Which files of which units are there: unit's first set -> runs of its files."""

    sets: set[str]
    pieces: dict[str, list[tuple[int, int]]] = field(default_factory=dict)

    def add(self, unit: UnitRecord) -> None:
        """Note a run of files; runs that meet become one, and a unit that is whole becomes its sets."""
        runs = sorted([*self.pieces.pop(unit.sets[0], []), (unit.first, unit.first + unit.count)])
        joined = runs[:1]
        for start, stop in runs[1:]:
            if start <= joined[-1][1]:
                joined[-1] = (joined[-1][0], max(stop, joined[-1][1]))
            else:
                joined.append((start, stop))
        if joined == [(0, unit.total)]:
            self.sets |= set(unit.sets)
        elif not self.sets >= set(unit.sets):
            self.pieces[unit.sets[0]] = joined

    def as_record(self, manifest: Manifest, sha256: str) -> Partial:
        """Return the record of it."""
        pieces = {s: [Span(first=a, count=b - a) for a, b in runs] for s, runs in sorted(self.pieces.items())}
        return Partial(schema_version=1, digest=manifest.digest, manifest=sha256, sets=sorted(self.sets), pieces=pieces)


def unpack(archives: Sequence[Path | str], out: Path | str, *, progress: Progress | None = None) -> Unpacked:
    """Unpack archives of one data set into ``<out>/<name>-<version>``.

    Parameters
    ----------
    archives : sequence of paths
        Any of those that `pack` wrote of a build.
    out : path
        The folder that receives the data set's own; what an earlier call unpacked there is kept and added to.
    progress : callable, optional
        Called with the step, bytes done and the total.

    Returns
    -------
    Unpacked

    Raises
    ------
    BadArchive
        An archive is damaged or has a member that its records do not name; says which. Nothing is written outside the data set's folder.
    VerificationError
        Records contradict each other.
    BuildError
        The archives are of different data sets, or something else is where they go.
    MachineError
        There is too little free space for what they hold.
    """
    if not archives:
        raise BuildError("No archives were given. Name those that `corruptset pack` wrote.")
    heads = [_head(Path(a)) for a in archives]
    first = heads[0]
    manifest = parse_manifest(first.manifest, f"{first.archive}: {MANIFEST}")
    problems = [p.detail for p in manifest_problems(manifest)]
    problems += [
        f"images of set {s!r} are said to be in {place!r}"
        for s, places in set_places(manifest).items()
        for place in places
        if name_problem(place) is not None or place.split("/")[0].casefold() in _RESERVED
    ]
    if problems:
        raise VerificationError(f"{first.archive}: {MANIFEST} contradicts itself:\n{listed(problems)}")
    contents = Contents(manifest)
    for one in heads:
        if one.manifest != first.manifest:
            raise BuildError(f"{one.archive} and {first.archive} are not of one data set: their manifests differ. Unpack them apart.")
        _check_record(one, contents)
    root = Path(out) / top_folder(manifest)
    sha256 = sha256_bytes(first.manifest)
    _check_target(root, first.manifest)
    _check_space(root, heads)
    root.mkdir(parents=True, exist_ok=True)
    busy = f"Another process is at work in {root} (`corruptset unpack`). Wait for it to end, or choose another --out."
    with locked(root / WORK_FOLDER / LOCK, busy):
        for stray in root.glob(".*.part"):  # of a call that was killed while it wrote one of the two files below
            stray.unlink()
        work = _Unpacking(root, contents, progress or (lambda *_: None), sum(Path(a).stat().st_size for a in archives))
        there = _there(root, manifest, sha256)
        _note(root, there.as_record(manifest, sha256))
        for path in (MANIFEST, PARTIAL):
            (root / path).unlink(missing_ok=True)
        for head in heads:
            work.archive(head)
            for unit in head.record.units:
                there.add(unit)
            _note(root, there.as_record(manifest, sha256))
        _check_samples(root, manifest)
        absent = [s.id for s in manifest.sets if s.id not in there.sets]
        if absent or (any(f.path == CONTACT for f in manifest.files) and not (root / CONTACT).exists()):
            write_atomic(root / PARTIAL, json_line(there.as_record(manifest, sha256)))
        write_atomic(root / MANIFEST, first.manifest)
        shutil.rmtree(root / WORK_FOLDER)
    return Unpacked(root, manifest.digest, sorted(there.sets), absent, work.written, work.kept)


def _head(archive: Path) -> _Head:
    """Read an archive's record and manifest."""
    members = _checked(read_members(archive))
    member = next(members, None)
    if member is None:
        raise BadArchive(archive, "is empty")
    match = _RECORD.fullmatch(member.name)
    if match is None:
        raise _unnamed(member, "<name>-<version>/archives/<archive>.json, which says what is in it,")
    record, mistakes = record_or_mistakes(ArchiveRecord, member.read(RECORD_CAP))
    if record is None:
        raise BadArchive(archive, f"is not a record of an archive:\n{listed(mistakes)}\nIt", member.name)
    if f"{record.name}-{record.version}" != match[1] or record.archive != match[2]:
        raise BadArchive(archive, f"is of {record.name}-{record.version}, archive {record.archive}", member.name)
    if not record.files or record.files[0].path != MANIFEST or record.files[0].bytes > MANIFEST_CAP:
        raise BadArchive(archive, f"does not name {MANIFEST} first, or a very large one", member.name)
    member = next(members, None)
    _expect(archive, member, f"{match[1]}/{MANIFEST}", record.files[0])
    assert member is not None
    # hashed before it is held: of what is no manifest there may be much
    hashed = hashlib.sha256()
    for piece in member.pieces():
        hashed.update(piece)
    if (found := "sha256:" + hashed.hexdigest()) != record.files[0].sha256:
        raise BadArchive(archive, f"has {found}, recorded is {record.files[0].sha256}", member.name)
    return _Head(archive, record, member.read(MANIFEST_CAP))


def _check_record(head: _Head, contents: Contents) -> None:
    """Hold an archive's record to the manifest."""

    def bad(problem: str) -> BadArchive:
        return BadArchive(head.archive, problem, f"archives/{head.record.archive}.json")

    record, manifest = head.record, contents.manifest
    if (record.name, record.version, record.digest) != (manifest.name, manifest.version, manifest.digest):
        raise bad("names another data set than the manifest beside it")
    known = {f.path: f for f in manifest.files}
    folded: dict[str, str] = {}
    for f in record.files:
        problem = name_problem(f.path)
        if problem is not None or f.path.split("/")[0].casefold() in (WORK_FOLDER, PARTIAL.casefold(), "images", "hdf5"):
            raise bad(f"names {printable(f.path)!r}, which {problem or 'is not a small file of a data set'}")
        if (other := folded.setdefault(f.path.casefold(), f.path)) != f.path:
            raise bad(f"names {printable(other)!r} and {printable(f.path)!r}, which differ in capitals alone")
        if f.path == SHA256SUMS and f.bytes > SUMS_CAP:
            raise bad(f"names {SHA256SUMS} with {f.bytes} bytes")
        if f.path not in (MANIFEST, SHA256SUMS) and known.get(f.path) != f:
            raise bad(f"names {printable(f.path)!r}, which the manifest does not list so")
    paths = [f.path for f in record.files]
    if len(set(paths)) != len(paths):
        raise bad("names a file twice")
    if {SAMPLES, SHA256SUMS} - set(paths):
        raise bad(f"does not name {SAMPLES} and {SHA256SUMS}")
    seen: set[tuple[str, ...]] = set()
    for unit in record.units:
        of = tuple(unit.sets)
        if of not in contents.whole or of in seen:
            raise bad(f"names the sets {list(of)}, which the manifest has not, or twice")
        seen.add(of)
        if unit.total != contents.total(of) or unit.first + unit.count > unit.total:
            raise bad(
                f"names files {unit.first} to {unit.first + unit.count} of {unit.total} of set {of[0]}, which has {contents.total(of)}"
            )
        if missing := [s for s in of if set_path(s) not in paths]:
            raise bad(f"names images of {missing}, but not their rows")


def _check_target(root: Path, manifest: bytes) -> None:
    if root.is_symlink() or (root.exists() and not root.is_dir()):
        raise BuildError(f"{root} is there and is not a folder. Choose another --out.")
    if not root.exists() or not any(root.iterdir()):
        return
    if (root / WORK_FOLDER).is_symlink():
        raise BuildError(f"{root / WORK_FOLDER} is a link. Remove it, or choose another --out.")
    work = list((root / WORK_FOLDER).iterdir()) if (root / WORK_FOLDER).is_dir() else []
    if any(p.name not in (Path(UNPACK_STATE).name, LOCK, "member.part") and not p.name.endswith(".part") for p in work):
        raise BuildError(f"{root} holds an unfinished build. Finish it with its own command, or choose another --out.")
    path = root / MANIFEST
    if path.is_symlink() or (path.exists() and (path.stat().st_size != len(manifest) or path.read_bytes() != manifest)):
        raise BuildError(f"{root} holds another data set than these archives. Choose another --out.")
    if not path.exists() and not work:
        raise BuildError(f"{root} is not empty, and nothing was unpacked there. Choose another --out.")


def _check_space(root: Path, heads: Sequence[_Head]) -> None:
    """Refuse to begin where what the archives hold does not fit; what is there already needs no room."""
    needed = sum(h.archive.stat().st_size for h in heads)
    # the small files that every archive brings are written once
    needed -= (len(heads) - 1) * sum(f.bytes for f in heads[0].record.files if not f.path.startswith(SETS))
    if root.exists() and shutil.disk_usage(root).free < needed:
        needed -= sum(p.stat().st_size for p in root.rglob("*") if p.is_file() and not p.is_symlink())
    check_space(root, needed, "what is in the archives", "Free some space, choose another --out, or unpack fewer archives.")


def _there(root: Path, manifest: Manifest, sha256: str) -> _There:
    """Return what earlier calls unpacked, as they noted it."""
    said = load_partial(root, UNPACK_STATE) or load_partial(root)
    if said is None:
        return _There({s.id for s in manifest.sets} if (root / MANIFEST).exists() else set())
    if said.manifest != sha256:
        raise BuildError(f"{root} holds a part of another data set than these archives. Choose another --out.")
    return _There(set(said.sets), {s: [(p.first, p.first + p.count) for p in spans] for s, spans in said.pieces.items()})


def _note(root: Path, there: Partial) -> None:
    write_atomic(root / UNPACK_STATE, json_line(there))


def _check_samples(root: Path, manifest: Manifest) -> None:
    problems = [p.detail for p in sample_problems(manifest, list(read_jsonl(root / SAMPLES, SampleRecord)))]
    if problems:
        raise VerificationError(f"{root / SAMPLES} contradicts the manifest:\n{listed(problems)}\nDo not use these archives.")


def _checked(members: Iterable[Member]) -> Iterator[Member]:
    """Yield members whose names are plain."""
    for member in members:
        if (problem := name_problem(member.name)) is not None:
            raise BadArchive(member.archive, problem, member.name)
        yield member


def _unnamed(member: Member, expected: str, before: frozenset[str] | set[str] = frozenset()) -> BadArchive:
    if member.name in before:
        return BadArchive(member.archive, "stands in it a second time", member.name)
    if member.name.casefold() in {n.casefold() for n in before}:
        return BadArchive(member.archive, "differs from an earlier one in capitals alone", member.name)
    return BadArchive(member.archive, f"is not what the records name here ({printable(expected)} comes next)", member.name)


def _expect(archive: Path, member: Member | None, name: str, file: FileRecord, before: set[str] | frozenset[str] = frozenset()) -> None:
    if member is None:
        raise BadArchive(archive, f"ends before {printable(name)}")
    if member.name != name:
        raise _unnamed(member, name, before)
    if member.size != file.bytes:
        raise BadArchive(archive, f"has {member.size} bytes, recorded are {file.bytes}", member.name)


class _Unpacking:
    """Writes members where they belong."""

    def __init__(self, root: Path, contents: Contents, progress: Progress, total: int) -> None:
        self.root, self.contents, self.manifest = root, contents, contents.manifest
        self.written = self.kept = 0
        self._part = root / WORK_FOLDER / "member.part"
        self._folders: set[Path] = {root}
        self._progress, self._total, self._done = progress, total, 0

    def archive(self, head: _Head) -> None:
        """Unpack an archive."""
        top = top_folder(self.manifest)
        before: set[str] = set()
        members = _checked(read_members(head.archive))
        record = next(members, None)
        if record is None or record.name != f"{top}/archives/{head.record.archive}.json":
            raise BadArchive(head.archive, "has changed since it was opened")
        before.add(record.name)
        for file in self._files(head.record):
            member = next(members, None)
            name = f"{top}/{file.path}"
            _expect(head.archive, member, name, file, before)
            assert member is not None
            if len(before) >= MOST_REMEMBERED:
                before.clear()
            before.add(name)
            if file.path != MANIFEST:
                self._write(member, file)
            self._done += file.bytes
            self._progress("bytes", min(self._done, self._total), self._total)
        if (left := next(members, None)) is not None:
            raise _unnamed(left, "the end", before)

    def _files(self, record: ArchiveRecord) -> Iterator[FileRecord]:
        """Yield what comes in an archive; the rows of a set are on the disk before they are needed."""
        yield from record.files
        for unit in record.units:
            yield from self.contents.files(self.root, tuple(unit.sets))[unit.first : unit.first + unit.count]

    def _write(self, member: Member, file: FileRecord) -> None:
        target = self.root / file.path
        self._make_folder(target.parent)
        if self._stands(target, file):
            self.kept += 1
            return
        hashed = hashlib.sha256()
        # the folder is ours and locked; a link in the place of the part is replaced, not followed
        self._part.unlink(missing_ok=True)
        fd = os.open(self._part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
        try:
            with os.fdopen(fd, "wb") as out:
                for piece in member.pieces():
                    hashed.update(piece)
                    out.write(piece)
                out.flush()
                # as in a build: single images are not synced one by one
                if not file.path.startswith(IMAGES):
                    os.fsync(out.fileno())
        except OSError as e:
            name_target(e, self._part, target)
            raise
        if "sha256:" + hashed.hexdigest() != file.sha256:
            self._part.unlink()
            raise BadArchive(member.archive, f"has sha256:{hashed.hexdigest()}, recorded is {file.sha256}", member.name)
        os.replace(self._part, target)
        if not file.path.startswith(IMAGES):
            fsync_folder(target.parent)
        self.written += 1

    def _stands(self, target: Path, file: FileRecord) -> bool:
        try:
            info = target.lstat()
        except FileNotFoundError:
            return False
        if stat.S_ISDIR(info.st_mode):
            raise BuildError(f"{printable(str(target))} is a folder, where a file of the data set belongs. Remove it and unpack again.")
        return stat.S_ISREG(info.st_mode) and info.st_size == file.bytes and sha256_file(target) == file.sha256

    def _make_folder(self, folder: Path) -> None:
        """Make a folder below the root; a link in the way is not followed."""
        if folder in self._folders:
            return
        self._make_folder(folder.parent)
        try:
            folder.mkdir()
        except FileExistsError:
            if not stat.S_ISDIR(folder.lstat().st_mode):
                raise BuildError(
                    f"{printable(str(folder))} is a link or file, where a folder of the data set belongs. Remove it."
                ) from None
        self._folders.add(folder)
