"""The page of a build that is being finished, or lacks one."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ...corruptions.registry import Images
from ...manifests.layout import PAGE, WORK_FOLDER
from ...manifests.records.models import Manifest
from ..commit.locks import locked
from ..pixels.preprocessing import Preprocessing
from ..plan.builds import Build
from ..plan.job import CheckedSample, load_clean
from ..sources.selection import spread
from ..sources.source import Source

if TYPE_CHECKING:
    from ...manifests.reader import DataSet


def with_page(build: Build, directory: Path, manifest: Manifest) -> Manifest:
    """Give a finished build the page that is asked for, if it has none and can be written to."""
    from .add_page import add_page

    has_page = any(file.path == PAGE for file in manifest.files) and (directory / PAGE).is_file()
    if not build.page or has_page or not os.access(directory, os.W_OK):
        return manifest
    if (directory / WORK_FOLDER).exists():  # it is being extended, which makes the page
        return manifest
    with locked(directory):
        return add_page(directory, page_of(build).clean)


@dataclass(frozen=True)
class PageOfBuild:
    """Makes index.html of a build, in this process or in a worker, which gets the samples that are shown and no others."""

    source: Source
    preprocessing: Preprocessing
    shown: Mapping[int, CheckedSample]

    def clean(self, index: int) -> Images:
        """Return the clean image of a sample that is shown."""
        return load_clean(self.source, self.shown[index], self.preprocessing)

    def __call__(self, data: DataSet) -> bytes:
        """Return the page."""
        from .build_page import build_page

        return build_page(data, self.clean)


def page_of(build: Build) -> PageOfBuild:
    """Return what makes the page of a build."""
    from ...pages.rungs import MOST

    shown = {i: build.samples[i] for i in spread(range(len(build.samples)), MOST)}
    return PageOfBuild(build.loader, build.preprocessing, shown)
