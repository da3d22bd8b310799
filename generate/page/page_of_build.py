"""The page that a build writes into its dataset."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ..plan.builds import CheckedBuild

if TYPE_CHECKING:
    from ...manifests.reader import Dataset


def page_of(build: CheckedBuild) -> Callable[[Dataset], bytes] | None:
    """Return the function that makes index.html of a build; None if there is to be no page."""

    def page(data: Dataset) -> bytes:
        from .build_page import build_page  # a build without a page does not need what draws it

        return build_page(data, build.clean)

    return page if build.page else None
