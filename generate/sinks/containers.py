"""The containers in which a build stores its images: folders of image files, and HDF5 shards."""

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
"""The memory, in bytes, for the records of an image that is written immediately and then discarded."""


@dataclass(frozen=True)
class Sink:
    """One container of a build. Sinks are sent to workers, so they hold no open files."""

    kind: SinkKind
    """``files`` for image files, or ``shards`` for HDF5 shards. Image files have the paths
    ``images/<set id>/<class>/<image>``, or ``images/<set id>/<path in the source>`` if the source has no classes.
    """
    encoding: Encoding
    class_folders: tuple[str, ...]
    """The folder of each class, in the order of the labels. It is empty for sources without classes."""
    title: str
    """The name and version of the dataset, ``<name> <version>``. Every shard has it as an attribute."""

    @property
    def container(self) -> str:
        """The name of the container in the manifest, ``folder`` or ``hdf5``."""
        return "folder" if self.kind == "files" else "hdf5"

    @property
    def encodes(self) -> bool:
        """Whether images are encoded before they are stored."""
        return self.kind == "files" or not self.encoding.lossless

    @property
    def source_names(self) -> bool:
        """Whether image files keep their names from the source. The suffixes of these names determine the formats."""
        return self.kind == "files" and not self.class_folders

    def stored_bytes(self, size: tuple[int, int]) -> int:
        """Return the estimated size, in bytes, of one stored image. `size` is its (width, height)."""
        return stored_bytes(self.encoding, size, self.container)

    def held_bytes(self, size: tuple[int, int]) -> int:
        """Return the estimated memory, in bytes, that an image of (width, height) takes until its part is written."""
        return RECORD_BYTES if self.kind == "files" else self.stored_bytes(size)

    def image_path(self, set_id: str, sample: Sample) -> str:
        """Return the path of an image file relative to the dataset."""
        if self.source_names:
            return f"{image_folder(set_id)}/{preserved_path(sample.path, sample.id, self.encoding.format)}"
        stem = stored_path(sample.id, self.class_folders[sample.class_index])
        return f"{image_folder(set_id)}/{stem}.{self.encoding.suffix}"


_KINDS: Mapping[Storage, Sequence[SinkKind]] = {"folder": ["files"], "hdf5": ["shards"], "both": ["files", "shards"]}


def make_sinks(storage: Storage, *, encoding: Encoding, classes: Sequence[ClassRecord], title: str) -> tuple[Sink, ...]:
    """Return the containers for a storage option: ``folder``, ``hdf5`` or ``both``."""
    return tuple(Sink(kind, encoding, tuple(c.folder for c in classes), title) for kind in _KINDS[storage])
