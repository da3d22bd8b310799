"""Pack a dataset into archives for publishing. The bytes are the same on every machine.

An archive is written to a temporary file (``.part``), which is synced and renamed. Then its hash is recorded, so that a
call that resumes an interrupted one can keep the finished archives. SHA256SUMS is written last.
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
from ...errors import BuildError, VerificationError, first_few, quote
from ...progress import progress_function, shows_progress
from ..checksums import SUMS_CAP, is_file_as
from ..disk.atomic import LargeFile, make_folder, replacing, write_atomic
from ..disk.jsonl import read_jsonl
from ..disk.listing import plain_file
from ..disk.lock import hold_lock
from ..disk.remote import data_folder, local_folder
from ..disk.space import check_space
from ..manifest_file import load_manifest
from ..paths import CONTACT, MANIFEST, PAGE, PARTIAL, README, SAMPLES, SHA256SUMS, WORK_FOLDER, lock_file, set_path
from ..reader import Dataset
from ..records.digests import sha256_file
from ..records.models import FileRecord, Manifest, SampleRecord, check_label
from ..records.report import ProgressCallback, printable
from ..verify.rules import contradicts_manifest
from .archive_contents import ArchiveRecord, PackedSet, SetFiles, top_folder
from .archives import END_BYTES, member_header, new_archive
from .bag import INDEX, PAYLOAD, Bag, IndexedArchive, Omitted, ReleaseIndex, indexed_files, release_card, tag_files
from .croissant import packed_croissant
from .division import DIVISIONS, MEAN_OVERHEAD, METADATA, Division, common_files, divide
from .parquet import PARQUET, check_parquet, parquet_files, write_parquet

MAX_BYTES = 50_000_000_000
"""Default limit on the size of an archive in bytes, which is the limit of a Zenodo record."""
VERIFY_ADVICE = "Run `corruptset verify` on the dataset."
PACKING_MARKER = f"{WORK_FOLDER}/packing"
"""An empty file that exists until packing is finished."""
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
    progress: ProgressCallback | bool | None = None,
) -> Bag:
    """Pack a dataset into archives, with checksums, a README, the BagIt files and croissant.json.

    Packing the same dataset twice gives byte-identical archives. Every file is checked while it is read. To resume an
    interrupted call, make the same call again.

    Parameters
    ----------
    directory : path
        The directory of the dataset, which contains manifest.json.
    out : path
        The output folder. It must be new or empty, or contain the files of an interrupted call with the same options.
    by : {"family", "corruption", "set"}
        Write one archive per family (noise, blur, weather, digital and extra, like the published archives of
        ImageNet-C), per corruption or per set.
    max_bytes : int
        Limit on the size of an archive in bytes. Larger archives are split, between sets if possible.
    manifest_only : bool
        Pack only the records, without images, for sources whose licence forbids redistribution.
    digests : {"images", "sets"}
        The digests of a release without images: one per image, or only one per set, which makes the release much
        smaller.
    parquet : bool
        Also write the images as Parquet, one file per set. `publish` uploads them to the Hugging Face Hub for
        `load_dataset`.
    progress : callable or bool, optional
        Called with the step, the number of bytes and their total. By default a progress bar is shown in terminals and
        notebooks; False disables it.

    Returns
    -------
    Bag

    Raises
    ------
    IncompleteBuild
        The dataset is an unfinished build.
    VerificationError
        A file of the dataset is missing or differs from its record. The message names the file.
    BuildError
        `out` contains something else, only a part of the dataset was unpacked, or the options cannot be combined.
    MachineError
        There is not enough free space for the remaining archives.
    """
    check_choice("by", by, DIVISIONS)
    max_bytes = integer("max_bytes", max_bytes)
    if digests != "images" and not manifest_only:
        raise BuildError(
            f"--digests {digests} needs --manifest-only (manifest_only=True), because archives with images contain the "
            "record of every image. Add that option, or omit --digests."
        )
    if parquet and manifest_only:
        raise BuildError("--parquet writes images, but --manifest-only omits them. Omit one of these two options.")
    root, out, show = data_folder(directory), local_folder(out, "archives are written to"), progress_function(progress)
    manifest = load_manifest(root)
    if parquet:
        check_parquet(manifest)
    if (root / PARTIAL).exists():
        raise BuildError(
            f"{root} is only a part of a dataset, as {PARTIAL} shows. Unpack its other archives there before you "
            "pack it."
        )
    if root.resolve() in (out / "x").resolve().parents:
        raise BuildError(f"{out} is inside the dataset. Choose another --out.")
    omitted: Omitted = "nothing" if not manifest_only else "images" if digests == "images" else "rows"
    contents, small = SetFiles(manifest), _small_files(root, manifest)
    options = [by, "tar", max_bytes, manifest_only, *([digests] if digests != "images" else [])]
    identity = digits(canonical_sha256([small[MANIFEST].sha256, *options]))[:12]
    divided: dict[str, list[PackedSet]] = {}
    if not manifest_only:
        divided = divide(root, contents, small, by=by, family=family_of, max_bytes=max_bytes)
    # loaders such as mlcroissant cache extracted archives by name, so different content needs a different name
    records = _archive_records(f"{top_folder(manifest)}-{identity}", manifest, small, divided, omitted)
    images = [] if manifest_only else [contents.total(set_id) for set_id in contents.shards]
    needed = sum(size * (1 + parquet) + count * MEAN_OVERHEAD for count, size in images)
    needed += sum(END_BYTES + len(r.encode()) + sum(f.bytes + MEAN_OVERHEAD for f in r.files) for r in records)
    names = {record.archive for record in records}
    needed -= _finished_bytes(out, names)
    check_space(out, needed, "the pack", "Free some space, or choose another --out.")
    busy = f"Another `corruptset pack` is running in {out}. Wait until it ends, or choose another --out."
    with hold_lock(lock_file(out), busy, remove=True):
        # a call that was killed just before it finished may have left a work folder
        if (out / SHA256SUMS).exists():
            shutil.rmtree(make_folder(out, WORK_FOLDER))
        _finished_bytes(out, names)
        (make_folder(out, WORK_FOLDER) / Path(PACKING_MARKER).name).touch()
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
            sets = tuple(sorted({packed.set for packed in record.sets}))
            archives.append(IndexedArchive(path=path, bytes=size, sha256=sha256, sets=sets))
        if parquet:
            write_parquet(Dataset(root), out / f"{PARQUET}{identity}", show)
        samples = manifest.sets[0].count if manifest.sets else (root / SAMPLES).read_bytes().count(b"\n")
        card = release_card(manifest, archives, samples=samples, omitted=omitted)
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
    """Return a mapping from paths to records, for manifest.json, SHA256SUMS and all files that are not image files."""
    files = {f.path: f for f in manifest.files}
    for path in (MANIFEST, SHA256SUMS):  # the manifest does not list these two
        place = _regular_file(root, path)
        if place.stat().st_size > SUMS_CAP:
            raise VerificationError(f"{place} has {place.stat().st_size:,} bytes, which is too large. {VERIFY_ADVICE}")
        files[path] = FileRecord(path=path, bytes=place.stat().st_size, sha256=sha256_file(place))
    if contradicts_manifest(files[MANIFEST].sha256, (root / SHA256SUMS).read_bytes()):
        raise VerificationError(
            f"{root / MANIFEST} does not match {SHA256SUMS}, so one of the two was changed. {VERIFY_ADVICE}"
        )
    if lacking := [path for path in (SAMPLES, *(set_path(s.id) for s in manifest.sets)) if path not in files]:
        raise VerificationError(f"{root / MANIFEST} does not list {quote(first_few(lacking))}. {VERIFY_ADVICE}")
    for sample in read_jsonl(root / SAMPLES, SampleRecord):
        check_label(sample, manifest.classes)
    return files


def _archive_records(
    start: str,
    manifest: Manifest,
    small: dict[str, FileRecord],
    divided: dict[str, list[PackedSet]],
    omitted: Omitted,
) -> list[ArchiveRecord]:
    """Return the records of the archives. The last archive contains the records of all sets."""
    common = common_files(manifest)
    pages = [page for page in (CONTACT, PAGE) if page in small and omitted == "nothing"]
    parts = {end: (common, sorted({s.set for s in packed}), packed) for end, packed in divided.items()}
    parts[METADATA] = (sorted([*common, *pages]), [] if omitted == "rows" else [s.id for s in manifest.sets], [])
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
    """Return the total size of the archives in `names` that an interrupted call finished.

    Raise `BuildError` if the folder contains anything else.
    """
    existing = {p.name for p in out.iterdir()} if out.exists() else set()
    if SHA256SUMS in existing and WORK_FOLDER not in existing:
        raise BuildError(
            f"{out} contains a finished pack, which `sha256sum --check {SHA256SUMS}` can check. Choose another --out."
        )
    if existing and not (out / PACKING_MARKER).exists():
        raise BuildError(
            f"{out} is not empty ({first_few(sorted(existing))}), but archives need a new or empty folder. Choose "
            "another --out."
        )
    archives = {p.stem: p.stat().st_size for p in out.glob(f"{PAYLOAD}/*.tar")}
    if not all(name in names for name in archives):
        raise BuildError(
            f"{out} contains an interrupted pack of another dataset, or one that was started with other options. "
            "Finish it with the command that started it, or choose another --out."
        )
    return sum(archives.values())


def _regular_file(root: Path, path: str) -> Path:
    """Return the location of a regular file of the dataset, or raise `VerificationError`."""
    if not plain_file(root, path):
        raise VerificationError(
            f"{printable(str(root / path))} is missing, is a link, or is in a linked folder. Run `corruptset verify` "
            "on the dataset."
        )
    return root / path


def _write(path: Path, root: Path, contents: SetFiles, record: ArchiveRecord, count: Callable[[int], None]) -> str:
    """Write an archive and return its ``sha256:<hex>``."""
    top, data = top_folder(contents.manifest), record.encode()
    with replacing(path) as part, LargeFile(part) as file, new_archive(file) as archive:
        archive.addfile(member_header(f"{top}/archives/{record.archive}.json", len(data)), BytesIO(data))
        for member in contents.archive_files(root, record):
            source = _regular_file(root, member.path)
            if not is_file_as(source, member.bytes, member.sha256):
                raise VerificationError(
                    f"{printable(str(source))} does not have the recorded {member.bytes} bytes and hash "
                    f"{member.sha256}. Run `corruptset verify` to list all problems."
                )
            with source.open("rb") as opened:
                archive.addfile(member_header(f"{top}/{member.path}", member.bytes), opened)
            archive.getmembers().clear()  # otherwise tarfile keeps all headers in memory
            count(member.bytes)
    return digest_of(file.sha256)
