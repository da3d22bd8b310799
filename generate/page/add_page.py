"""index.html in its place: the file, its record in the manifest, and SHA256SUMS, which take their places one after the other."""

from __future__ import annotations

from pathlib import Path

from ...manifests.checksums import sha256sums_bytes
from ...manifests.layout import MANIFEST, PAGE, SHA256SUMS
from ...manifests.manifest_file import manifest_bytes
from ...manifests.reader import DataSet
from ...manifests.records.digests import sha256_bytes
from ...manifests.records.models import FileRecord, Manifest
from ..commit.last_files import LastFiles
from .build_page import build_page
from .shown_samples import CleanOf


def add_page(directory: Path, clean_of: CleanOf | None = None) -> Manifest:
    """Give a finished data set its page, or make it again; return the manifest. The build's lock must be held.

    The digest stays: it covers samples, sets and classes. Should this be interrupted, the data set is one with or without the page.
    """
    data = DataSet(directory)
    page = build_page(data, clean_of)
    last = LastFiles(directory)
    record = last.add(PAGE, page)
    others = [file for file in data.manifest.files if file.path != PAGE]
    manifest = data.manifest.model_copy(update={"files": sorted([*others, record], key=lambda file: file.path)})
    text = manifest_bytes(manifest)
    own = FileRecord(path=MANIFEST, bytes=len(text), sha256=sha256_bytes(text))
    last.add(SHA256SUMS, sha256sums_bytes([*manifest.files, own]))
    last.add(MANIFEST, text)
    last.finish()
    return manifest
