"""The view ``imagenet-c``: ``ImageNet-C/<corruption>/<1..5>/<class folder>/<image>``.

Read by torchvision's ImageFolder, timm, RobustBench and the published evaluation code.
"""

from __future__ import annotations

from ..recipes.expectations import Expects
from .severity_folders import SeverityFolders


class ImageNetC(SeverityFolders):
    """The layout."""

    view = "imagenet-c"
    published = "ImageNet-C"
    expects = Expects(least_side=128)
    """224 as published, 299 for Inception; loaders crop or shrink what is larger, and would enlarge what is smaller without a word."""
