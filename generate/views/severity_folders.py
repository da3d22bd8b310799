"""Views of a folder for each corruption and severity, with nothing but class folders beside each other in it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from ...errors import BuildError, listed
from .class_numbers import numbering_notes
from .file_layout import FileLayout
from .layout import SetSlice, ViewOptions
from .severities import grid
from .subject import Subject


class SeverityFolders(FileLayout):
    """``<top>/<corruption>/<severity>/<class folder>/...``.

    Loaders number classes by listing the folders, so every class must be there, and folders must sort by index.
    """

    takes: ClassVar[tuple[str, ...]] = ("severities", "allow_missing_classes")
    takes_clean = False
    published: ClassVar[str]
    """What the folder of the published data set is called."""

    def __init__(self, subject: Subject, options: ViewOptions, indices: Sequence[int] | None = None) -> None:
        indices = range(len(subject.samples)) if indices is None else indices
        sets, notes = grid(self.view, subject, options)
        slices = [
            SetSlice(set_id, f"{self.published}/{name}/{severity}", indices)
            for name, ids in sets.items()
            for severity, set_id in enumerate(ids, 1)
        ]
        super().__init__(subject, self.published, slices)
        self.notes += [*notes, *class_notes(self, indices, options)]


def class_notes(layout: FileLayout, indices: Sequence[int], options: ViewOptions) -> list[str]:
    """Return which loaders find other labels by listing folders; raise for classes without an image, unless they are allowed."""
    classes, samples = layout.subject.classes, layout.subject.samples
    labels = {samples[i].class_index for i in indices}
    missing = [c.folder for c in classes if c.index not in labels]
    if missing and not options.allow_missing_classes:
        raise BuildError(
            f"The view {layout.view} needs an image of every class, because its loaders number classes by listing the folders. "
            f"{len(missing)} of {len(classes)} classes have none:\n{listed(missing, 10)}\n"
            "Build from samples of every class (--samples spreads evenly), or export with --allow-missing-classes: "
            "the labels that loaders find by listing will then differ from the manifest's."
        )
    notes = [f"{len(missing)} of {len(classes)} classes have no folder: labels found by listing folders differ from the manifest's."]
    return notes * bool(missing) + numbering_notes((layout.path("", i).removeprefix("/"), samples[i].class_index) for i in indices)
