"""The page that a build writes into its dataset."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ..plan.builds import CheckedBuild

if TYPE_CHECKING:
    from ...manifests.reader import Dataset


def page_of(build: CheckedBuild) -> Callable[[Dataset], bytes] | None:
    """Return the function that draws index.html for a build, or None if the build has no page."""

    def page(data: Dataset) -> bytes:
        from .build_page import build_page  # only needed for builds with a page

        return build_page(data, build.clean)

    return page if build.page else None
