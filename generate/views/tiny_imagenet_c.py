"""The view ``tiny-imagenet-c``: ``Tiny-ImageNet-C/<corruption>/<1..5>/<class folder>/<image>``."""

from __future__ import annotations

from ..recipes.expectations import Expects
from .severity_folders import SeverityFolders


class TinyImageNetC(SeverityFolders):
    """The layout."""

    view = "tiny-imagenet-c"
    published = "Tiny-ImageNet-C"
    expects = Expects(sizes=((64, 64),))
