"""Views of tar archives."""

from __future__ import annotations

import tarfile
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from pathlib import Path

from ...manifests.reader import DataSet
from ...manifests.reading.image_set import ImageSet
from .layout import Layout, SetSlice, ViewImage
from .writer import Writer, encoded


class TarLayout(Layout):
    """Images in archives, one a slice; subclasses say which members an image has."""

    @abstractmethod
    def member(self, index: int) -> str:
        """Return the name of an image in its archive."""

    def beside(self, set_id: str, index: int) -> Iterator[tuple[str, bytes]]:
        """Yield the members that go with an image."""
        yield from ()

    def write(self, data: DataSet, writer: Writer) -> None:
        for images in self.slices:
            writer.tar(images.path, self._members(images, data[images.set_id]))
            writer.count(len(images.samples))
        writer.texts(self)

    def _members(self, images: SetSlice, stored: ImageSet) -> Iterator[tuple[str, bytes]]:
        for index in images.samples:
            yield self.member(index), encoded(stored.stored(index, prefer="folder")[1])
            yield from self.beside(images.set_id, index)

    def read(self, root: Path) -> Iterator[ViewImage]:
        """Yield the images of every archive, read in order; what stands beside an image is checked on the way."""
        for images in self.slices:
            expected = [(i, self.member(i)) for i in images.samples]
            done = 0
            try:
                with tarfile.open(root / images.path, "r|") as archive:
                    members = _regular(archive)
                    for index, name in expected:
                        data = _take(members, [(name, None), *self.beside(images.set_id, index)])
                        done += 1
                        yield ViewImage(images.set_id, index, images.path, f":{name}", data)
                    if next(members, None) is not None:
                        yield ViewImage(images.set_id, images.samples[-1], images.path, ": what follows its last image", None)
            except (OSError, tarfile.TarError, StopIteration):
                yield from (ViewImage(images.set_id, index, images.path, f":{name}", None) for index, name in expected[done:])


def _regular(archive: tarfile.TarFile) -> Iterator[tuple[str, bytes]]:
    for info in archive:
        file = archive.extractfile(info) if info.isreg() else None
        yield info.name, b"" if file is None else file.read()


def _take(members: Iterator[tuple[str, bytes]], wanted: Sequence[tuple[str, bytes | None]]) -> bytes | None:
    """Return the first of the wanted members, if all of them come next as they should."""
    image: bytes | None = None
    good = True
    for name, data in wanted:
        member, content = next(members, ("", b""))
        good = good and member == name and data in (None, content)
        image = content if data is None else image
    return image if good else None
