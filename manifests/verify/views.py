"""Views by themselves: VIEW.json, and whether what lies beside it is what it says.

A view is an export in another layout. VIEW.json names the build by its digest and says enough to check the view without the build: the
sha256 of every array, archive and text; for single images one sha256 a folder; and for arrays of lossless builds each set's pixel digest.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from ...digests import digits
from ...pixels import pixel_digest
from ..checksums import hash_problem
from ..disk.listing import empty_folders, list_files, read_small
from ..images.arrays import ArrayFile, NotAShard
from ..layout import MANIFEST
from ..manifest_file import MANIFEST_CAP
from ..records.digests import set_digest, sha256_file, sha256_pieces
from ..records.fields import Blake3, Count, SafePath, Sha256
from ..records.models import FileRecord, Record
from ..records.parsing import record_or_mistakes
from ..records.report import Problem, Progress, VerificationReport, printable

VIEW = "VIEW.json"


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


def load_view(directory: Path | str) -> ViewRecord | list[Problem]:
    """Return what VIEW.json says, or what is wrong with it."""
    data = read_small(Path(directory), VIEW, MANIFEST_CAP)
    if isinstance(data, Problem):
        if data.kind in ("missing", "symlink", "special"):
            return [Problem(VIEW, "missing", "a view has this file at its root: give the folder that `corruptset export` wrote (--out)")]
        return [data]
    record, mistakes = record_or_mistakes(ViewRecord, data)
    return [Problem(VIEW, "schema", mistake) for mistake in mistakes] if record is None else record


def verify_view(directory: Path | str, *, progress: Progress | None = None) -> VerificationReport:
    """Check a view by itself: nothing missing or unexpected, sizes, hashes, and the pixels of arrays.

    Parameters
    ----------
    directory : path
        The one that holds VIEW.json.
    progress : callable, optional
        The steps are "files" and "sets".

    Returns
    -------
    VerificationReport
        A wrong image in a folder of single images is reported as that folder; a check against the build names the image.
    """
    root = Path(directory)
    report = VerificationReport(printable(str(directory)), "pixels")
    record = load_view(root)
    if not isinstance(record, ViewRecord):
        report.add(record)
        return report
    report.digest = record.digest
    progress = progress or (lambda *_: None)
    listing = list_files(root)
    report.add(listing.problems, Counter(files=len(listing.files), sets=len({s.id for s in record.sets})))
    entries: list[FileRecord | FolderRecord] = [*record.files, *record.folders]
    present: dict[str, dict[str, int]] = {entry.path: {} for entry in entries}
    for path, size in listing.files.items():
        owner = path
        while owner and owner not in present:
            owner = owner.rpartition("/")[0]
        if owner:
            present[owner][path] = size
        elif path != VIEW:
            report.add([Problem(path, "unexpected", f"{VIEW} names no such file")])
    wrong: set[str] = set()
    for done, entry in enumerate(entries):
        progress("files", done, len(entries))
        hidden = isinstance(entry, FileRecord) and not present[entry.path] and listing.hides(entry.path)
        problem = None if hidden else _problem(root, entry, present[entry.path], report)
        if hidden or problem is not None:
            wrong.add(entry.path)
        report.add([] if problem is None else [problem])
    report.add(empty_folders(listing, [f.path for f in record.files]))
    for done, part in enumerate(record.sets):
        progress("sets", done, len(record.sets))
        if part.pixel_digest is not None and part.row is not None and part.path in present and part.path not in wrong:
            report.add(_pixel_problems(root, part), Counter(images=part.count))
    report.problems = sorted(set(report.problems))
    return report


def _problem(root: Path, record: FileRecord | FolderRecord, sizes: Mapping[str, int], report: VerificationReport) -> Problem | None:
    """Return what is wrong with a file, or with a folder of images, from path and size of what is there."""
    path, total, folder = record.path, sum(sizes.values()), isinstance(record, FolderRecord)
    images = record.images if isinstance(record, FolderRecord) else 1
    if len(sizes) != images:
        kind = "missing" if len(sizes) < images else "unexpected"
        return Problem(path, kind, f"holds {len(sizes)} images, recorded are {images}" if folder else f"{VIEW} names this file")
    if total != record.bytes:
        return Problem(path, "size", f"{'its images have' if folder else 'has'} {total} bytes, recorded are {record.bytes}")
    report.add([], Counter(bytes=total, images=images * folder))
    if isinstance(record, FileRecord):
        return hash_problem(root, record)
    try:
        sha256 = folder_record(path, [(p, sha256_file(root / p), size) for p, size in sizes.items()]).sha256
    except OSError as e:
        return Problem(path, "unreadable", f"{e.strerror}")
    if sha256 == record.sha256:
        return None
    return Problem(path, "hash", f"its images have {sha256}, recorded is {record.sha256}: check it against its build (--view)")


def _pixel_problems(root: Path, part: ViewSetRecord) -> Iterable[Problem]:
    start = part.row or 0
    try:
        array = ArrayFile(root / part.path)
    except (NotAShard, OSError, ValueError) as e:
        return [Problem(part.path, "decode", f"is not an array of images: {e}")]
    if start + part.count > array.rows:
        return [Problem(part.path, "shape", f"has {array.rows} rows, set {part.id} ends at row {start + part.count}")]
    digest = set_digest(pixel_digest(np.ascontiguousarray(image)) for image in array.stream(start, start + part.count))
    if digest != part.pixel_digest:
        return [Problem(part.path, "pixels", f"the pixels of set {part.id} have {digest}, the build's are {part.pixel_digest}")]
    return []
