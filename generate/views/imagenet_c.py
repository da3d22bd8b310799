"""The view ``imagenet-c``: ``ImageNet-C/<corruption>/<1..5>/<class folder>/<image>``.

Read by torchvision's ImageFolder, timm, RobustBench and the published evaluation code.
"""

from __future__ import annotations

from ..recipes.expectations import Expects
from .layout import ViewOptions
from .severity_folders import SeverityFolders
from .subject import Subject


class ImageNetC(SeverityFolders):
    """The layout."""

    view = "imagenet-c"
    expects = Expects(least_side=128)
    """224 as published, 299 for Inception; loaders crop or shrink what is larger, and would enlarge what is smaller without a word."""

    def __init__(self, subject: Subject, options: ViewOptions) -> None:
        super().__init__(subject, options, "ImageNet-C")
