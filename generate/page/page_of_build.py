"""The function that draws the page of a dataset when its build is finished."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ..plan.builds import CheckedBuild

if TYPE_CHECKING:
    from ...manifests.reader import Dataset


def page_of(build: CheckedBuild) -> Callable[[Dataset], bytes] | None:
    """Return a function that draws the index.html of a build, or None if the build has no page."""

    def page(data: Dataset) -> bytes:
        from .build_page import build_page  # imported here, because only builds with a page need it

        return build_page(data, build.clean)

    return page if build.page else None
