"""Verify an export against its own record (`verify_export`) or against its dataset (`check_export`).

The record, VIEW.json, contains the digest of the dataset. It also contains the SHA-256 of every array, archive and text
file, and one SHA-256 for each folder of image files. `check_export` compares every image with the records of the
dataset, and every text file with a newly generated one.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Container, Iterator, Mapping
from contextlib import suppress
from pathlib import Path, PurePosixPath

import numpy as np
from numpy.typing import NDArray

from ...errors import CorruptsetError
from ...manifests.checksums import hash_problem
from ...manifests.disk.listing import Listing, file_problems, list_files, read_small
from ...manifests.images.arrays import map_images
from ...manifests.images.image_formats import InvalidImage, decode, format_of_suffix, format_problem
from ...manifests.manifest_file import MANIFEST_CAP
from ...manifests.reader import Dataset
from ...manifests.reading.image_set import ImageSet
from ...manifests.records.digests import sha256_bytes, sha256_file
from ...manifests.records.foreign_names import is_system_file, unicode_advice
from ...manifests.records.models import FileRecord
from ...manifests.records.parsing import parse_record
from ...manifests.records.report import Problem, ProgressCallback, VerificationReport, printable
from ...manifests.release.archives import BadArchive, read_members
from ...manifests.verify.directory import verify_directory
from ...pixels import pixel_digest
from .contents import ExportContents, ExportOptions
from .export_record import EXPORT_RECORD, ExportRecord, FolderRecord, folder_record
from .layouts import get_layout
from .placement import Placement, SetSlice
from .texts import members, texts

HEAD = 16
"""The number of bytes at the beginning of an image file that are enough to recognise its format."""


def _open_export(directory: Path | str) -> tuple[VerificationReport, ExportRecord | None, Listing]:
    """Return a report, the record of an export, and a listing of its files.

    If the record cannot be read, it is None, the listing is empty, and the report says why.
    """
    report, listing = VerificationReport(printable(str(directory)), "pixels"), Listing()
    data = read_small(Path(directory), EXPORT_RECORD, MANIFEST_CAP)
    if isinstance(data, Problem):
        missing_text = "an export has this file at its root. Pass the folder that `corruptset export` wrote (--out)"
        is_missing = data.kind in ("missing", "symlink", "special")
        report.add([Problem(EXPORT_RECORD, "missing", missing_text) if is_missing else data])
        return report, None, listing
    record, mistakes = parse_record(ExportRecord, data)
    report.add(Problem(EXPORT_RECORD, "schema", mistake) for mistake in mistakes)
    if record is not None:
        report.digest, listing = record.digest, list_files(Path(directory))
        report.add(listing.problems, Counter(files=len(listing.files), sets=len({s.id for s in record.sets})))
    return report, record, listing


def verify_export(directory: Path | str, *, progress: ProgressCallback | None = None) -> VerificationReport:
    """Verify the presence, sizes and hashes of the files of an export against its own record.

    Parameters
    ----------
    directory : path
        The folder with VIEW.json.
    progress : callable, optional
        Called with the step "files", the number of finished items (files and image folders) and the total.

    Returns
    -------
    VerificationReport
        If an image in a folder has a different hash, the report names only the folder. `check_export` names the image.
    """
    root, report_progress = Path(directory), progress or (lambda *_: None)
    report, record, listing = _open_export(directory)
    if record is None:
        return report
    files = {f.path: f.bytes for f in record.files}
    inside: dict[str, dict[str, int]] = {f.path: {} for f in record.folders}
    for path in listing.files.keys() - files.keys():
        owner = next((str(p) for p in PurePosixPath(path).parents if str(p) in inside), None)
        if owner is not None and not is_system_file(path):
            inside[owner][path] = listing.files[path]
    report.add(file_problems(listing, files, sizes=True, known={EXPORT_RECORD}.union(*inside.values())))
    entries: list[FolderRecord | FileRecord] = [*record.folders]
    entries += (f for f in record.files if listing.files.get(f.path) == f.bytes)
    for done, entry in enumerate(entries):
        report_progress("files", done, len(entries))
        images = inside.get(entry.path, {})
        if isinstance(entry, FolderRecord):
            problem = _folder_problem(root, entry, images)
        else:
            problem = hash_problem(root, entry)
            if entry.path.endswith(".tar"):
                report.add(_member_problems(root / entry.path, entry.path))
        if problem is None:
            report.add([], Counter(bytes=entry.bytes, images=len(images)))
        else:
            report.add([problem])
    report.finish()
    return report


def _folder_problem(root: Path, record: FolderRecord, sizes: Mapping[str, int]) -> Problem | None:
    """Return the problem with a folder of images, or None. `sizes` maps the paths of its files to their sizes."""
    if (count := len(sizes)) != record.images:
        kind = "missing" if count < record.images else "unexpected"
        return Problem(record.path, kind, f"contains {count} images, but {record.images} are recorded")
    try:
        rows = [(path, sha256_file(root / path), size) for path, size in sizes.items()]
    except OSError as e:
        return Problem(record.path, "unreadable", f"{e.strerror}")
    actual = folder_record(record.path, rows)
    if actual == record:
        problems = (
            Problem(path, "decode", problem_text)
            for path in sorted(sizes)
            if (problem_text := _format_problem(root, path))
        )
        return next(problems, None)
    for form in ("NFC", "NFD"):
        names = [(unicodedata.normalize(form, path), sha256, size) for path, sha256, size in rows]
        if folder_record(record.path, names) == record:
            changed = next(name for (name, *_), path in zip(names, sizes, strict=True) if name != path)
            detail = f"the names of its images have a different Unicode form than in the record, such as {changed}. "
            return Problem(record.path, "unicode", detail + unicode_advice(changed))
    detail = (
        f"the hash of its images is {actual.sha256}, but {record.sha256} is recorded. To find the changed images, "
        "compare the export with its dataset: corruptset verify DATASET --export PATH"
    )
    return Problem(record.path, "hash", detail)


def _format_problem(root: Path, path: str) -> str | None:
    """Return a message if the contents of an image file do not match its suffix, or None."""
    with suppress(OSError), (root / path).open("rb") as file:
        return format_problem(path, file.read(HEAD))
    return None


def _member_problems(tar: Path, path: str) -> Iterator[Problem]:
    """Yield a problem for each member of an archive whose contents do not match its suffix.

    If the archive is damaged, only the members before the damage are checked.
    """
    with suppress(OSError, BadArchive):
        for member in read_members(tar):
            if (problem_text := format_problem(member.name, member.head(HEAD))) is not None:
                yield Problem(f"{path}:{member.name}", "decode", problem_text)


def check_export(
    directory: str | Path, export: str | Path, *, progress: ProgressCallback | None = None
) -> VerificationReport:
    """Verify an export image by image against the dataset that it was made from.

    Parameters
    ----------
    directory : path
        The directory of the dataset. Its records are verified first, but its images are not.
    export : path
        The folder with VIEW.json.
    progress : callable, optional
        Called with the step "images", the number of finished images and the total.

    Returns
    -------
    VerificationReport
        The report on the export, or on the dataset if there are problems with the dataset's records.
    """
    records = verify_directory(directory, level="structure")
    if not records.ok:
        return records
    root, data, report_progress = Path(export), Dataset(directory), progress or (lambda *_: None)
    report, record, listing = _open_export(export)
    report.digest = data.digest
    if record is None:
        return report
    if record.digest != data.digest:
        detail = (
            f"the export was made from the dataset {record.digest}, but {printable(str(directory))} is {data.digest}"
        )
        report.add([Problem(EXPORT_RECORD, "digest", detail)])
        return report
    try:
        # VIEW.json may come from an untrusted source, so its layout, sets and options may have any values.
        layout = get_layout(record.layout)
        contents = ExportContents.of(data.manifest, data.samples).only(s.id for s in record.sets)
        placement = Placement(layout, contents, ExportOptions.model_validate(record.options))
    except (CorruptsetError, TypeError, ValueError, AttributeError) as e:
        report.add([Problem(EXPORT_RECORD, "records", f"does not describe an export of this dataset: {e}")])
        return report
    expected, present = dict.fromkeys(placement.paths()), listing.files.keys() - {EXPORT_RECORD}
    report.add(file_problems(listing, expected, sizes=False, known={EXPORT_RECORD}))
    total, images = sum(len(images.samples) for images in placement.slices), None
    for done, (set_id, index, place, stored) in enumerate(_images(placement, root, present)):
        report_progress("images", done, total)
        if images is None or images.record.id != set_id:
            images = data[set_id]  # reused for all images of the set, so that its rows are read only once
        report.add(_image_problems(images, index, place, stored), Counter(images=1))
    hashes = {
        p: sha256_file(root / p) for p in placement.slices_at if placement.layout.container == "tars" and p in present
    }
    # The hashes of archives also cover the padding, which the comparison of images does not.
    for file in record.files:
        if hashes.get(file.path, file.sha256) != file.sha256:
            report.add(
                [Problem(file.path, "hash", f"has {hashes[file.path]}, but {EXPORT_RECORD} records {file.sha256}")]
            )
    for path, text in texts(placement, hashes):
        if path in present and (root / path).read_bytes() != text:
            report.add([Problem(path, "records", "differs from the records of the dataset")])
    report.finish()
    return report


Stored = bytes | NDArray[np.uint8] | None
"""The encoded bytes or the pixels of an exported image, or None if the image is missing or misplaced."""


def _images(placement: Placement, root: Path, present: Container[str]) -> Iterator[tuple[str, int, str, Stored]]:
    """Yield the set id, sample index, place and content of each image that an export should contain.

    Images in missing files are skipped, because the missing files have already been reported. In an archive, the
    content is None if a name or a text file of the image differs.
    """
    container = placement.layout.container
    for path, slices in placement.slices_at.items():
        inside = [(images, index) for images in slices for index in images.samples]
        if container == "files":
            for images, index in inside:
                if (file := placement.path(images, index)) in present:
                    yield images.set_id, index, file, (root / file).read_bytes()
        elif path in present and container == "arrays":
            rows = None
            with suppress(ValueError, OSError):
                rows = map_images(root / path)
            whole = rows is not None and len(rows) == len(inside)
            for row, (images, index) in enumerate(inside):
                yield images.set_id, index, f"{path}#{row}", rows[row] if rows is not None and whole else None
        elif path in present:
            yield from _compare_tar(placement, root / path, path, inside)


def _compare_tar(
    placement: Placement, tar: Path, path: str, inside: list[tuple[SetSlice, int]]
) -> Iterator[tuple[str, int, str, Stored]]:
    tar_members = _regular(tar)
    for images, index in inside:
        wanted = list(members(placement, images, index))
        found = [next(tar_members, ("", b"")) for _ in wanted]
        pairs = zip(wanted, found, strict=True)
        good = all(member == name and data in (None, content) for (name, data), (member, content) in pairs)
        yield images.set_id, index, f"{path}:{wanted[0][0]}", found[0][1] if good else None
    if next(tar_members, None) is not None:
        yield images.set_id, index, f"{path}: data after the last image", None


def _regular(tar: Path) -> Iterator[tuple[str, bytes]]:
    """Yield the name and the bytes of each member of an archive, up to the first damaged one."""
    with suppress(OSError, BadArchive):
        yield from ((member.name, member.read(member.size)) for member in read_members(tar))


def _image_problems(images: ImageSet, index: int, where: str, data: Stored) -> Iterator[Problem]:
    """Yield the differences between an exported image and its records in the dataset."""
    row, lossless = images.rows[index], images.encoding == "png"
    if data is None:
        yield Problem(where, "decode", f"image {index} of set {images.record.id} is missing or damaged")
        return
    if isinstance(data, bytes):
        if (problem_text := format_problem(where, data[:HEAD])) is not None:
            yield Problem(where, "decode", problem_text)
            return
        if (sha256 := sha256_bytes(data)) in {f.sha256 for f in row.files}:
            return
        if not lossless and format_of_suffix(where) != "png":
            yield Problem(where, "hash", f"has {sha256}, but the image in the dataset has {row.files[0].sha256}")
            return
        try:
            data = decode(data, "png")
        except InvalidImage as e:
            yield Problem(where, "decode", str(e))
            return
    pixels = pixel_digest(np.ascontiguousarray(data))
    expected = row.pixels if lossless else pixel_digest(images.image(index))
    if pixels != expected:
        yield Problem(where, "pixels", f"the pixels have the digest {pixels}, but those in the dataset have {expected}")
