"""Unpack untrusted archives of a dataset, and check every member while it is read.

The first member of an archive is its record, which lists the other members: the manifest, the small files, the records
of its sets, and then the images. Small files and records are compared with the manifest, and images are compared with
their records. Members that are not listed are refused.

In a new dataset, the manifest is written last. Until then, the directory is an incomplete dataset. A dataset that
already has a manifest stays readable: the manifest is not removed, and PARTIAL.json is replaced only when the new files
are complete.
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
from ...errors import BuildError, VerificationError, format_list
from ...files import read_regular
from ...progress import progress_function, shows_progress
from ..checksums import is_file_as
from ..disk.atomic import fsync_folder, make_folder, name_target, path_inside, write_atomic
from ..disk.jsonl import json_line, read_jsonl
from ..disk.listing import plain_file
from ..disk.lock import hold_lock
from ..disk.remote import local_folder
from ..disk.space import check_space
from ..partial import Partial, Span, load_partial, merge_spans
from ..paths import CONTACT, IMAGES, MANIFEST, PAGE, PARTIAL, SAMPLES, UNPACK_STATE, WORK_FOLDER, lock_file
from ..records.digests import sha256_bytes, sha256_file
from ..records.models import FileRecord, Manifest, SampleRecord
from ..records.report import ProgressCallback
from ..verify.rules import sample_problems
from .archive_contents import PackedSet, expected_member, read_heads, top_folder
from .archives import BadArchive, Member, read_members
from .bag import INDEX, INDEX_CAP, PAYLOAD, parse_index


@dataclass(frozen=True)
class Unpacked:
    """The result of `unpack`.

    Attributes
    ----------
    path : Path
        The directory of the dataset.
    digest : str
        The digest of the dataset.
    sets : list of str
        Ids of the complete sets.
    absent : list of str
        Ids of the sets that are in other archives. Empty if the dataset is complete.
    written, kept : int
        The number of files that were written, and the number of files that existed before.
    """

    path: Path
    digest: str
    sets: list[str]
    absent: list[str]
    written: int
    kept: int

    def __repr__(self) -> str:
        sets = f"{len(self.sets)} complete sets, {len(self.absent)} absent"
        return f"<Unpacked {self.path}: {sets}, {self.written:,} files written, {self.kept:,} kept, {self.digest}>"


@shows_progress("unpack")
def unpack(
    archives: Path | str | Sequence[Path | str], out: Path | str, *, progress: ProgressCallback | bool | None = None
) -> Unpacked:
    """Unpack archives of one dataset into ``<out>/<name>-<version>``.

    To resume an interrupted call, make the same call again. More archives can be unpacked later into the same
    dataset.

    Parameters
    ----------
    archives : path or sequence of paths
        Archives that `pack` wrote, or the folder that contains them.
    out : path
        The folder in which the folder of the dataset is created. Files that were unpacked there before are kept.
    progress : callable or bool, optional
        Called with the step, the number of bytes and their total. By default a progress bar is shown in terminals and
        notebooks; False disables it.

    Returns
    -------
    Unpacked

    Raises
    ------
    BadArchive
        An archive is damaged, or has a member that its record does not list. The message names the archive. Nothing is
        written outside the folder of the dataset.
    VerificationError
        Records contradict each other.
    BuildError
        The archives belong to different datasets, or the folder of the dataset contains something else.
    MachineError
        There is not enough free space.
    """
    if not archives:
        raise BuildError("No archives were given. Specify archives that `corruptset pack` wrote.")
    records, data, contents = read_heads(
        archive for given in as_list(archives) for archive in _archives_of(Path(given))
    )
    manifest, sizes = contents.manifest, {archive: archive.stat().st_size for archive in records}
    root = local_folder(out, "archives are unpacked into") / top_folder(manifest)
    _present(root, manifest, data)
    needed = sum(sizes.values())
    if root.exists() and shutil.disk_usage(root).free < needed:  # existing files need no additional space
        needed -= sum(p.stat().st_size for p in root.rglob("*") if p.is_file() and not p.is_symlink())
    advice = "Free some space, choose another --out, or unpack fewer archives."
    check_space(root, needed, "what is in the archives", advice)
    busy = f"Another `corruptset unpack` is running in {root}. Wait until it ends, or choose another --out."
    with hold_lock(lock_file(root), busy, remove=True):
        for stray in root.glob(".*.part"):  # left by a call that was killed
            stray.unlink()
        present = _present(root, manifest, data)
        make_folder(root, WORK_FOLDER)
        write_atomic(root / UNPACK_STATE, json_line(present))
        written = kept = done = 0
        total, show, folders = sum(sizes.values()), progress_function(progress), {""}
        for archive, record in records.items():
            members = read_members(archive)
            next(members, None)  # the record was read before
            for file in contents.archive_files(root, record):
                member = expected_member(archive, members, root.name, file)
                if file.path != MANIFEST:
                    new = _write(root, member, file, folders)
                    written, kept = written + new, kept + (not new)
                done += file.bytes
                show("bytes", min(done, total), total)
            if (extra := next(members, None)) is not None:
                raise BadArchive(archive, "is not listed in the record, which ends before it", extra.name)
            for packed in record.sets:
                present = _add_files(present, packed)
            write_atomic(root / UNPACK_STATE, json_line(present))
        if problems := [p.detail for p in sample_problems(manifest, list(read_jsonl(root / SAMPLES, SampleRecord)))]:
            raise VerificationError(
                f"{root / SAMPLES} contradicts the manifest:\n{format_list(problems)}\nDo not use these archives."
            )
        absent = [s.id for s in manifest.sets if s.id not in present.sets]
        if absent or any(f.path in (CONTACT, PAGE) and not (root / f.path).exists() for f in manifest.files):
            write_atomic(root / PARTIAL, json_line(present))
        else:
            (root / PARTIAL).unlink(missing_ok=True)
        if not (root / MANIFEST).exists():
            write_atomic(root / MANIFEST, data)
        shutil.rmtree(root / WORK_FOLDER)
    return Unpacked(root, manifest.digest, present.sets, absent, written, kept)


def _archives_of(path: Path) -> list[Path]:
    """Return the archives at a path, which is an archive or a folder that `pack` wrote."""
    if not path.exists():
        raise BuildError(f"{path} does not exist. Specify a folder that `corruptset pack` wrote, or archives in it.")
    if not path.is_dir():
        return [path]
    archives = sorted(path.glob(f"{PAYLOAD}/[!.]*.tar")) or sorted(path.glob("[!.]*.tar"))
    if (path / INDEX).exists():  # the folder may also contain archives of an earlier release
        index = parse_index(read_regular(path / INDEX, INDEX_CAP), str(path / INDEX))
        archives = [archive for a in index.archives if (archive := path / a.path).exists()]
    if not archives:
        raise BuildError(
            f"{path} contains no archives (*.tar), and neither does {PAYLOAD}/ in it. Specify a folder that "
            "`corruptset pack` wrote, or archives in it."
        )
    return archives


def _present(root: Path, manifest: Manifest, data: bytes) -> Partial:
    """Return the record of the sets that earlier calls unpacked.

    Raise `BuildError` if the folder contains anything except this dataset or a part of it.
    """
    work, sha256 = root / WORK_FOLDER, sha256_bytes(data)
    if root.is_symlink() or work.is_symlink() or (root.exists() and not root.is_dir()):
        raise BuildError(
            f"{root} is not a folder, or is a link, or contains a link to its work folder. Choose another --out."
        )
    noted = load_partial(root, UNPACK_STATE) or load_partial(root)
    has_manifest = plain_file(root, MANIFEST) and sha256_file(root / MANIFEST) == sha256
    same = has_manifest if noted is None else noted.manifest == sha256
    foreign = {p for p in work.glob("*") if p.suffix != ".part"} - {root / UNPACK_STATE}
    if foreign or (not same and {*root.glob("*")} - {work}):
        raise BuildError(
            f"{root} contains a different dataset than these archives, an unfinished build, or something else. Choose "
            "another --out."
        )
    sets = sorted(s.id for s in manifest.sets) if has_manifest else []
    return noted or Partial(schema_version=1, digest=manifest.digest, manifest=sha256, sets=sets, pieces={})


def _add_files(present: Partial, packed: PackedSet) -> Partial:
    """Return the updated record after some files of a set were unpacked."""
    sets, pieces = {*present.sets}, dict(present.pieces)
    spans = merge_spans([*pieces.pop(packed.set, []), Span(first=packed.first, count=packed.count)])
    if sum(span.count for span in spans) == packed.total:
        sets.add(packed.set)
    elif packed.set not in sets:
        pieces[packed.set] = spans
    return present.model_copy(update={"sets": sorted(sets), "pieces": dict(sorted(pieces.items()))})


def _write(root: Path, member: Member, file: FileRecord, folders: set[str]) -> bool:
    """Write a member if its bytes match the record. Return False if the same file already exists.

    `folders` are folders that are known to be inside the dataset. The folder of the file is added to this set.
    """
    folder = file.path.rpartition("/")[0]
    if folder not in folders:
        path_inside(root, folder).mkdir(parents=True, exist_ok=True)
        folders.add(folder)
    target, part = root / file.path, root / WORK_FOLDER / "member.part"
    if is_file_as(target, file.bytes, file.sha256) and not target.is_symlink():
        return False
    synced = not file.path.startswith(IMAGES)  # as in a build, image files are not synced one by one
    hashed = hashlib.sha256()
    # unlinked first, so that a link with this name is not followed
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
        raise BadArchive(member.archive, f"has {digest}, but {file.sha256} is recorded", member.name)
    os.replace(part, target)
    if synced:
        fsync_folder(target.parent)
    return True
