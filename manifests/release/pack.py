"""Pack a finished build into archives for publishing: the same bytes on every machine, checked while they are read.

An archive is written beside its place (``.part``) and renamed when it is whole and on the disk; then its hash is noted, so that an
interrupted pack resumes with the archive that it was writing. SHA256SUMS is written last.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Mapping
from io import BytesIO
from pathlib import Path
from tarfile import TarFile
from typing import Any, BinaryIO, Literal

from ...canonical import canonical_sha256
from ...digests import digest_of, digits
from ...errors import BuildError, IncompleteBuild, VerificationError
from ...progress import shows_progress, told
from ..checksums import is_file_as
from ..disk.atomic import replacing, write_atomic
from ..disk.listing import plain_file
from ..disk.lock import locked
from ..disk.remote import data_folder, local_folder
from ..disk.space import check_space
from ..layout import CONTACT, MANIFEST, PAGE, PARTIAL, README, SAMPLES, SHA256SUMS, WORK_FOLDER, set_path
from ..manifest_file import load_manifest
from ..reader import DataSet
from ..records.digests import sha256_file
from ..records.models import FileRecord
from ..records.report import Progress, printable
from .archives import add_member, new_archive
from .bag import PAYLOAD, Bag, Lacks, PackedArchive, release_card, tag_files
from .croissant import packed_croissant
from .division import (
    ARCHIVE_SCHEMA,
    DIVISIONS,
    METADATA,
    ArchivePlan,
    ArchiveRecord,
    ArchiveSizes,
    Contents,
    Division,
    common_files,
    divide,
    top_folder,
)
from .parquet import PARQUET, check_parquet, write_parquet
from .release_index import INDEX, index_bytes, release_index

MAX_BYTES = 50_000_000_000
"""The limit of a Zenodo record."""
STATE = "pack.json"
Digests = Literal["images", "sets"]


@shows_progress("pack")
def pack(
    directory: Path | str,
    out: Path | str,
    *,
    family_of: Callable[[str], str] | None = None,
    by: Division = "family",
    max_bytes: int = MAX_BYTES,
    manifest_only: bool = False,
    digests: Digests = "images",
    parquet: bool = False,
    progress: Progress | bool | None = None,
) -> Bag:
    """Pack a finished build into archives for publishing, with SHA256SUMS, a data card, BagIt's files and croissant.json.

    Two packings of one build are equal byte for byte. Every file is checked while it is read. The same call resumes an interrupted pack.

    Parameters
    ----------
    directory : path
        The one that holds manifest.json.
    out : path
        Receives everything; new, empty, or left by the same pack when it was interrupted.
    family_of : callable, optional
        Says which family a corruption is of; `corruptset.pack` supplies it.
    by : {"family", "corruption", "set"}
        An archive for each family (as ImageNet-C ships: noise, blur, weather, digital, extra), corruption or set.
    max_bytes : int
        Of an archive; larger ones are split, between sets where that is enough.
    manifest_only : bool
        Only the records, without images: for sources whose licence forbids passing them on.
    digests : {"images", "sets"}
        Of a release without images: whether it has the digest of every image, or leaves out the rows of sets, so that each set is known by
        its one digest in the manifest.
    parquet : bool
        Write the images once more, as Parquet: a file for every set, which `publish` puts on the Hugging Face hub for `load_dataset`.
    progress : callable or bool, optional
        Called with the step, bytes done and the total. By default a bar is shown in a terminal and in a notebook; False shows none.

    Returns
    -------
    Bag

    Raises
    ------
    IncompleteBuild
        The build is not finished, or is itself a part of one.
    VerificationError
        A file of the build is missing or differs from its record; names it.
    BuildError
        `out` holds something else, or an archive cannot be made as asked.
    MachineError
        There is too little free space for the archives that are still to be made.
    """
    if by not in DIVISIONS:
        raise ValueError(f"by is {by!r}; expected one of {DIVISIONS}.")
    if digests != "images" and not manifest_only:
        raise BuildError(
            f"digests is {digests!r}, and images are not left out: archives of images need the rows that say where each of them is. "
            "Add --manifest-only (manifest_only=True), or leave --digests out."
        )
    if parquet and manifest_only:
        raise BuildError("--parquet writes images, and --manifest-only leaves them out. Leave out one of the two.")
    root, out = data_folder(directory), local_folder(out, "archives are written to")
    manifest = load_manifest(root)
    if parquet:
        check_parquet(manifest)
    if (root / PARTIAL).exists():
        raise IncompleteBuild(f"{root} is a part of a data set ({PARTIAL} says which). Unpack its other archives there, then pack it.")
    if out.resolve() == root.resolve() or root.resolve() in out.resolve().parents:
        raise BuildError(f"{out} is inside the build. Choose another --out.")
    identity = canonical_sha256(
        [sha256_file(_plain(root, MANIFEST)), by, "tar", max_bytes, manifest_only, *([digests] if digests != "images" else [])]
    )
    _check_target(out)
    busy = f"Another process is at work in {out} (`corruptset pack`). Wait for it to end, or choose another --out."
    with locked(out / WORK_FOLDER / "pack.lock", busy):
        finished = _finished_archives(out, identity)
        contents = Contents(manifest)
        lacks: Lacks = "nothing" if not manifest_only else "images" if digests == "images" else "rows"
        packer = _Packer(root, out / PAYLOAD, contents, lacks, told(progress))
        sizes = ArchiveSizes(root, contents)
        # loaders that keep extracted archives by name, as mlcroissant does, need another name for other content
        start = f"{top_folder(manifest)}-{digits(identity)[:12]}"
        plans = [] if manifest_only else divide(sizes, start, by=by, family=family_of or (lambda name: "other"), max_bytes=max_bytes)
        plans.append(ArchivePlan(f"{start}-{METADATA}"))
        standing = sum(noted["bytes"] for name, noted in finished.items() if (out / PAYLOAD / name).exists())
        wanted = sizes.estimate(plans, rows=lacks != "rows") - standing + (sum(s.bytes for s in manifest.sets) if parquet else 0)
        check_space(out, wanted, "the pack", "Free some space, or choose another --out.")
        _note(out, identity, finished)  # from now on, what stands here is known as this pack's
        (out / PAYLOAD).mkdir(exist_ok=True)
        for stray in (*out.glob(".*.part"), *(out / PAYLOAD).glob("*.part")):
            stray.unlink()
        archives: list[PackedArchive] = []
        kept = 0
        for plan in plans:
            name = f"{plan.name}.tar"
            record = _standing(out / PAYLOAD / name, finished.get(name))
            kept += record is not None
            record = record or packer.write(name, plan)
            finished[name] = {"bytes": record.bytes, "sha256": record.sha256}
            _note(out, identity, finished)
            archives.append(PackedArchive(record, plan.sets))
        if parquet:
            write_parquet(DataSet(root), out / f"{PARQUET}{digits(identity)[:12]}", told(progress))
        samples = manifest.sets[0].count if manifest.sets else (root / SAMPLES).read_bytes().count(b"\n")
        card = release_card(manifest, archives, samples=samples, lacks=lacks)
        texts = {README: card, **packed_croissant(root, contents, archives)}
        tags = tag_files(manifest, archives, texts)
        sums = tags.pop(SHA256SUMS)
        index = release_index(manifest, archives, {**tags, SHA256SUMS: sums})
        for path, data in {**tags, INDEX: index_bytes(index), SHA256SUMS: sums}.items():
            write_atomic(out / path, data)
        shutil.rmtree(out / WORK_FOLDER)
    return Bag(out, manifest.digest, archives, kept)


def _check_target(out: Path) -> None:
    """Refuse a folder that holds anything but an interrupted pack."""
    out.mkdir(parents=True, exist_ok=True)
    if (out / WORK_FOLDER / STATE).exists():
        return
    names = sorted(p.name for p in out.iterdir() if p.name != WORK_FOLDER)
    if SHA256SUMS in names:
        shutil.rmtree(out / WORK_FOLDER, ignore_errors=True)  # of a pack that was killed while it removed that folder
        raise BuildError(f"{out} holds a finished pack; `sha256sum --check {SHA256SUMS}` in it checks that. Choose another --out.")
    if names:
        raise BuildError(f"{out} is not empty ({', '.join(names[:5])}): archives go into a folder of their own. Choose another --out.")


def _note(out: Path, identity: str, archives: Mapping[str, Any]) -> None:
    write_atomic(out / WORK_FOLDER / STATE, json.dumps({"identity": identity, "archives": archives}).encode())


def _finished_archives(out: Path, identity: str) -> dict[str, Any]:
    """Return name -> bytes and sha256 of the archives that an interrupted pack of the same kind finished."""
    state = out / WORK_FOLDER / STATE
    if not state.exists():
        _check_target(out)  # again: another process may have packed since
        return {}
    noted = json.loads(state.read_bytes())
    if noted.get("identity") != identity:
        raise BuildError(
            f"{out} holds an interrupted pack of another build, or one with other options. Finish that with its own command, or choose "
            "another --out."
        )
    archives: dict[str, Any] = noted["archives"]
    return archives


def _standing(path: Path, noted: Mapping[str, Any] | None) -> FileRecord | None:
    """Return the record of an archive that still is as it was noted."""
    if noted is None or not is_file_as(path, noted["bytes"], noted["sha256"]):
        return None
    return FileRecord(path=path.name, **noted)


def _plain(root: Path, path: str) -> Path:
    """Return the place of a file of the build that no link leads to."""
    if not plain_file(root, path):
        raise VerificationError(
            f"{printable(str(root / path))} is missing, or a link is on the way to it. Run `corruptset verify` on the build."
        )
    return root / path


class _HashedFile:
    """A file that is hashed while it is read."""

    def __init__(self, file: BinaryIO) -> None:
        self._file, self.hash = file, hashlib.sha256()

    def read(self, size: int = -1, /) -> bytes:
        data = self._file.read(size)
        self.hash.update(data)
        return data


class _Packer:
    """Writes archives of one build into a folder."""

    def __init__(self, root: Path, folder: Path, contents: Contents, lacks: Lacks, progress: Progress) -> None:
        self.root, self.folder, self.contents, self.lacks = root, folder, contents, lacks
        self.manifest = contents.manifest
        self.files = {f.path: f for f in self.manifest.files}
        for path in (MANIFEST, SHA256SUMS):  # nothing else records these two
            self.files[path] = FileRecord(path=path, bytes=(root / path).stat().st_size, sha256=sha256_file(_plain(root, path)))
        line = f"{digits(self.files[MANIFEST].sha256)}  {MANIFEST}".encode()
        if line not in (root / SHA256SUMS).read_bytes().splitlines():
            raise VerificationError(
                f"{root / MANIFEST} is not what {SHA256SUMS} says: one of the two was changed. Run `corruptset verify` on the build."
            )
        self._progress = progress
        self._done = 0
        self._total = sum(f.bytes for f in self.files.values()) + (sum(s.bytes for s in self.manifest.sets) if lacks == "nothing" else 0)

    def write(self, name: str, plan: ArchivePlan) -> FileRecord:
        """Write an archive and return its record."""
        with replacing(self.folder / name) as part:
            with part.open("wb") as file:
                with new_archive(file) as archive:
                    self._write_members(archive, plan)
                file.flush()
                os.fsync(file.fileno())
            return FileRecord(path=name, bytes=part.stat().st_size, sha256=sha256_file(part))

    def _write_members(self, archive: TarFile, plan: ArchivePlan) -> None:
        record = ArchiveRecord(
            schema_version=ARCHIVE_SCHEMA,
            archive=plan.name,
            name=self.manifest.name,
            version=self.manifest.version,
            digest=self.manifest.digest,
            files=self._small_files(plan),
            units=plan.units,
        )
        top = top_folder(self.manifest)
        data = json.dumps(record.as_json(), ensure_ascii=False, indent=1).encode() + b"\n"
        add_member(archive, f"{top}/archives/{plan.name}.json", len(data), BytesIO(data))
        for file in self.contents.archive_files(self.root, record):
            with _plain(self.root, file.path).open("rb") as opened:
                size, content = os.fstat(opened.fileno()).st_size, _HashedFile(opened)
                if size == file.bytes:
                    add_member(archive, f"{top}/{file.path}", size, content)
                if size != file.bytes or digest_of(content.hash) != file.sha256:
                    what = "another hash than the records say" if size == file.bytes else f"{size} bytes, the records say {file.bytes}"
                    raise VerificationError(
                        f"{printable(opened.name)} has {what}. Build it again, or run `corruptset verify` for everything that is wrong."
                    )
            self._done += file.bytes
            self._progress("bytes", min(self._done, self._total), self._total)

    def _small_files(self, plan: ArchivePlan) -> list[FileRecord]:
        sets = plan.sets if plan.units else tuple(s.id for s in self.manifest.sets if self.lacks != "rows")
        small = [SHA256SUMS, *(f.path for f in common_files(self.manifest))]
        if not plan.units and self.lacks == "nothing":
            small += [path for path in (CONTACT, PAGE) if path in self.files]
        return [self.files[path] for path in (MANIFEST, *sorted(small), *map(set_path, sets))]
