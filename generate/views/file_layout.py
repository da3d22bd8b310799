"""Views of single image files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from ..sources.source import stored_path
from .layout import Layout, ViewImage
from .writer import Writer

if TYPE_CHECKING:
    from ...manifests.reader import DataSet


class FileLayout(Layout):
    """Images as files, a folder a slice."""

    def path(self, folder: str, index: int) -> str:
        """Return where an image goes."""
        sample = self.subject.samples[index]
        return f"{folder}/{stored_path(sample.id, self.subject.classes[sample.class_index].folder)}.{self.subject.suffix}"

    def image_files(self) -> Iterable[str]:
        return (self.path(images.path, index) for images in self.slices for index in images.samples)

    def location(self, set_id: str, index: int) -> tuple[str, int | None]:
        return self.path(self.slices_of[set_id][-1].path, index), None

    def write(self, data: DataSet, writer: Writer) -> None:
        """Link or copy every image, then write the texts."""
        for images in self.slices:
            stored = data[images.set_id]
            writer.image_folder(images.path, [writer.image(self.path(images.path, i), stored, i) for i in images.samples])
        writer.texts(self)

    def read(self, root: Path) -> Iterator[ViewImage]:
        for images in self.slices:
            for index in images.samples:
                path = self.path(images.path, index)
                try:
                    data = (root / path).read_bytes()
                except OSError:
                    data = None
                yield ViewImage(images.set_id, index, path, "", data)


def lines(rows: Iterable[str]) -> bytes:
    """Return rows as the lines of a text file."""
    return "".join(f"{row}\n" for row in rows).encode()
