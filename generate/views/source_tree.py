"""The view ``source-tree``: every image under the path that it has in its source, so that annotation files find it."""

from __future__ import annotations

from ...manifests.images.pictures import own_path
from ..sources.listing import kept_suffix
from .file_layout import FileLayout
from .layout import SetSlice, ViewOptions, refuse
from .subject import Subject


class SourceTree(FileLayout):
    """``images/<set id>/<path in the source>``: names, suffixes and capitals as they are.

    An image that has no file in its source is called by its id. A file whose name ends in ``.png`` is a PNG; any other is what the data set
    stores.
    """

    view = "source-tree"
    own_names = True
    labelled = False

    def __init__(self, subject: Subject, options: ViewOptions) -> None:
        other = [f"{s.path}: its suffix is neither that of a JPEG nor .png" for s in subject.samples if s.path and not kept_suffix(s.path)]
        refuse(self.view, other, "Images keep their names there. Choose another view.")
        samples = range(len(subject.samples))
        super().__init__(subject, "images", (SetSlice(s.id, f"images/{s.id}", samples) for s in subject.sets))

    def path(self, folder: str, index: int) -> str:
        """Return where an image goes."""
        sample = self.subject.samples[index]
        return f"{folder}/{own_path(sample.path, sample.id, self.subject.format)}"
