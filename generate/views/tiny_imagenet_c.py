"""The view ``tiny-imagenet-c``: ``Tiny-ImageNet-C/<corruption>/<1..5>/<class folder>/<image>``."""

from __future__ import annotations

from ..recipes.expectations import Expects
from .layout import ViewOptions
from .severity_folders import SeverityFolders
from .subject import Subject


class TinyImageNetC(SeverityFolders):
    """The layout."""

    view = "tiny-imagenet-c"
    expects = Expects(sizes=((64, 64),))

    def __init__(self, subject: Subject, options: ViewOptions) -> None:
        super().__init__(subject, options, "Tiny-ImageNet-C")
