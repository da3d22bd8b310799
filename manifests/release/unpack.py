"""Archives from anywhere unpacked: the records name every member, and it is checked while read.

An archive's first member says what follows; then come the manifest, the small files and the rows of its sets, each
compared with the manifest, and then the images, each compared with its row. So no member has a place that the records
do not name. The manifest is written last: until then the directory is an incomplete data set, which the same command
completes.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ...arguments import as_list
from ...digests import digest_of
from ...errors import BuildError, VerificationError, listed
from ...files import read_regular
from ...progress import progress_function, shows_progress
from ..checksums import is_file_as
from ..disk.atomic import fsync_folder, inside, make_folder, name_target, write_atomic
from ..disk.jsonl import json_line, read_jsonl
from ..disk.listing import plain_file
from ..disk.lock import locked
from ..disk.remote import local_folder
from ..disk.space import check_space
from ..partial import Partial, Span, joined, load_partial
from ..paths import CONTACT, IMAGES, MANIFEST, PAGE, PARTIAL, SAMPLES, UNPACK_STATE, WORK_FOLDER, lock_file
from ..records.digests import sha256_bytes, sha256_file
from ..records.models import FileRecord, Manifest, SampleRecord
from ..records.report import Progress
from ..verify.rules import sample_problems
from .archives import BadArchive, Member, read_members
from .bag import INDEX, INDEX_CAP, PAYLOAD, parse_index
from .contents import PackedSet, expected_member, read_heads, top_folder


@dataclass(frozen=True)
class Unpacked:
    """What `unpack` wrote.

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
        Files written, and files that an earlier call had written.
    """

    path: Path
    digest: str
    sets: list[str]
    absent: list[str]
    written: int
    kept: int

    def __repr__(self) -> str:
        sets = f"{len(self.sets)} whole sets, {len(self.absent)} absent"
        return f"<Unpacked {self.path}: {sets}, {self.written:,} files written, {self.kept:,} kept, {self.digest}>"


@shows_progress("unpack")
def unpack(
    archives: Path | str | Sequence[Path | str], out: Path | str, *, progress: Progress | bool | None = None
) -> Unpacked:
    """Unpack archives of one data set into ``<out>/<name>-<version>``.

    Parameters
    ----------
    archives : path or sequence of paths
        Any of those that `pack` wrote of a build, or the folder that it wrote, which is all of them.
    out : path
        The folder that receives the data set's own; what an earlier call unpacked there is kept.
    progress : callable or bool, optional
        Called with the step, bytes done and the total. By default a bar is shown in a terminal and in a notebook; False
        shows none.

    Returns
    -------
    Unpacked

    Raises
    ------
    BadArchive
        An archive is damaged or has a member that its records do not name; says which. Nothing is written outside the
        data set's folder.
    VerificationError
        Records contradict each other.
    BuildError
        The archives are of different data sets, or something else is where they go.
    MachineError
        There is too little free space for what they hold.
    """
    if not archives:
        raise BuildError("No archives were given. Name those that `corruptset pack` wrote.")
    records, data, contents = read_heads(
        archive for given in as_list(archives) for archive in _archives_of(Path(given))
    )
    manifest, sizes = contents.manifest, {archive: archive.stat().st_size for archive in records}
    root = local_folder(out, "archives are unpacked into") / top_folder(manifest)
    _present(root, manifest, data)
    needed = sum(sizes.values())
    if root.exists() and shutil.disk_usage(root).free < needed:  # what is on the disk already needs no room
        needed -= sum(p.stat().st_size for p in root.rglob("*") if p.is_file() and not p.is_symlink())
    advice = "Free some space, choose another --out, or unpack fewer archives."
    check_space(root, needed, "what is in the archives", advice)
    busy = f"Another process is at work in {root} (`corruptset unpack`). Wait for it to end, or choose another --out."
    with locked(lock_file(root), busy, remove=True):
        for stray in root.glob(".*.part"):  # of a call that was killed while it wrote one of the two files below
            stray.unlink()
        present = _present(root, manifest, data)
        make_folder(root, WORK_FOLDER)
        write_atomic(root / UNPACK_STATE, json_line(present))
        for path in (MANIFEST, PARTIAL):
            (root / path).unlink(missing_ok=True)
        written = kept = done = 0
        total, show, folders = sum(sizes.values()), progress_function(progress), {""}
        for archive, record in records.items():
            members = read_members(archive)
            next(members, None)  # the record, which was read
            for file in contents.archive_files(root, record):
                member = expected_member(archive, members, root.name, file)
                if file.path != MANIFEST:
                    new = _write(root, member, file, folders)
                    written, kept = written + new, kept + (not new)
                done += file.bytes
                show("bytes", min(done, total), total)
            if (extra := next(members, None)) is not None:
                raise BadArchive(archive, "is not what the records name here: the end comes next", extra.name)
            for packed in record.sets:
                present = _grown(present, packed)
            write_atomic(root / UNPACK_STATE, json_line(present))
        if problems := [p.detail for p in sample_problems(manifest, list(read_jsonl(root / SAMPLES, SampleRecord)))]:
            raise VerificationError(
                f"{root / SAMPLES} contradicts the manifest:\n{listed(problems)}\nDo not use these archives."
            )
        absent = [s.id for s in manifest.sets if s.id not in present.sets]
        if absent or any(f.path in (CONTACT, PAGE) and not (root / f.path).exists() for f in manifest.files):
            write_atomic(root / PARTIAL, json_line(present))
        write_atomic(root / MANIFEST, data)
        shutil.rmtree(root / WORK_FOLDER)
    return Unpacked(root, manifest.digest, present.sets, absent, written, kept)


def _archives_of(path: Path) -> list[Path]:
    """Return the archives of a path: itself, or those in a folder that `pack` wrote."""
    if not path.exists():
        raise BuildError(f"{path} does not exist. Name what `corruptset pack` wrote, or its archives.")
    if not path.is_dir():
        return [path]
    archives = sorted(path.glob(f"{PAYLOAD}/[!.]*.tar")) or sorted(path.glob("[!.]*.tar"))
    if (path / INDEX).exists():  # a release that took another's place left archives that are not in it
        index = parse_index(read_regular(path / INDEX, INDEX_CAP), str(path / INDEX))
        archives = [archive for a in index.archives if (archive := path / a.path).exists()]
    if not archives:
        raise BuildError(
            f"{path} has no archives (*.tar), nor has a folder {PAYLOAD}/ in it. Name what `corruptset pack` wrote, "
            "or its archives."
        )
    return archives


def _present(root: Path, manifest: Manifest, data: bytes) -> Partial:
    """Return what earlier calls unpacked.

    BuildError: the folder holds anything but this data set or a part of it.
    """
    work, sha256 = root / WORK_FOLDER, sha256_bytes(data)
    if root.is_symlink() or work.is_symlink() or (root.exists() and not root.is_dir()):
        raise BuildError(f"{root} is not a folder, or a link is in it. Choose another --out.")
    noted = load_partial(root, UNPACK_STATE) or load_partial(root)
    whole = plain_file(root, MANIFEST) and sha256_file(root / MANIFEST) == sha256
    same = whole if noted is None else noted.manifest == sha256
    of_others = {p for p in work.glob("*") if p.suffix != ".part"} - {root / UNPACK_STATE}
    if of_others or (not same and {*root.glob("*")} - {work}):
        raise BuildError(
            f"{root} holds another data set than these archives, an unfinished build or something else. Choose "
            "another --out."
        )
    sets = sorted(s.id for s in manifest.sets) if whole else []
    return noted or Partial(schema_version=1, digest=manifest.digest, manifest=sha256, sets=sets, pieces={})


def _grown(present: Partial, packed: PackedSet) -> Partial:
    """Return the updated record after some files of a set were unpacked."""
    sets, pieces = {*present.sets}, dict(present.pieces)
    spans = joined([*pieces.pop(packed.set, []), Span(first=packed.first, count=packed.count)])
    if sum(span.count for span in spans) == packed.total:
        sets.add(packed.set)
    elif packed.set not in sets:
        pieces[packed.set] = spans
    return present.model_copy(update={"sets": sorted(sets), "pieces": dict(sorted(pieces.items()))})


def _write(root: Path, member: Member, file: FileRecord, folders: set[str]) -> bool:
    """Write a file whose bytes are as recorded; return False where it stands already.

    `folders` are known to be in the data set.
    """
    folder = file.path.rpartition("/")[0]
    if folder not in folders:
        inside(root, folder).mkdir(parents=True, exist_ok=True)
        folders.add(folder)
    target, part = root / file.path, root / WORK_FOLDER / "member.part"
    if is_file_as(target, file.bytes, file.sha256) and not target.is_symlink():
        return False
    synced = not file.path.startswith(IMAGES)  # as in a build, single images are not synced one by one
    hashed = hashlib.sha256()
    # the work folder is ours and locked; a link in the place of the part is replaced, not followed
    part.unlink(missing_ok=True)
    try:
        with part.open("xb") as out:
            for chunk in member.chunks():
                hashed.update(chunk)
                out.write(chunk)
            if synced:
                out.flush()
                os.fsync(out.fileno())
    except OSError as e:
        name_target(e, part, target)
        raise
    if (digest := digest_of(hashed)) != file.sha256:
        part.unlink()
        raise BadArchive(member.archive, f"has {digest}, recorded is {file.sha256}", member.name)
    os.replace(part, target)
    if synced:
        fsync_folder(target.parent)
    return True
