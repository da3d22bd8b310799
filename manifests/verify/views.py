"""Views by themselves: VIEW.json, and whether what lies beside it is what it says.

A view is an export in another layout. VIEW.json names the build by its digest and says enough to check the view without the build: the
sha256 of every array, archive and text; for single images one sha256 a folder; and for arrays of lossless builds each set's pixel digest.
"""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from ...pixels import pixel_digest
from ..disk.listing import empty_folders, list_files, plain_file, printable
from ..images.arrays import ArrayFile, NotAShard
from ..manifest_file import MANIFEST_CAP
from ..records.digests import set_digest, sha256_file
from ..records.models import Blake3, Count, FileRecord, Record, SafePath, Sha256
from ..records.parsing import record_or_mistakes
from ..records.report import Problem, VerificationReport

VIEW = "VIEW.json"
Progress = Callable[[str, int, int], None]


class FolderRecord(Record):
    """A folder of single images."""

    path: SafePath
    images: Count
    bytes: Count
    sha256: Sha256
    """Of the lines ``<hex>  <path>``, sorted by path: what sha256sum prints for the images."""


class ViewSetRecord(Record):
    """Where images of a set lie together; a set that lies in several places (two splits, several tars) has a record for each."""

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
    options: dict[str, Any]
    notes: list[str]
    sets: list[ViewSetRecord]
    files: list[FileRecord]
    folders: list[FolderRecord]


def folder_record(path: str, images: Iterable[tuple[str, str, int]]) -> FolderRecord:
    """Return the record of a folder from (path, sha256, bytes) of its images."""
    rows = sorted(images)
    digest = hashlib.sha256()
    for name, sha256, _ in rows:
        digest.update(f"{sha256.removeprefix('sha256:')}  {name}\n".encode())
    return FolderRecord(path=path, images=len(rows), bytes=sum(r[2] for r in rows), sha256=f"sha256:{digest.hexdigest()}")


def is_view(directory: Path | str) -> bool:
    """Return whether a directory holds VIEW.json, and no manifest beside it."""
    return os.path.lexists(Path(directory) / VIEW) and not os.path.lexists(Path(directory) / "manifest.json")


def load_view(directory: Path | str) -> ViewRecord | list[Problem]:
    """Return what VIEW.json says, or what is wrong with it."""
    root = Path(directory)
    if not plain_file(root, VIEW):
        return [Problem(VIEW, "missing", "a view has this file at its root: give the folder that `corruptset export` wrote (--out)")]
    try:
        if (root / VIEW).stat().st_size > MANIFEST_CAP:
            return [Problem(VIEW, "size", f"has more than {MANIFEST_CAP} bytes")]
        record, mistakes = record_or_mistakes(ViewRecord, (root / VIEW).read_bytes())
    except OSError as e:
        return [Problem(VIEW, "unreadable", f"{e.strerror}")]
    return [Problem(VIEW, "schema", mistake) for mistake in mistakes] if record is None else record


def verify_view(directory: Path | str, *, progress: Progress | None = None) -> VerificationReport:
    """Check a view by itself: nothing missing or unexpected, sizes, hashes, and the pixels of arrays.

    Parameters
    ----------
    directory : path
        The one that holds VIEW.json.
    progress : callable, optional
        Called with the step, what is done and the total.

    Returns
    -------
    VerificationReport
        Where something is wrong in a folder of single images, the folder is named; checked against its build, the image is.
    """
    root = Path(directory)
    report = VerificationReport(printable(str(directory)), "pixels")
    record = load_view(root)
    if not isinstance(record, ViewRecord):
        report.add(record)
        return report
    report.digest = record.digest
    told = progress or (lambda *_: None)
    listing = list_files(root)
    report.add(listing.problems, Counter(files=len(listing.files), sets=len({s.id for s in record.sets})))
    left = {path: size for path, size in listing.files.items() if path != VIEW}
    sound: set[str] = set()
    total = len(record.files) + len(record.folders)
    for done, one in enumerate(record.files):
        told("files", done, total)
        report.add(_file(root, one, left.pop(one.path, None), listing.hides(one.path), report))
        sound |= {one.path} if not any(p.path == printable(one.path) for p in report.problems) else set()
    by_folder: dict[str, list[str]] = {f.path: [] for f in record.folders}
    for path in left:
        folder = path
        while folder and folder not in by_folder:
            folder = folder.rpartition("/")[0]
        if folder:
            by_folder[folder].append(path)
        else:
            report.add([Problem(printable(path), "unexpected", f"{VIEW} names no such file")])
    for done, one_folder in enumerate(record.folders, len(record.files)):
        told("files", done, total)
        report.add(_folder(root, one_folder, by_folder[one_folder.path], left, report))
    report.add(empty_folders(listing, [f.path for f in record.files]))
    for done, held in enumerate(record.sets):
        told("sets", done, len(record.sets))
        if held.pixel_digest is not None and held.row is not None and held.path in sound:
            report.add(_pixels(root, held), Counter(images=held.count))
    report.problems = sorted(set(report.problems))
    return report


def _file(root: Path, record: FileRecord, size: int | None, hidden: bool, report: VerificationReport) -> Iterable[Problem]:
    name = printable(record.path)
    if size is None:
        return [] if hidden else [Problem(name, "missing", f"{VIEW} names this file")]
    if size != record.bytes:
        return [Problem(name, "size", f"has {size} bytes, recorded are {record.bytes}")]
    try:
        found = sha256_file(root / record.path)
    except OSError as e:
        return [Problem(name, "unreadable", f"{e.strerror}")]
    report.add([], Counter(bytes=size))
    return [] if found == record.sha256 else [Problem(name, "hash", f"has {found}, recorded is {record.sha256}")]


def _folder(root: Path, record: FolderRecord, paths: list[str], sizes: dict[str, int], report: VerificationReport) -> Iterable[Problem]:
    name = printable(record.path)
    if len(paths) != record.images:
        kind = "missing" if len(paths) < record.images else "unexpected"
        return [Problem(name, kind, f"holds {len(paths)} images, recorded are {record.images}")]
    total = sum(sizes[p] for p in paths)
    if total != record.bytes:
        return [Problem(name, "size", f"its images have {total} bytes, recorded are {record.bytes}")]
    try:
        found = folder_record(record.path, [(p, sha256_file(root / p), sizes[p]) for p in paths])
    except OSError as e:
        return [Problem(name, "unreadable", f"{e.strerror}")]
    report.add([], Counter(bytes=total, images=len(paths)))
    if found.sha256 != record.sha256:
        return [Problem(name, "hash", f"its images have {found.sha256}, recorded is {record.sha256}: check it against its build (--view)")]
    return []


def _pixels(root: Path, held: ViewSetRecord) -> Iterable[Problem]:
    name = printable(held.path)
    start = held.row or 0
    try:
        rows = ArrayFile(root / held.path)
    except (NotAShard, OSError, ValueError) as e:
        return [Problem(name, "decode", f"is not an array of images: {e}")]
    if start + held.count > rows.rows:
        return [Problem(name, "shape", f"has {rows.rows} rows, set {held.id} ends at row {start + held.count}")]
    found = set_digest(pixel_digest(np.ascontiguousarray(image)) for image in rows.stream(start, start + held.count))
    if found != held.pixel_digest:
        return [Problem(name, "pixels", f"the pixels of set {held.id} have {found}, the build's are {held.pixel_digest}")]
    return []
