"""The page of a finished build, and its place among its files."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from ...corruptions.registry import Images
from ...manifests.paths import PAGE, WORK_FOLDER
from ...manifests.records.models import Manifest
from ..commit.last_files import LastFiles
from ..commit.locks import locked
from ..plan.builds import Build

if TYPE_CHECKING:
    from ...manifests.reader import DataSet


def page_of(build: Build) -> Callable[[DataSet], bytes] | None:
    """Return what makes index.html of a build; None where there is to be none."""

    def page(data: DataSet) -> bytes:
        from .build_page import build_page  # a build that makes no page does without what draws it

        return build_page(data, build.clean)

    return page if build.page else None


def with_page(build: Build, directory: Path, manifest: Manifest) -> Manifest:
    """Give a finished build its page, where it lacks one and can be written to."""
    has_page = any(file.path == PAGE for file in manifest.files) and (directory / PAGE).is_file()
    # while it is extended there is a work folder, and the extension makes the page
    if not build.page or has_page or not os.access(directory, os.W_OK) or (directory / WORK_FOLDER).exists():
        return manifest
    with locked(directory):
        return add_page(directory, build.clean)


def add_page(directory: Path, clean_of: Callable[[int], Images] | None = None) -> Manifest:
    """Give a finished data set its page, or make it again; return the manifest.

    The build's lock must be held. The digest stays: it covers samples, sets and classes. Should this be interrupted,
    the data set is one with or without the page.
    """
    from ...manifests.reader import DataSet
    from .build_page import build_page

    data = DataSet(directory)
    page = build_page(data, clean_of)
    last = LastFiles(directory)
    files = [last.add(PAGE, page), *(file for file in data.manifest.files if file.path != PAGE)]
    manifest = data.manifest.model_copy(update={"files": sorted(files, key=lambda file: file.path)})
    last.finish_with(manifest)
    return manifest
