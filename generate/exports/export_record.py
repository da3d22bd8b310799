"""VIEW.json, the record of an export: its dataset, its options, and the hashes of its files."""

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
    """A folder of single images."""

    path: SafePath
    images: Count
    bytes: Count
    sha256: Sha256
    """The hash of the lines ``<hex>  <path>`` that sha256sum prints for the images, sorted by path."""


class ExportSetRecord(Record):
    """The place of images of a set.

    A set has several records if its images are in several places, for example in two splits or several archives.
    """

    id: str
    path: SafePath
    """The folder, array or archive."""
    row: Count | None
    """The row of the first image, in an array."""
    count: Count
    pixel_digest: Blake3 | None
    """The digest of the set in the manifest, if an array contains the same pixels of the whole set."""


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
    """Return the record of a folder from (path, sha256, bytes) of its images."""
    rows = sorted(images)
    sha256 = sha256_pieces(f"{digits(sha256)}  {name}\n".encode() for name, sha256, _ in rows)
    return FolderRecord(path=path, images=len(rows), bytes=sum(r[2] for r in rows), sha256=sha256)


def is_export(directory: Path | str) -> bool:
    """Return whether a directory contains VIEW.json, and no manifest."""
    return os.path.lexists(Path(directory) / EXPORT_RECORD) and not os.path.lexists(Path(directory) / MANIFEST)
