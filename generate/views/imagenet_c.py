"""The view ``imagenet-c``: ``ImageNet-C/<corruption>/<1..5>/<class folder>/<image>``.

Read by torchvision's ImageFolder, timm, RobustBench and the published evaluation code.
"""

from __future__ import annotations

from ..recipes.expectations import Expects
from .file_layout import SeverityFolders
from .layout import Subject, ViewOptions

TAKES = ("severities", "allow_missing_classes")
EXPECTS = Expects(least_side=128)
"""224 as published, 299 for Inception; loaders crop or shrink what is larger, and would enlarge what is smaller without a word."""


def layout(subject: Subject, options: ViewOptions) -> SeverityFolders:
    """Return the layout."""
    return SeverityFolders("imagenet-c", subject, options, "ImageNet-C")
