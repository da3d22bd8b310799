"""Where the images of a build go: image files, arrays and HDF5 shards."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from ...manifests.paths import image_folder
from ...manifests.records.fields import Storage
from ...manifests.records.models import ClassRecord
from ..exports.placement import View
from ..exports.texts import texts
from ..pixels.encoding import Encoding
from ..sources.source import Sample, stored_path
from .sink import stored_bytes

Kind = Literal["files", "arrays", "shards"]
RECORD_BYTES = 1024
"""Of an image that is written at once, only its records stay in memory."""


@dataclass(frozen=True)
class Sink:
    """Where images go. It is sent to workers, so it holds no open file."""

    kind: Kind
    """``files``: ``images/<set id>/<class>/<image>``, for single corruptions the ImageNet-C layout, or a view's own
    paths.
    """
    encoding: Encoding
    class_folders: tuple[str, ...]
    title: str
    """``<name> <version>`` of the build, an attribute of every shard."""
    view: View | None = None

    @property
    def container(self) -> str:
        """What a manifest's ``containers`` calls it."""
        return "view" if self.view is not None else "folder" if self.kind == "files" else "hdf5"

    @property
    def encodes(self) -> bool:
        """Whether images are encoded for it."""
        return self.kind == "files" or (self.kind == "shards" and not self.encoding.lossless)

    @property
    def own_names(self) -> bool:
        """Whether images keep the names that they have in their source, which say their formats."""
        return self.view is not None and self.view.layout.own_names

    @property
    def equal_shapes(self) -> str | None:
        """What in it needs images of one shape; None where every shape fits."""
        return None if self.encodes else "arrays" if self.kind == "arrays" else "HDF5 arrays"

    @property
    def notes(self) -> Sequence[str]:
        """What a user should know of where the images go."""
        return () if self.view is None else self.view.notes

    def stored_bytes(self, size: tuple[int, int]) -> int:
        """Return the estimated bytes of one stored image of (width, height)."""
        return stored_bytes(self.encoding, size, "folder" if self.kind == "files" else "hdf5")

    def held_bytes(self, size: tuple[int, int]) -> int:
        """Return the estimated bytes that one image takes in memory until its part is written."""
        return RECORD_BYTES if self.kind == "files" else self.stored_bytes(size)

    def set_paths(self, sets: Iterable[str]) -> Mapping[str, Sequence[str]]:
        """Return set id -> the folder or arrays of its images, shards aside."""
        if self.view is not None:
            return self.view.set_paths
        return {set_id: [image_folder(set_id)] for set_id in sets} if self.kind == "files" else {}

    def image_path(self, set_id: str, index: int, sample: Sample) -> str:
        """Return where an image file goes, relative to the data set."""
        if self.view is not None:
            return self.view.path(self.view.slices_of[set_id][0], index)
        stem = stored_path(sample.id, self.class_folders[sample.class_index])
        return f"{image_folder(set_id)}/{stem}.{self.encoding.suffix}"

    def shared_files(self) -> Sequence[str]:
        """Return the files that several parts write to."""
        return () if self.view is None else list(self.view.array_rows)

    def texts(self, sha256s: Mapping[str, str]) -> Iterator[tuple[str, bytes]]:
        """Yield path and bytes of the texts beside images; `sha256s` are those of shared files."""
        return iter(()) if self.view is None else texts(self.view, sha256s)

    def view_record(self) -> dict[str, Any] | None:
        """Return what a manifest says of the view of the images, without its sets."""
        return None if self.view is None else self.view.record


_KINDS: Mapping[Storage | None, Sequence[Kind]] = {"folder": ["files"], "hdf5": ["shards"], "both": ["files", "shards"]}


def make_sinks(
    storage: Storage | None, view: View | None, *, encoding: Encoding, classes: Sequence[ClassRecord], title: str
) -> tuple[Sink, ...]:
    """Return where images go: into a view, if there is one, else into containers."""
    kinds: Sequence[Kind] = ["arrays" if view.array_rows else "files"] if view is not None else _KINDS[storage]
    return tuple(Sink(kind, encoding, tuple(c.folder for c in classes), title, view) for kind in kinds)


def set_paths(sinks: Iterable[Sink], sets: Sequence[str]) -> dict[str, Sequence[str]]:
    """Return set id -> the folders or arrays of its images in all sinks."""
    paths: dict[str, Sequence[str]] = {set_id: [] for set_id in sets}
    for sink in sinks:
        paths |= sink.set_paths(sets)
    return paths


def containers_of(sinks: Sequence[Sink]) -> tuple[str, ...]:
    """Return the ``containers`` of a manifest."""
    return tuple(sink.container for sink in sinks)


def storage_of(containers: Sequence[str]) -> Storage | None:
    """Return the storage that a manifest's ``containers`` describe, or None for a view."""
    known: dict[tuple[str, ...], Storage] = {("folder",): "folder", ("hdf5",): "hdf5", ("folder", "hdf5"): "both"}
    return known.get(tuple(containers))
