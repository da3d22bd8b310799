"""Views of tar archives."""

from __future__ import annotations

import tarfile
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ...manifests.reader import DataSet, ImageSet
from ..pixels.encoding import PngEncoding
from .layout import Found, Layout, Place, SetRef
from .writer import Writer


@dataclass(frozen=True)
class TarPlan:
    """One archive: consecutive samples of one set."""

    path: str
    ref: SetRef
    samples: range


class TarLayout(Layout):
    """Subclasses say which archives there are, and which members an image has."""

    @abstractmethod
    def archives(self) -> Sequence[TarPlan]:
        """Return every archive."""

    @abstractmethod
    def member(self, ref: SetRef, index: int) -> str:
        """Return the name of an image in its archive."""

    def beside(self, ref: SetRef, index: int) -> Iterator[tuple[str, bytes]]:
        """Yield the members that go with an image."""
        yield from ()

    def places(self) -> Sequence[Place]:
        """Return the archives."""
        return [Place(plan.ref.id, plan.path, None, len(plan.samples)) for plan in self.archives()]

    def write(self, data: DataSet, writer: Writer) -> None:
        """Write every archive, then the texts."""
        for plan in self.archives():
            images = data[plan.ref.id]
            writer.tar(plan.path, self._members(plan, images))
            writer.count(len(plan.samples))
        for path, text in self.texts(writer.hashes):
            writer.text(path, text)

    def _members(self, plan: TarPlan, images: ImageSet) -> Iterator[tuple[str, bytes]]:
        for index in plan.samples:
            yield self.member(plan.ref, index), encoded(images, index)
            yield from self.beside(plan.ref, index)

    def found(self, root: Path) -> Iterator[Found]:
        """Yield the images of every archive, read in order; what stands beside an image is checked on the way."""
        for plan in self.archives():
            expected = [(i, self.member(plan.ref, i)) for i in plan.samples]
            done = 0
            try:
                with tarfile.open(root / plan.path, "r|") as archive:
                    members = _regular(archive)
                    for index, name in expected:
                        wanted = [(name, None), *self.beside(plan.ref, index)]
                        data = _take(members, wanted)
                        done += 1
                        yield Found(plan.ref.id, index, plan.path, f":{name}", data)
                    if next(members, None) is not None:
                        yield Found(plan.ref.id, plan.samples[-1], plan.path, ": what follows its last image", None)
            except (OSError, tarfile.TarError, StopIteration):
                yield from (Found(plan.ref.id, index, plan.path, f":{name}", None) for index, name in expected[done:])

    def paths(self) -> Iterator[str]:
        """Yield every archive and text."""
        yield from (plan.path for plan in self.archives())
        yield from (path for path, _ in self.texts({}))


def _regular(archive: tarfile.TarFile) -> Iterator[tuple[str, bytes]]:
    for info in archive:
        file = archive.extractfile(info) if info.isreg() else None
        yield info.name, b"" if file is None else file.read()


def _take(members: Iterator[tuple[str, bytes]], wanted: Sequence[tuple[str, bytes | None]]) -> bytes | None:
    """Return the first of the wanted members, if all of them come next as they should."""
    image: bytes | None = None
    good = True
    for name, data in wanted:
        found = next(members, ("", b""))
        good = good and found[0] == name and data in (None, found[1])
        image = found[1] if data is None else image
    return image if good else None


def encoded(images: ImageSet, index: int) -> bytes:
    """Return an image as a file's bytes: those of the build where it has them, a PNG where it stores pixels."""
    _, where = images.stored(index, prefer="folder")
    if isinstance(where, Path):
        return where.read_bytes()
    return bytes(where.data) if where.ndim == 1 else PngEncoding().encode(where)
