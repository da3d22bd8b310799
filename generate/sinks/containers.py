"""The containers of the images of a build: folders of image files and HDF5 shards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from ...manifests.images.image_formats import preserved_path
from ...manifests.paths import image_folder
from ...manifests.records.fields import Storage
from ...manifests.records.models import ClassRecord
from ..pixels.encoding import Encoding
from ..sources.source import Sample, stored_path
from .sink import stored_bytes

SinkKind = Literal["files", "shards"]
RECORD_BYTES = 1024
"""The bytes in memory of an image that is written immediately, so that only its records are kept."""


@dataclass(frozen=True)
class Sink:
    """One container of a build. It is sent to workers, so it holds no open file."""

    kind: SinkKind
    """``files`` stores ``images/<set id>/<class>/<image>``, or ``images/<set id>/<path in the source>`` for sources
    without classes. ``shards`` stores HDF5 files.
    """
    encoding: Encoding
    class_folders: tuple[str, ...]
    title: str
    """``<name> <version>`` of the build, an attribute of every shard."""

    @property
    def container(self) -> str:
        """The name of the container in a manifest."""
        return "folder" if self.kind == "files" else "hdf5"

    @property
    def encodes(self) -> bool:
        """Whether images are encoded before they are stored."""
        return self.kind == "files" or not self.encoding.lossless

    @property
    def source_names(self) -> bool:
        """Whether image files keep the names that they have in the source, whose suffixes determine their formats."""
        return self.kind == "files" and not self.class_folders

    def stored_bytes(self, size: tuple[int, int]) -> int:
        """Return the estimated bytes of one stored image of (width, height)."""
        return stored_bytes(self.encoding, size, self.container)

    def held_bytes(self, size: tuple[int, int]) -> int:
        """Return the estimated bytes that one image takes in memory until its part is written."""
        return RECORD_BYTES if self.kind == "files" else self.stored_bytes(size)

    def image_path(self, set_id: str, sample: Sample) -> str:
        """Return the path of an image file, relative to the dataset."""
        if self.source_names:
            return f"{image_folder(set_id)}/{preserved_path(sample.path, sample.id, self.encoding.format)}"
        stem = stored_path(sample.id, self.class_folders[sample.class_index])
        return f"{image_folder(set_id)}/{stem}.{self.encoding.suffix}"


_KINDS: Mapping[Storage, Sequence[SinkKind]] = {"folder": ["files"], "hdf5": ["shards"], "both": ["files", "shards"]}


def make_sinks(storage: Storage, *, encoding: Encoding, classes: Sequence[ClassRecord], title: str) -> tuple[Sink, ...]:
    """Return the containers of a storage."""
    return tuple(Sink(kind, encoding, tuple(c.folder for c in classes), title) for kind in _KINDS[storage])
