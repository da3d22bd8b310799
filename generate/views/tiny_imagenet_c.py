"""The view ``tiny-imagenet-c``: ``Tiny-ImageNet-C/<corruption>/<1..5>/<class folder>/<image>``."""

from __future__ import annotations

from ..recipes.expectations import Expects
from .file_layout import SeverityFolders
from .layout import Subject, ViewOptions

TAKES = ("severities", "allow_missing_classes")
EXPECTS = Expects(sizes=((64, 64),))


def layout(subject: Subject, options: ViewOptions) -> SeverityFolders:
    """Return the layout."""
    return SeverityFolders("tiny-imagenet-c", subject, options, "Tiny-ImageNet-C")
