"""The view ``imagenet-c``: ``ImageNet-C/<corruption>/<1..5>/<class folder>/<image>``.

Read by torchvision's ImageFolder, timm, RobustBench and the published evaluation code.
"""

from __future__ import annotations

from .base import Subject, ViewOptions
from .folders import SeverityFolders

TAKES = ("severities", "allow_missing_classes")


def layout(subject: Subject, options: ViewOptions) -> SeverityFolders:
    """Return the layout."""
    return SeverityFolders("imagenet-c", subject, options, "ImageNet-C")
