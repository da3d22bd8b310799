"""The view ``openood``: images, and for every set a text list, ``relative/path label`` a line, as OpenOOD's ImglistDataset reads it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from .file_layout import FileLayout, lines
from .layout import SetSlice, ViewOptions, refuse
from .subject import Subject


class OpenOOD(FileLayout):
    """``<name>-<version>/images/<set id>/...`` (the data_dir) and ``<name>-<version>/lists/<set id>.txt`` (the imglists)."""

    view = "openood"

    def __init__(self, subject: Subject, options: ViewOptions) -> None:
        # the reader splits a line at its first blank
        blank = [s.id for s in subject.samples if " " in s.id or " " in subject.classes[s.class_index].folder]
        refuse(
            "openood",
            [f"{i}: has a blank in its path" for i in blank],
            "The lists separate path and label by a blank: rename, and build again.",
        )
        samples = range(len(subject.samples))
        super().__init__(subject, subject.folder, (SetSlice(s.id, f"{subject.folder}/images/{s.id}", samples) for s in subject.sets))

    def texts(self, hashes: Mapping[str, str]) -> Iterator[tuple[str, bytes]]:
        for ref in self.subject.sets:
            rows = (f"{self.path(ref.id, i)} {s.class_index}" for i, s in enumerate(self.subject.samples))
            yield f"{self.top}/lists/{ref.id}.txt", lines(rows)
