"""The page of a build that is being finished, or lacks one, and its place among the files of a data set."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from ...corruptions.registry import Images
from ...manifests.checksums import sha256sums_bytes
from ...manifests.layout import MANIFEST, PAGE, SHA256SUMS, WORK_FOLDER
from ...manifests.manifest_file import manifest_bytes
from ...manifests.records.digests import sha256_bytes
from ...manifests.records.models import FileRecord, Manifest
from ..commit.last_files import LastFiles
from ..commit.locks import locked
from ..pixels.preprocessing import Preprocessing
from ..plan.builds import Build
from ..plan.job import CheckedSample, load_clean
from ..sources.selection import spread
from ..sources.source import Source

if TYPE_CHECKING:
    from ...manifests.reader import DataSet


def page_of(build: Build) -> Callable[[DataSet], bytes]:
    """Return what makes index.html of a build, in this process or in a worker: it gets the samples that are shown and
    no others.
    """
    from ...pages.rungs import MOST

    shown = {i: build.samples[i] for i in spread(range(len(build.samples)), MOST)}
    return partial(_page, build.loader, build.preprocessing, shown)


def _page(source: Source, preprocessing: Preprocessing, shown: Mapping[int, CheckedSample], data: DataSet) -> bytes:
    from .build_page import build_page  # a build that makes no page does without what draws it

    return build_page(data, lambda index: load_clean(source, shown[index], preprocessing))


def with_page(build: Build, directory: Path, manifest: Manifest) -> Manifest:
    """Give a finished build the page that is asked for, if it has none and can be written to."""
    has_page = any(file.path == PAGE for file in manifest.files) and (directory / PAGE).is_file()
    # while it is extended there is a work folder, and the extension makes the page
    if not build.page or has_page or not os.access(directory, os.W_OK) or (directory / WORK_FOLDER).exists():
        return manifest
    with locked(directory):
        return add_page(directory, build.clean)


def add_page(directory: Path, clean_of: Callable[[int], Images] | None = None) -> Manifest:
    """Give a finished data set its page, or make it again; return the manifest. The build's lock must be held.

    The digest stays: it covers samples, sets and classes. Should this be interrupted, the data set is one with or
    without the page.
    """
    from ...manifests.reader import DataSet
    from .build_page import build_page

    data = DataSet(directory)
    page = build_page(data, clean_of)
    last = LastFiles(directory)
    files = [last.add(PAGE, page), *(file for file in data.manifest.files if file.path != PAGE)]
    manifest = data.manifest.model_copy(update={"files": sorted(files, key=lambda file: file.path)})
    text = manifest_bytes(manifest)
    own = FileRecord(path=MANIFEST, bytes=len(text), sha256=sha256_bytes(text))
    last.add(SHA256SUMS, sha256sums_bytes([*manifest.files, own]))
    last.add(MANIFEST, text)
    last.finish()
    return manifest
