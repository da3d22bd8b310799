"""Archives of a finished build for publishing: the same bytes on every machine.

An archive is written beside its place (``.part``) and renamed when it is whole and on the disk; then its sha256 is
noted. So an interrupted pack keeps the archives that are as noted. SHA256SUMS is written last.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Container
from io import BytesIO
from pathlib import Path
from typing import Literal

from ...arguments import check_choice, integer
from ...canonical import canonical_sha256
from ...corruptions.registry import family_of
from ...digests import digest_of, digits
from ...errors import BuildError, VerificationError, first_few, quoted
from ...progress import progress_function, shows_progress
from ..checksums import SUMS_CAP, is_file_as
from ..disk.atomic import LargeFile, make_folder, replacing, write_atomic
from ..disk.jsonl import read_jsonl
from ..disk.listing import plain_file
from ..disk.lock import locked
from ..disk.remote import data_folder, local_folder
from ..disk.space import check_space
from ..manifest_file import load_manifest
from ..paths import CONTACT, MANIFEST, PAGE, PARTIAL, README, SAMPLES, SHA256SUMS, WORK_FOLDER, lock_file, set_path
from ..reader import Dataset
from ..records.digests import sha256_file
from ..records.models import FileRecord, Manifest, SampleRecord, check_label
from ..records.report import Progress, printable
from ..verify.rules import contradicts_manifest
from .archives import END_COST, member_header, new_archive
from .bag import INDEX, PAYLOAD, Bag, IndexedArchive, Lacks, ReleaseIndex, indexed_files, release_card, tag_files
from .contents import ArchiveRecord, Contents, PackedSet, top_folder
from .croissant import packed_croissant
from .division import DIVISIONS, MEAN_OVERHEAD, METADATA, Division, common_files, divide
from .parquet import PARQUET, check_parquet, parquet_files, write_parquet

MAX_BYTES = 50_000_000_000
"""The limit of a Zenodo record."""
VERIFY = "Run `corruptset verify` on the build."
PACKING = f"{WORK_FOLDER}/packing"
"""An empty file that exists until a pack is finished."""
Digests = Literal["images", "sets"]


@shows_progress("pack")
def pack(
    directory: Path | str,
    out: Path | str,
    *,
    by: Division = "corruption",
    max_bytes: int = MAX_BYTES,
    manifest_only: bool = False,
    digests: Digests = "images",
    parquet: bool = False,
    progress: Progress | bool | None = None,
) -> Bag:
    """Pack a finished build into archives, with checksums, a data card, BagIt's files and croissant.json.

    Two packings of one build are equal byte for byte. Every file is checked while it is read. The same call resumes an
    interrupted pack.

    Parameters
    ----------
    directory : path
        The one that holds manifest.json.
    out : path
        Receives everything; new, empty, or left by the same pack when it was interrupted.
    by : {"family", "corruption", "set"}
        An archive for each family (as ImageNet-C ships: noise, blur, weather, digital, extra), corruption or set.
    max_bytes : int
        Of an archive; larger ones are split, between sets where that is enough.
    manifest_only : bool
        Only the records, without images: for sources whose licence forbids passing them on.
    digests : {"images", "sets"}
        Of a release without images: whether it has the digest of every image, or leaves out the rows of sets, so that
        each set is known by its one digest in the manifest.
    parquet : bool
        Write the images once more, as Parquet: a file for every set, which `publish` puts on the Hugging Face hub for
        `load_dataset`.
    progress : callable or bool, optional
        Called with the step, bytes done and the total. By default a bar is shown in a terminal and in a notebook; False
        shows none.

    Returns
    -------
    Bag

    Raises
    ------
    IncompleteBuild
        The build is not finished.
    VerificationError
        A file of the build is missing or differs from its record; names it.
    BuildError
        `out` holds something else, the build is a part of one, or an archive cannot be made as asked.
    MachineError
        There is too little free space for the archives that are still to be made.
    """
    check_choice("by", by, DIVISIONS)
    max_bytes = integer("max_bytes", max_bytes)
    if digests != "images" and not manifest_only:
        raise BuildError(
            f"digests is {digests!r}, and images are not left out: archives of images need the rows that say where "
            "each of them is. Add --manifest-only (manifest_only=True), or leave --digests out."
        )
    if parquet and manifest_only:
        raise BuildError("--parquet writes images, and --manifest-only leaves them out. Leave out one of the two.")
    root, out, show = data_folder(directory), local_folder(out, "archives are written to"), progress_function(progress)
    manifest = load_manifest(root)
    if parquet:
        check_parquet(manifest)
    if (root / PARTIAL).exists():
        raise BuildError(
            f"{root} is a part of a data set ({PARTIAL} says which). Unpack its other archives there, then pack it."
        )
    if root.resolve() in (out / "x").resolve().parents:
        raise BuildError(f"{out} is inside the build. Choose another --out.")
    lacks: Lacks = "nothing" if not manifest_only else "images" if digests == "images" else "rows"
    contents, small = Contents(manifest), _small_files(root, manifest)
    options = [by, "tar", max_bytes, manifest_only, *([digests] if digests != "images" else [])]
    identity = digits(canonical_sha256([small[MANIFEST].sha256, *options]))[:12]
    divided: dict[str, list[PackedSet]] = {}
    if not manifest_only:
        divided = divide(root, contents, small, by=by, family=family_of, max_bytes=max_bytes)
    # loaders that keep extracted archives by name, as mlcroissant does, need another name for other content
    records = _archive_records(f"{top_folder(manifest)}-{identity}", manifest, small, divided, lacks)
    images = [] if manifest_only else [contents.total(set_id) for set_id in contents.shards]
    needed = sum(size * (1 + parquet) + count * MEAN_OVERHEAD for count, size in images)
    needed += sum(END_COST + len(r.encode()) + sum(f.bytes + MEAN_OVERHEAD for f in r.files) for r in records)
    names = {record.archive for record in records}
    needed -= _finished_bytes(out, names)
    check_space(out, needed, "the pack", "Free some space, or choose another --out.")
    busy = f"Another process is at work in {out} (`corruptset pack`). Wait for it to end, or choose another --out."
    with locked(lock_file(out), busy, remove=True):
        if (out / SHA256SUMS).exists():  # a pack that was killed at its end may have left its work folder
            shutil.rmtree(make_folder(out, WORK_FOLDER))
        _finished_bytes(out, names)
        (make_folder(out, WORK_FOLDER) / Path(PACKING).name).touch()
        make_folder(out, PAYLOAD)
        for stray in (*out.glob(".*.part"), *(out / PAYLOAD).glob("*.part")):
            stray.unlink()
        archives, kept, done = list[IndexedArchive](), 0, 0
        total = sum(f.bytes for f in small.values()) + sum(s.bytes for s in manifest.sets if not manifest_only)

        def count(more: int) -> None:
            nonlocal done
            done += more
            show("bytes", min(done, total), total)

        for record in records:
            path = f"{PAYLOAD}/{record.archive}.tar"
            file, note = out / path, out / WORK_FOLDER / f"{record.archive}.sha256"
            if note.exists() and file.exists() and (sha256 := sha256_file(file)).encode() == note.read_bytes():
                kept += 1
            else:
                sha256 = _write(file, root, contents, record, count)
                write_atomic(note, sha256.encode())
            size = file.stat().st_size
            sets = tuple(sorted({one.set for one in record.sets}))
            archives.append(IndexedArchive(path=path, bytes=size, sha256=sha256, sets=sets))
        if parquet:
            write_parquet(Dataset(root), out / f"{PARQUET}{identity}", show)
        samples = manifest.sets[0].count if manifest.sets else (root / SAMPLES).read_bytes().count(b"\n")
        card = release_card(manifest, archives, samples=samples, lacks=lacks)
        tags = tag_files(manifest, archives, {README: card, **packed_croissant(root, contents, archives)})
        index = ReleaseIndex(
            schema_version=1,
            name=manifest.name,
            version=manifest.version,
            digest=manifest.digest,
            aliases={s.id: list(s.aliases) for s in manifest.sets if s.aliases},
            files=indexed_files(tags),
            archives=archives,
        )
        for name, data in {INDEX: index.encode(), **tags}.items():
            write_atomic(out / name, data)
        shutil.rmtree(out / WORK_FOLDER)
    return Bag(out, manifest.digest, archives, kept, parquet_files(out))


def _small_files(root: Path, manifest: Manifest) -> dict[str, FileRecord]:
    """Return the records of all files but single images, by path, manifest.json and SHA256SUMS too."""
    files = {f.path: f for f in manifest.files}
    for path in (MANIFEST, SHA256SUMS):  # nothing else records these two
        place = _plain(root, path)
        if place.stat().st_size > SUMS_CAP:
            raise VerificationError(
                f"{place} has {place.stat().st_size:,} bytes, more than any such file has. {VERIFY}"
            )
        files[path] = FileRecord(path=path, bytes=place.stat().st_size, sha256=sha256_file(place))
    if contradicts_manifest(files[MANIFEST].sha256, (root / SHA256SUMS).read_bytes()):
        raise VerificationError(
            f"{root / MANIFEST} is not what {SHA256SUMS} says: one of the two was changed. {VERIFY}"
        )
    if lacking := [path for path in (SAMPLES, *(set_path(s.id) for s in manifest.sets)) if path not in files]:
        raise VerificationError(f"{root / MANIFEST} records no file {quoted(first_few(lacking))}. {VERIFY}")
    for sample in read_jsonl(root / SAMPLES, SampleRecord):
        check_label(sample, manifest.classes)
    return files


def _archive_records(
    start: str,
    manifest: Manifest,
    small: dict[str, FileRecord],
    divided: dict[str, list[PackedSet]],
    lacks: Lacks,
) -> list[ArchiveRecord]:
    """Return what is in each archive, that of all records last."""
    common = common_files(manifest)
    pages = [page for page in (CONTACT, PAGE) if page in small and lacks == "nothing"]
    parts = {end: (common, sorted({one.set for one in packed}), packed) for end, packed in divided.items()}
    parts[METADATA] = (sorted([*common, *pages]), [] if lacks == "rows" else [s.id for s in manifest.sets], [])
    return [
        ArchiveRecord(
            schema_version=1,
            archive=f"{start}-{end}",
            name=manifest.name,
            version=manifest.version,
            digest=manifest.digest,
            files=[small[path] for path in (MANIFEST, *paths, *map(set_path, sets))],
            sets=packed,
        )
        for end, (paths, sets, packed) in parts.items()
    ]


def _finished_bytes(out: Path, names: Container[str]) -> int:
    """Return the bytes of the archives that an interrupted pack of these names finished.

    Raise `BuildError` if the folder contains anything else.
    """
    held = {p.name for p in out.iterdir()} if out.exists() else set()
    if SHA256SUMS in held and WORK_FOLDER not in held:
        raise BuildError(
            f"{out} holds a finished pack; `sha256sum --check {SHA256SUMS}` in it checks that. Choose another --out."
        )
    if held and not (out / PACKING).exists():
        raise BuildError(
            f"{out} is not empty ({first_few(sorted(held))}): archives go into a folder of their own. Choose another "
            "--out."
        )
    archives = {p.stem: p.stat().st_size for p in out.glob(f"{PAYLOAD}/*.tar")}
    if not all(name in names for name in archives):
        raise BuildError(
            f"{out} holds an interrupted pack of another build, or one with other options. Finish that with its own "
            "command, or choose another --out."
        )
    return sum(archives.values())


def _plain(root: Path, path: str) -> Path:
    """Return the place of a file of the build that no link leads to."""
    if not plain_file(root, path):
        raise VerificationError(
            f"{printable(str(root / path))} is missing, or a link is on the way to it. Run `corruptset verify` on the "
            "build."
        )
    return root / path


def _write(path: Path, root: Path, contents: Contents, record: ArchiveRecord, count: Callable[[int], None]) -> str:
    """Write an archive and return its ``sha256:<hex>``."""
    top, data = top_folder(contents.manifest), record.encode()
    with replacing(path) as part, LargeFile(part) as file, new_archive(file) as archive:
        archive.addfile(member_header(f"{top}/archives/{record.archive}.json", len(data)), BytesIO(data))
        for member in contents.archive_files(root, record):
            source = _plain(root, member.path)
            if not is_file_as(source, member.bytes, member.sha256):
                raise VerificationError(
                    f"{printable(str(source))} is not what the records say: {member.bytes} bytes, {member.sha256}. "
                    "Build it again, or run `corruptset verify` for everything that is wrong."
                )
            with source.open("rb") as opened:
                archive.addfile(member_header(f"{top}/{member.path}", member.bytes), opened)
            archive.getmembers().clear()  # they would be kept in memory until the end
            count(member.bytes)
    return digest_of(file.sha256)
