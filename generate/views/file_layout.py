"""Views of single image files."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from ...errors import BuildError, listed
from ..sources.source import stored_path
from .class_numbers import numbering_notes
from .layout import Found, Item, Layout, Place, Subject, ViewOptions
from .severities import grid
from .writer import Writer

if TYPE_CHECKING:
    from ...manifests.reader import DataSet


class FolderLayout(Layout):
    """Images as files; subclasses say in which folder a set lies."""

    @abstractmethod
    def folders(self) -> Mapping[str, str]:
        """Return folder -> set id; an explicit mapping may show one set in several folders."""

    def indices(self) -> Sequence[int]:
        """Return the samples that are in the view."""
        return range(len(self.subject.samples))

    def path(self, folder: str, index: int) -> str:
        """Return where an image goes."""
        sample: Item = self.subject.samples[index]
        return f"{folder}/{stored_path(sample.id, self.subject.classes[sample.label].folder)}.{self.subject.suffix}"

    def places(self) -> Sequence[Place]:
        """Return the folders."""
        return [Place(set_id, folder, None, len(self.indices())) for folder, set_id in self.folders().items()]

    def in_build(self, set_id: str, index: int) -> tuple[str, int | None]:
        """Return where ``build --view`` puts an image."""
        return self.path(self._by_set[set_id], index), None

    @cached_property
    def _by_set(self) -> dict[str, str]:
        return {set_id: folder for folder, set_id in self.folders().items()}

    def write(self, data: DataSet, writer: Writer) -> None:
        """Link or copy every image, then write the texts."""
        for folder, set_id in self.folders().items():
            images = data[set_id]
            writer.image_folder(folder, [writer.image(self.path(folder, i), images, i) for i in self.indices()])
        for path, text in self.texts(writer.hashes):
            writer.text(path, text)

    def found(self, root: Path) -> Iterator[Found]:
        """Yield every image file's bytes."""
        for folder, set_id in self.folders().items():
            for index in self.indices():
                path = self.path(folder, index)
                try:
                    data = (root / path).read_bytes()
                except OSError:
                    data = None
                yield Found(set_id, index, path, "", data)

    def paths(self) -> Iterator[str]:
        """Yield every image and text."""
        for folder in self.folders():
            yield from (self.path(folder, index) for index in self.indices())
        yield from (path for path, _ in self.texts({}))


class SeverityFolders(FolderLayout):
    """``<top>/<corruption>/<severity>/<class folder>/...``: nothing but class folders beside each other.

    Loaders number classes by listing the folders, so every class must be there, and folders must sort by index.
    """

    def __init__(self, view: str, subject: Subject, options: ViewOptions, top: str, indices: Sequence[int] | None = None) -> None:
        super().__init__(subject, top)
        self._indices = range(len(subject.samples)) if indices is None else indices
        self._grid, left = grid(view, subject, options)
        self.notes += left
        self._check_classes(view, options)

    def indices(self) -> Sequence[int]:
        """Return the samples that are in the view."""
        return self._indices

    def folders(self) -> Mapping[str, str]:
        """Return folder -> set id, corruption by corruption."""
        return {f"{self.top}/{name}/{s}": set_id for name, ids in self._grid.items() for s, set_id in enumerate(ids, 1)}

    def _check_classes(self, view: str, options: ViewOptions) -> None:
        classes = self.subject.classes
        there = {self.subject.samples[i].label for i in self._indices}
        missing = [c.folder for c in classes if c.index not in there]
        if missing and not options.allow_missing_classes:
            raise BuildError(
                f"The view {view} needs an image of every class, because its loaders number classes by listing the folders. "
                f"{len(missing)} of {len(classes)} classes have none:\n{listed(missing, 10)}\n"
                "Build from samples of every class (--samples spreads evenly), or export with --allow-missing-classes: "
                "the labels that loaders find by listing will then differ from the manifest's."
            )
        if missing:
            self.notes.append(
                f"{len(missing)} of {len(classes)} classes have no folder: labels found by listing folders differ from the manifest's."
            )
        samples = self.subject.samples
        self.notes += numbering_notes((self.path("", i).removeprefix("/"), samples[i].label) for i in self._indices)


def lines(rows: Iterable[str]) -> bytes:
    """Return rows as the lines of a text file."""
    return "".join(f"{row}\n" for row in rows).encode()
