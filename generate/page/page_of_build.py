"""The page of a build that is being finished, or lacks one."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from ...corruptions.registry import Images
from ...manifests.disk.mirror import Mirror
from ...manifests.layout import PAGE, WORK_FOLDER
from ...manifests.records.models import Manifest
from ..commit.locks import locked
from ..plan.checked_build import CheckedBuild
from ..work.worker import load_clean

if TYPE_CHECKING:
    from ...manifests.reader import DataSet


def with_page(build: CheckedBuild, directory: Path, manifest: Manifest) -> Manifest:
    """Give a finished build the page that is asked for, if it has none, as one of an older release, and can be written to."""
    from .add_page import add_page

    has_page = any(file.path == PAGE for file in manifest.files) and (directory / PAGE).is_file()
    if not build.spec.page or has_page or isinstance(directory, Mirror) or not os.access(directory, os.W_OK):
        return manifest
    if (directory / WORK_FOLDER).exists():  # it is being extended, which makes the page
        return manifest
    with locked(directory):
        return add_page(directory, _clean_of(build))


def _clean_of(build: CheckedBuild) -> Callable[[int], Images]:
    return lambda i: load_clean(build.spec.loader, build.samples[i], build.spec.preprocessing)


def page_of(build: CheckedBuild) -> Callable[[DataSet], bytes] | None:
    if not build.spec.page:
        return None
    from .build_page import build_page

    return lambda data: build_page(data, _clean_of(build))
