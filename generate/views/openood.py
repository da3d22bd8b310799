"""The view ``openood``: images, and for every set a text list, ``relative/path label`` a line, as OpenOOD's ImglistDataset reads it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from .file_layout import FolderLayout, lines
from .layout import Subject, ViewOptions, refuse

TAKES = ()


class OpenOOD(FolderLayout):
    """``<name>-<version>/images/<set id>/...`` (the data_dir) and ``<name>-<version>/lists/<set id>.txt`` (the imglists)."""

    def folders(self) -> Mapping[str, str]:
        """Return folder -> set id."""
        return {f"{self.top}/images/{s.id}": s.id for s in self.subject.sets}

    def texts(self, hashes: Mapping[str, str]) -> Iterator[tuple[str, bytes]]:
        """Yield the list of every set."""
        for ref in self.subject.sets:
            rows = (f"{self.path(ref.id, i)} {s.label}" for i, s in enumerate(self.subject.samples))
            yield f"{self.top}/lists/{ref.id}.txt", lines(rows)


def layout(subject: Subject, options: ViewOptions) -> OpenOOD:
    """Return the layout."""
    # the reader splits a line at its first blank
    blank = [s.id for s in subject.samples if " " in s.id or " " in subject.classes[s.label].folder]
    refuse(
        "openood",
        [f"{i}: has a blank in its path" for i in blank],
        "The lists separate path and label by a blank: rename, and build again.",
    )
    return OpenOOD(subject, f"{subject.name}-{subject.version}")
