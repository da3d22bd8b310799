"""Where images go: one protocol for image files, HDF5 shards and arrays; and about how many bytes an image takes there."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ...corruptions.registry import Images
from ..pixels.encoding import Encoding
from ..sources.source import Sample

json_text = json.JSONEncoder(ensure_ascii=False).encode  # json.dumps would make an encoder for every call
JPEG_BYTES = 0.30
"""Bytes a pixel, quality 85."""
PNG_BYTES = 2.2
"""Bytes a pixel, three channels."""
FILE_BYTES = 2048
"""Half a block of the file system and a directory entry, for each file."""


@dataclass(frozen=True)
class Run:
    """Consecutive samples: ``first`` up to, not including, ``stop``."""

    number: int
    first: int
    stop: int

    @property
    def count(self) -> int:
        """How many samples."""
        return self.stop - self.first


@dataclass(frozen=True)
class EncodedImage:
    """An image as the bytes of a file."""

    data: bytes
    sha256: str


class SetSink(Protocol):
    """Takes the images of one set x one run."""

    records: list[str]
    """The JSON of each image's file record, by position in the run; complete after `finish`."""
    bytes: int
    """Of the images, as they are stored."""

    @property
    def rows(self) -> NDArray[np.uint8] | None:
        """All images of the run, (N, H, W, C), where the sink keeps pixels until `finish`."""

    def put(self, positions: Sequence[int], images: Images, encoded: Sequence[EncodedImage]) -> None:
        """Take images by their positions in the run; `encoded` is empty where no sink encodes."""

    def finish(self, pixel_hashes: Sequence[str]) -> Mapping[str, Any] | None:
        """Write what is written once per run and free the images; return path, bytes and sha256 of a shard."""


class Sink(ABC):
    """Where the images of a build go. It is sent to workers, so it holds no open file."""

    container: str
    """What a manifest's ``containers`` calls it."""
    encodes: bool
    """Whether images are encoded for it."""
    own_names = False
    """Whether images keep the names that they have in their source, which say their formats."""
    single_files = False
    """Whether each image is a file of its own."""
    equal_shapes: str | None = None
    """What in it needs images of one shape; None where every shape fits."""
    notes: Sequence[str] = ()
    """What a user should know of where the images go."""

    @abstractmethod
    def stored_bytes(self, size: tuple[int, int]) -> int:
        """Return the estimated bytes of one stored image of (width, height)."""

    def held_bytes(self, size: tuple[int, int]) -> int:
        """Return the estimated bytes that one image takes in memory until its part is written."""
        return self.stored_bytes(size)

    def set_paths(self, sets: Iterable[str]) -> Mapping[str, Sequence[str]]:
        """Return set id -> the folder or the arrays of its images; a shard is in neither."""
        return {}

    @abstractmethod
    def open_set(self, directory: Path, set_id: str, run: Run, samples: Sequence[Sample]) -> SetSink:
        """Open one set x one run; `samples` are those of the run."""

    def shard(self, set_id: str, run: Run) -> str | None:
        """Return the file of one set x one run, if there is one."""
        return None

    def span(self, path: str, sets: Sequence[str], indices: Set[int]) -> tuple[Sequence[str], Set[int] | None]:
        """Return the sets and samples (None is all) whose images a file has, given some that it has."""
        return sets, indices

    def shared_files(self) -> Sequence[str]:
        """Return the files that several parts write to."""
        return ()

    def texts(self, sha256s: Mapping[str, str]) -> Iterator[tuple[str, bytes]]:
        """Yield path and bytes of what stands beside the images; `sha256s` are those of the shared files."""
        yield from ()

    def view_record(self) -> dict[str, Any] | None:
        """Return what a manifest says of the view that the images are laid out as, without its sets."""
        return None


def file_record(path: str, row: int | None, size: int, sha256: str) -> str:
    """Return the JSON of a file record; `path` is JSON already."""
    return f'{{"path": {path}, "row": {"null" if row is None else row}, "bytes": {size}, "sha256": "{sha256}"}}'


def row_records(path: str, numbers: Sequence[int], rows: NDArray[np.uint8]) -> list[str]:
    """Return the records of images that are rows of an array; `numbers` says which. A record costs little more than its hash."""
    size = rows[0].nbytes
    view = rows.reshape(-1).data
    start, end = f'{{"path": {json_text(path)}, "row": ', f', "bytes": {size}, "sha256": "sha256:'
    return [f'{start}{n}{end}{sha256(view[k * size : (k + 1) * size]).hexdigest()}"}}' for k, n in enumerate(numbers)]


def set_paths(sinks: Iterable[Sink], sets: Sequence[str]) -> dict[str, Sequence[str]]:
    """Return set id -> the folders or arrays of its images in all sinks."""
    paths: dict[str, Sequence[str]] = {set_id: [] for set_id in sets}
    for sink in sinks:
        paths |= sink.set_paths(sets)
    return paths


def stored_bytes(encoding: Encoding, size: tuple[int, int], container: str = "folder") -> int:
    """Return the estimated bytes of one stored image of (width, height)."""
    pixels = size[0] * size[1]
    if encoding.format == "png":
        return 3 * pixels if container == "hdf5" else round(PNG_BYTES * pixels) + FILE_BYTES
    # Bytes a pixel grow steeply with quality: 30 at q85, about 9 at q30, about 100 at q100.
    one = round(JPEG_BYTES * pixels * 2 ** ((encoding.quality - 85) / (8.5 if encoding.quality > 85 else 30)))
    return one + 700 + (FILE_BYTES if container == "folder" else 0)
