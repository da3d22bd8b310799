"""The record of an export, VIEW.json: the dataset, the options, and the hashes of the exported files."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from ...digests import digits
from ...manifests.paths import MANIFEST
from ...manifests.records.digests import sha256_pieces
from ...manifests.records.fields import Blake3, Count, SafePath, Sha256
from ...manifests.records.models import FileRecord, Record

EXPORT_RECORD = "VIEW.json"


class FolderRecord(Record):
    """A folder of image files."""

    path: SafePath
    images: Count
    bytes: Count
    sha256: Sha256
    """The hash of the lines ``<hex>  <path>`` that sha256sum prints for the images, sorted by path."""


class ExportSetRecord(Record):
    """The place at which images of a set are stored.

    A set has several records if its images are stored in several places, for example in two splits or archives.
    """

    id: str
    path: SafePath
    """The folder, array or archive."""
    row: Count | None
    """For an array, the row of the first image."""
    count: Count
    pixel_digest: Blake3 | None
    """The set's digest in the manifest, if an array contains the unchanged pixels of the whole set."""


class ExportRecord(Record):
    """The contents of VIEW.json."""

    schema_version: Annotated[int, Field(ge=1, le=1)]
    layout: str
    """The name of the layout."""
    top: SafePath
    name: str
    version: str
    digest: Sha256
    """The digest of the dataset."""
    options: dict[str, Any]
    notes: list[str]
    sets: list[ExportSetRecord]
    files: list[FileRecord]
    folders: list[FolderRecord]


def folder_record(path: str, images: Iterable[tuple[str, str, int]]) -> FolderRecord:
    """Return the record of a folder. `images` has the path, the SHA-256 and the size in bytes of each image."""
    rows = sorted(images)
    sha256 = sha256_pieces(f"{digits(sha256)}  {name}\n".encode() for name, sha256, _ in rows)
    return FolderRecord(path=path, images=len(rows), bytes=sum(r[2] for r in rows), sha256=sha256)


def is_export(directory: Path | str) -> bool:
    """Return whether a directory contains VIEW.json but no manifest."""
    return os.path.lexists(Path(directory) / EXPORT_RECORD) and not os.path.lexists(Path(directory) / MANIFEST)
