"""Pack a finished build into archives for publishing: the same bytes on every machine, checked while they are read.

An archive is written beside its place (``.part``) and renamed when it is whole and on the disk; then its hash is noted, so that a pack
that was stopped goes on with the archive that it was at. SHA256SUMS is written last.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, BinaryIO

from ...canonical import canonical_sha256
from ...errors import BuildError, IncompleteBuild, VerificationError
from ..disk.atomic import fsync_folder, name_target, write_atomic
from ..disk.listing import plain_file
from ..disk.lock import locked
from ..disk.space import check_space
from ..layout import CONTACT, MANIFEST, PARTIAL, README, SAMPLES, SHA256SUMS, WORK_FOLDER, set_path
from ..manifest_file import load_manifest
from ..records.digests import sha256_bytes, sha256_file
from ..records.models import FileRecord, Manifest
from ..records.report import printable
from .archives import END_COST, FORMATS, PIECE, ArchiveFormat, Writer
from .bag import PAYLOAD, Packed, release_card, tag_files
from .croissant import beside
from .division import (
    ARCHIVE_SCHEMA,
    DIVISIONS,
    METADATA,
    ArchiveRecord,
    Contents,
    Division,
    Planned,
    common_files,
    divide,
    top_folder,
    unit_record,
)

MAX_BYTES = 50_000_000_000
"""What Zenodo takes in a record."""
MEMBER_BYTES: dict[str, int] = {"tar": 768, "zip": 250}
"""About what a member takes beside its bytes: its header, and half a block to fill the last one; its two headers."""
STATE = "pack.json"

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Release:
    """What `pack` wrote.

    Attributes
    ----------
    path : Path
    digest : str
        The build's.
    archives : list of Packed
    kept : int
        Archives that stood from an earlier, interrupted pack.
    """

    path: Path
    digest: str
    archives: list[Packed]
    kept: int

    @property
    def bytes(self) -> int:
        """The bytes of all archives."""
        return sum(a.file.bytes for a in self.archives)


def pack(
    directory: Path | str,
    out: Path | str,
    *,
    family: Callable[[str], str],
    by: Division = "family",
    form: ArchiveFormat = "tar",
    max_bytes: int = MAX_BYTES,
    manifest_only: bool = False,
    progress: Progress | None = None,
) -> Release:
    """Write archives of a finished build, and what goes with them: SHA256SUMS, BagIt's files, croissant.json, a data card.

    Parameters
    ----------
    directory : path
        The one that holds manifest.json.
    out : path
        Receives everything; new, empty, or left by the same pack when it was interrupted.
    family : callable
        The family of a corruption's name: the archives of ``by="family"``.
    by : {"family", "corruption", "set"}
    form : {"tar", "zip"}
    max_bytes : int
        Of an archive; larger ones are split, between sets where that is enough.
    manifest_only : bool
        Only the records, without images: for sources whose licence forbids passing them on.
    progress : callable, optional
        Called with the step, bytes done and the total.

    Returns
    -------
    Release

    Raises
    ------
    IncompleteBuild
        The build is not finished, or is itself a part of one.
    VerificationError
        A file of the build is missing or is not what the records say; names it.
    BuildError
        `out` holds something else, or an archive cannot be made as asked.
    MachineError
        There is too little free space for the archives that are still to be made.
    """
    if by not in DIVISIONS or form not in FORMATS:
        raise ValueError(f"by is {by!r} and form {form!r}; expected one of {DIVISIONS} and one of {tuple(FORMATS)}.")
    root, out = Path(directory), Path(out)
    manifest = load_manifest(root)
    if (root / PARTIAL).exists():
        raise IncompleteBuild(f"{root} is a part of a data set ({PARTIAL} says which). Unpack its other archives there, then pack it.")
    if out.resolve() == root.resolve() or root.resolve() in out.resolve().parents:
        raise BuildError(f"{out} is inside the build. Choose another --out.")
    identity = canonical_sha256([_hash(root, MANIFEST), by, form, max_bytes, manifest_only])
    _check_target(out)
    busy = f"Another process is at work in {out} (`corruptset pack`). Wait for it to end, or choose another --out."
    with locked(out / WORK_FOLDER / "pack.lock", busy):
        noted = _noted(out, identity)
        packing = _Packing(root, out, Contents(manifest), form, not manifest_only, progress or (lambda *_: None))
        # whoever keeps what an archive held by its name, as mlcroissant does, must not take it for another's
        start = f"{top_folder(manifest)}-{identity.removeprefix('sha256:')[:12]}"
        divided = [] if manifest_only else divide(root, packing.contents, start, by=by, family=family, form=form, max_bytes=max_bytes)
        planned = [*divided, Planned(f"{start}-{METADATA}", ())]
        standing = sum(one["bytes"] for name, one in noted.items() if (out / PAYLOAD / name).exists())
        check_space(out, packing.bytes_of(planned) - standing, "the pack", "Free some space, or choose another --out.")
        _note(out, identity, noted)  # whatever stands here from now on is known for a pack's
        (out / PAYLOAD).mkdir(exist_ok=True)
        for stray in (*out.glob(".*.part"), *(out / PAYLOAD).glob("*.part")):
            stray.unlink()
        archives: list[Packed] = []
        kept = 0
        for one in planned:
            name = f"{one.name}.{form}"
            there = _standing(out / PAYLOAD / name, noted.get(name))
            kept += there is not None
            file = there or packing.write(one)
            noted[name] = {"bytes": file.bytes, "sha256": file.sha256}
            _note(out, identity, noted)
            archives.append(Packed(file, one.sets, FORMATS[form]))
        count = manifest.sets[0].count if manifest.sets else _lines(root / SAMPLES)
        card = release_card(manifest, archives, samples=count, pixels=not manifest_only)
        texts = {README: card, **beside(root, packing.contents, archives)}
        for path, data in tag_files(manifest, archives, texts).items():
            write_atomic(out / path, data)
        shutil.rmtree(out / WORK_FOLDER)
    return Release(out, manifest.digest, archives, kept)


def _check_target(out: Path) -> None:
    out.mkdir(parents=True, exist_ok=True)
    if (out / SHA256SUMS).exists() and not (out / WORK_FOLDER).exists():
        raise _finished(out)
    others = sorted(p.name for p in out.iterdir())
    if others and WORK_FOLDER not in others:
        raise BuildError(f"{out} is not empty ({', '.join(others[:5])}): archives go into a folder of their own. Choose another --out.")


def _finished(out: Path) -> BuildError:
    return BuildError(f"{out} holds a finished pack; `sha256sum --check {SHA256SUMS}` in it checks that. Choose another --out.")


def _note(out: Path, identity: str, archives: Mapping[str, Any]) -> None:
    write_atomic(out / WORK_FOLDER / STATE, json.dumps({"identity": identity, "archives": archives}).encode())


def _noted(out: Path, identity: str) -> dict[str, Any]:
    """Return the archives that an interrupted pack of the same kind finished."""
    state = out / WORK_FOLDER / STATE
    if not state.exists():
        if (out / SHA256SUMS).exists():
            # killed while it cleaned up
            shutil.rmtree(out / WORK_FOLDER)
            raise _finished(out)
        # nothing was finished; what else could be here is not a pack's
        others = sorted(p.name for p in out.iterdir() if p.name not in (WORK_FOLDER, PAYLOAD))
        if others or any(p.suffix != ".part" for p in (out / PAYLOAD).glob("*")):
            raise BuildError(f"{out} is not empty: archives go into a folder of their own. Choose another --out.")
        return {}
    found = json.loads(state.read_bytes())
    if found.get("identity") != identity:
        raise BuildError(
            f"{out} holds an interrupted pack of another build, or one with other options. Finish that with its own command, or choose "
            "another --out."
        )
    archives: dict[str, Any] = found["archives"]
    return archives


def _standing(path: Path, noted: dict[str, Any] | None) -> FileRecord | None:
    """Return the record of an archive that is there as it was noted."""
    if noted is None or not path.is_file() or path.stat().st_size != noted["bytes"] or sha256_file(path) != noted["sha256"]:
        return None
    return FileRecord(path=path.name, bytes=noted["bytes"], sha256=noted["sha256"])


def _hash(root: Path, path: str) -> str:
    if not plain_file(root, path):
        raise VerificationError(f"{root / path} is missing, or a link is on the way to it. Run `corruptset verify` on the build.")
    return sha256_file(root / path)


def _lines(path: Path) -> int:
    with path.open("rb") as f:
        return sum(1 for _ in f)


class _Packing:
    """Writes archives of one build."""

    def __init__(self, root: Path, out: Path, contents: Contents, form: ArchiveFormat, pixels: bool, progress: Progress) -> None:
        self.root, self.out, self.contents, self.form = root, out, contents, form
        self.manifest: Manifest = contents.manifest
        self.pixels = pixels
        self.files = {f.path: f for f in self.manifest.files}
        # nothing but these two files records itself; what SHA256SUMS says of the manifest is compared below
        for path in (MANIFEST, SHA256SUMS):
            self.files[path] = FileRecord(path=path, bytes=(root / path).stat().st_size, sha256=_hash(root, path))
        self._check_sums()
        self._progress = progress
        self._done = 0
        self._total = sum(f.bytes for f in self.files.values())
        if pixels:
            self._total += sum(s.bytes for s in self.manifest.sets)

    def _check_sums(self) -> None:
        own = f"{self.files[MANIFEST].sha256.removeprefix('sha256:')}  {MANIFEST}".encode()
        if own not in (self.root / SHA256SUMS).read_bytes().splitlines():
            raise VerificationError(
                f"{self.root / MANIFEST} is not what {SHA256SUMS} says: one of the two was changed. Run `corruptset verify` on the build."
            )

    def bytes_of(self, planned: Sequence[Planned]) -> int:
        """Return about how many bytes archives have together, as the manifest says it; rows are not looked at."""
        contents, records = self.contents, self.contents.records
        member, end = MEMBER_BYTES[self.form], END_COST if self.form == "tar" else 0
        common = [self.files[MANIFEST], self.files[SHA256SUMS], *common_files(self.manifest)]
        rows = {s: self.files[set_path(s)].bytes + member for s in records}
        total = len(planned) * (end + sum(f.bytes + member for f in common)) + sum(rows.values())
        for unit in {one.sets for p in planned for one in p.slices}:
            # a set's bytes are of its images in whatever holds them; of shards alone it is their own that count
            images = max(sum(records[s].bytes for s in unit), sum(f.bytes for f in contents.whole[unit]))
            total += images + contents.total(unit) * member + sum(rows[s] for s in unit)
        return total

    def write(self, planned: Planned) -> FileRecord:
        """Write an archive and return its record."""
        name = f"{planned.name}.{self.form}"
        target = self.out / PAYLOAD / name
        part = target.with_name(name + ".part")
        try:
            with part.open("wb") as f:
                writer = Writer(f, self.form)
                for path, data in self._members(planned):
                    self._member(writer, path, data)
                writer.close()
                f.flush()
                os.fsync(f.fileno())
            # hashed from the disk: a zip's headers are completed after the fact
            record = FileRecord(path=name, bytes=part.stat().st_size, sha256=sha256_file(part))
            os.replace(part, target)
        except BaseException as e:
            with suppress(OSError):
                part.unlink(missing_ok=True)
            name_target(e, part, target)
            raise
        fsync_folder(target.parent)
        return record

    def _members(self, planned: Planned) -> Iterator[tuple[FileRecord, bytes | None]]:
        """Yield the members of an archive: records of files, and the bytes of the one that is made here."""
        whole = planned.name.endswith(f"-{METADATA}") and not planned.slices
        sets = [s.id for s in self.manifest.sets] if whole else planned.sets
        small = [SHA256SUMS, *(f.path for f in common_files(self.manifest))]
        small += [CONTACT] if whole and self.pixels and CONTACT in self.files else []
        paths = [MANIFEST, *sorted(small), *map(set_path, sets)]
        record = ArchiveRecord(
            schema_version=ARCHIVE_SCHEMA,
            archive=planned.name,
            name=self.manifest.name,
            version=self.manifest.version,
            digest=self.manifest.digest,
            files=[self.files[p] for p in paths],
            units=[unit_record(self.contents, one) for one in planned.slices],
        )
        data = json.dumps(record.as_json(), ensure_ascii=False, indent=1).encode() + b"\n"
        yield FileRecord(path=f"archives/{planned.name}.json", bytes=len(data), sha256=sha256_bytes(data)), data
        for path in paths:
            yield self.files[path], None
        for one in planned.slices:
            for file in self.contents.files(self.root, one.sets)[one.first : one.stop]:
                yield file, None

    def _member(self, writer: Writer, file: FileRecord, data: bytes | None) -> None:
        name = f"{top_folder(self.manifest)}/{file.path}"
        with writer.member(name, file.bytes) as out:
            if data is not None:
                out.write(data)
            else:
                self._copy(file, out)

    def _copy(self, file: FileRecord, out: IO[bytes]) -> None:
        """Copy a file of the build, and hold it to its record."""
        path = self.root / file.path
        if not plain_file(self.root, file.path):
            raise VerificationError(f"{printable(str(path))} is missing, or a link. Run `corruptset verify` on the build.")
        hashed = hashlib.sha256()
        with path.open("rb") as f:
            self._expect_size(f, file)
            left = file.bytes
            while left and (piece := f.read(min(left, PIECE))):
                hashed.update(piece)
                out.write(piece)
                left -= len(piece)
        if left or "sha256:" + hashed.hexdigest() != file.sha256:
            raise VerificationError(
                f"{printable(str(path))} is not what the records say (its hash is another). Build it again, or run "
                "`corruptset verify` for everything that is wrong."
            )
        self._done += file.bytes
        self._progress("bytes", min(self._done, self._total), self._total)

    def _expect_size(self, f: BinaryIO, file: FileRecord) -> None:
        info = os.fstat(f.fileno())
        if not stat.S_ISREG(info.st_mode) or info.st_size != file.bytes:
            raise VerificationError(
                f"{printable(str(self.root / file.path))} has {info.st_size} bytes, the records say {file.bytes}. Run `corruptset verify` "
                "on the build for everything that is wrong."
            )
