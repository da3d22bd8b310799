"""VIEW.json, and whether a view is what it says, alone or beside its build.

A view is an export in another layout. VIEW.json names the build by its digest and says enough to check the view without
the build: the sha256 of every array, archive and text, and for single images one sha256 a folder. With the build, every
image is held to the build's records, and every other file is made again.
"""

from __future__ import annotations

import os
import unicodedata
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from ...digests import digits
from ...errors import CorruptsetError
from ...manifests.checksums import hash_problem
from ...manifests.disk.listing import Listing, file_problems, list_files, read_small
from ...manifests.images.arrays import ArrayFile
from ...manifests.images.pictures import NotAPicture, decode, format_problem, named_format
from ...manifests.manifest_file import MANIFEST_CAP
from ...manifests.paths import MANIFEST
from ...manifests.reader import DataSet
from ...manifests.reading.image_set import ImageSet
from ...manifests.records.digests import sha256_bytes, sha256_file, sha256_pieces
from ...manifests.records.fields import Blake3, Count, SafePath, Sha256
from ...manifests.records.foreign_names import form_advice, is_system_file
from ...manifests.records.models import FileRecord, Record
from ...manifests.records.parsing import record_or_mistakes
from ...manifests.records.report import Problem, Progress, VerificationReport, printable
from ...manifests.release.archives import BadArchive, read_members
from ...manifests.verify.ladder import verify_directory
from ...pixels import pixel_digest
from .contents import ViewContents, ViewOptions
from .layouts import get_layout, layout_of
from .placement import SetSlice, View
from .texts import members, texts

VIEW = "VIEW.json"
HEAD = 16
"""Bytes of an image file that tell its format."""


class FolderRecord(Record):
    """A folder of single images."""

    path: SafePath
    images: Count
    bytes: Count
    sha256: Sha256
    """The hash of the lines ``<hex>  <path>``, sorted by path: what sha256sum prints for the images."""


class ViewSetRecord(Record):
    """Where images of a set lie together.

    A set that lies in several places (two splits, several tars) has a record for each.
    """

    id: str
    path: SafePath
    """The folder, array or archive that holds it."""
    row: Count | None
    """The row of its first image, in an array."""
    count: Count
    pixel_digest: Blake3 | None
    """The build's, where the view holds the whole set as arrays of the very pixels."""


class ViewRecord(Record):
    """VIEW.json."""

    schema_version: Annotated[int, Field(ge=1, le=1)]
    view: str
    top: SafePath
    name: str
    version: str
    digest: Sha256
    """The build's."""
    layout: dict[str, Any] | None = Field(default=None, exclude_if=lambda value: value is None)
    """One of the user's own, whole; left out where the view is one of corruptset's."""
    options: dict[str, Any]
    notes: list[str]
    sets: list[ViewSetRecord]
    files: list[FileRecord]
    folders: list[FolderRecord]


def folder_record(path: str, images: Iterable[tuple[str, str, int]]) -> FolderRecord:
    """Return the record of a folder from (path, sha256, bytes) of its images."""
    rows = sorted(images)
    sha256 = sha256_pieces(f"{digits(sha256)}  {name}\n".encode() for name, sha256, _ in rows)
    return FolderRecord(path=path, images=len(rows), bytes=sum(r[2] for r in rows), sha256=sha256)


def is_view(directory: Path | str) -> bool:
    """Return whether a directory holds VIEW.json, and no manifest beside it."""
    return os.path.lexists(Path(directory) / VIEW) and not os.path.lexists(Path(directory) / MANIFEST)


def _opened(directory: Path | str) -> tuple[VerificationReport, ViewRecord | None, Listing]:
    """Return a report, what VIEW.json says, if it can be read, and a listing."""
    report, listing = VerificationReport(printable(str(directory)), "pixels"), Listing()
    data = read_small(Path(directory), VIEW, MANIFEST_CAP)
    if isinstance(data, Problem):
        told = "a view has this file at its root: give the folder that `corruptset export` wrote (--out)"
        gone = data.kind in ("missing", "symlink", "special")
        report.add([Problem(VIEW, "missing", told) if gone else data])
        return report, None, listing
    record, mistakes = record_or_mistakes(ViewRecord, data)
    report.add(Problem(VIEW, "schema", mistake) for mistake in mistakes)
    if record is not None:
        report.digest, listing = record.digest, list_files(Path(directory))
        report.add(listing.problems, Counter(files=len(listing.files), sets=len({s.id for s in record.sets})))
    return report, record, listing


def verify_view(directory: Path | str, *, progress: Progress | None = None) -> VerificationReport:
    """Check a view by itself: files, sizes and hashes.

    Parameters
    ----------
    directory : path
        The one that holds VIEW.json.
    progress : callable, optional
        The step is "files".

    Returns
    -------
    VerificationReport
        A wrong image in a folder of single images is reported as that folder; a check against the build names the
        image.
    """
    root, tell = Path(directory), progress or (lambda *_: None)
    report, record, listing = _opened(directory)
    if record is None:
        return report
    files = {f.path: f.bytes for f in record.files}
    inside: dict[str, dict[str, int]] = {f.path: {} for f in record.folders}
    for path in listing.files.keys() - files.keys():
        owner = next((str(p) for p in PurePosixPath(path).parents if str(p) in inside), None)
        if owner is not None and not is_system_file(path):
            inside[owner][path] = listing.files[path]
    report.add(file_problems(listing, files, sizes=True, known={VIEW}.union(*inside.values())))
    entries: list[FolderRecord | FileRecord] = [*record.folders]
    entries += (f for f in record.files if listing.files.get(f.path) == f.bytes)
    for done, entry in enumerate(entries):
        tell("files", done, len(entries))
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
    """Return what is wrong with a folder of images, from their paths and sizes."""
    if (count := len(sizes)) != record.images:
        kind = "missing" if count < record.images else "unexpected"
        return Problem(record.path, kind, f"holds {count} images, recorded are {record.images}")
    try:
        rows = [(path, sha256_file(root / path), size) for path, size in sizes.items()]
    except OSError as e:
        return Problem(record.path, "unreadable", f"{e.strerror}")
    found = folder_record(record.path, rows)
    if found == record:
        wrong = (Problem(path, "decode", said) for path in sorted(sizes) if (said := _format_problem(root, path)))
        return next(wrong, None)
    for form in ("NFC", "NFD"):
        names = [(unicodedata.normalize(form, path), sha256, size) for path, sha256, size in rows]
        if folder_record(record.path, names) == record:
            changed = next(name for (name, *_), path in zip(names, sizes, strict=True) if name != path)
            detail = f"its images have names in another Unicode form than the record, such as {changed}. "
            return Problem(record.path, "unicode", detail + form_advice(changed))
    detail = f"its images have {found.sha256}, recorded is {record.sha256}: check it against its build (--view)"
    return Problem(record.path, "hash", detail)


def _format_problem(root: Path, path: str) -> str | None:
    """Return what is wrong with an image file whose bytes and suffix are of two formats."""
    with suppress(OSError), (root / path).open("rb") as file:
        return format_problem(path, file.read(HEAD))
    return None


def _member_problems(tar: Path, path: str) -> Iterator[Problem]:
    """Yield the members of a tar whose bytes and suffix are of two formats, as far as it can be read."""
    with suppress(OSError, BadArchive):
        for member in read_members(tar):
            if (said := format_problem(member.name, member.head(HEAD))) is not None:
                yield Problem(f"{path}:{member.name}", "decode", said)


def check_view(directory: str | Path, view: str | Path, *, progress: Progress | None = None) -> VerificationReport:
    """Check a view image by image against the build that it was made from.

    Parameters
    ----------
    directory : path
        The build; its records are checked first (its images are not: that is `verify` of the build).
    view : path
        The folder that holds VIEW.json.
    progress : callable, optional
        Called with the step, what is done and the total.

    Returns
    -------
    VerificationReport
        Of the view; where the build's records are wrong, of the build.
    """
    records = verify_directory(directory, level="structure")
    if not records.ok:
        return records
    root, data, tell = Path(view), DataSet(directory), progress or (lambda *_: None)
    report, record, listing = _opened(view)
    report.digest = data.digest
    if record is None:
        return report
    if record.digest != data.digest:
        detail = f"the view is of the build {record.digest}; {printable(str(directory))} is {data.digest}"
        report.add([Problem(VIEW, "digest", detail)])
        return report
    try:
        # VIEW.json may come from anywhere: options that make no view are its mistake
        layout = get_layout(record.view) if record.layout is None else layout_of(record.layout, f"{VIEW}: layout")
        contents = ViewContents.of(data.manifest, data.samples).only(s.id for s in record.sets)
        made = View(layout, contents, ViewOptions.model_validate(record.options))
    except (CorruptsetError, TypeError, ValueError, AttributeError) as e:
        report.add([Problem(VIEW, "records", f"does not describe a view of this build: {e}")])
        return report
    expected, present = dict.fromkeys(made.paths()), listing.files.keys() - {VIEW}
    report.add(file_problems(listing, expected, sizes=False, known={VIEW}))
    total, images = sum(len(images.samples) for images in made.slices), None
    for done, (set_id, index, where, found) in enumerate(_images(made, root, present)):
        tell("images", done, total)
        if images is None or images.record.id != set_id:
            images = data[set_id]  # it reads its rows once
        report.add(_image_problems(images, index, where, found), Counter(images=1))
    hashes = {p: sha256_file(root / p) for p in made.slices_at if made.layout.container == "tars" and p in present}
    # what pads a tar is no image, and is not made again
    for file in record.files:
        if hashes.get(file.path, file.sha256) != file.sha256:
            report.add([Problem(file.path, "hash", f"has {hashes[file.path]}, recorded in {VIEW} is {file.sha256}")])
    for path, text in texts(made, hashes):
        if path in present and (root / path).read_bytes() != text:
            report.add([Problem(path, "records", "says other things than the build's records")])
    report.finish()
    return report


Stored = bytes | NDArray[np.uint8] | None
"""An image as it lies in a view: encoded bytes or pixels; None where it is not there as it should be."""


def _images(view: View, root: Path, present: Container[str]) -> Iterator[tuple[str, int, str, Stored]]:
    """Yield (set, index, place, content) of every image that should be in a view.

    A file that is missing is left out. What stands beside an image in a tar is checked on the way.
    """
    container = view.layout.container
    for path, slices in view.slices_at.items():
        inside = [(images, index) for images in slices for index in images.samples]
        if container == "files":
            for images, index in inside:
                if (file := view.path(images, index)) in present:
                    yield images.set_id, index, file, (root / file).read_bytes()
        elif path in present and container == "arrays":
            rows = None
            with suppress(ValueError, OSError):
                rows = ArrayFile(root / path).images
            whole = rows is not None and len(rows) == len(inside)
            for row, (images, index) in enumerate(inside):
                yield images.set_id, index, f"{path}#{row}", rows[row] if rows is not None and whole else None
        elif path in present:
            yield from _in_tar(view, root / path, path, inside)


def _in_tar(
    view: View, tar: Path, path: str, inside: list[tuple[SetSlice, int]]
) -> Iterator[tuple[str, int, str, Stored]]:
    left = _regular(tar)
    for images, index in inside:
        wanted = list(members(view, images, index))
        found = [next(left, ("", b"")) for _ in wanted]
        pairs = zip(wanted, found, strict=True)
        good = all(member == name and data in (None, content) for (name, data), (member, content) in pairs)
        yield images.set_id, index, f"{path}:{wanted[0][0]}", found[0][1] if good else None
    if next(left, None) is not None:
        yield images.set_id, index, f"{path}: what follows its last image", None


def _regular(tar: Path) -> Iterator[tuple[str, bytes]]:
    """Yield name and bytes of a tar's members, as far as it can be read."""
    with suppress(OSError, BadArchive):
        yield from ((member.name, member.read(member.size)) for member in read_members(tar))


def _image_problems(images: ImageSet, index: int, where: str, data: Stored) -> Iterator[Problem]:
    """Yield what is wrong with an image of a view."""
    row, lossless = images.rows[index], images.encoding == "png"
    if data is None:
        yield Problem(where, "decode", f"image {index} of set {images.record.id} is not there as it should be")
        return
    if isinstance(data, bytes):
        if (said := format_problem(where, data[:HEAD])) is not None:
            yield Problem(where, "decode", said)
            return
        if (sha256 := sha256_bytes(data)) in {f.sha256 for f in row.files}:
            return
        if not lossless and named_format(where) != "png":
            yield Problem(where, "hash", f"has {sha256}, the build's is {row.files[0].sha256}")
            return
        try:
            data = decode(data, "png")
        except NotAPicture as e:
            yield Problem(where, "decode", str(e))
            return
    pixels = pixel_digest(np.ascontiguousarray(data))
    expected = row.pixels if lossless else pixel_digest(images.image(index))
    if pixels != expected:
        yield Problem(where, "pixels", f"the pixels have {pixels}, the build's are {expected}")
