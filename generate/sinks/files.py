"""Image files: ``images/<set id>/<class>/<sample id>.<JPEG|png>``, for single corruptions the ImageNet-C layout; or a view's own paths."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ...corruptions.registry import Images
from ...manifests.layout import image_folder
from ..pixels.encoding import Encoding
from ..sources.source import Sample, stored_path
from ..views.view import View, view_record
from .sink import EncodedImage, Run, SetSink, Sink, file_record, json_text, stored_bytes

RECORD_BYTES = 1024
"""Of an image that is written at once, only its records stay in memory."""
_FLAGS = os.O_WRONLY | os.O_CREAT | getattr(os, "O_BINARY", 0)


@dataclass(frozen=True)
class FileSink(Sink):
    """Every image is a file of its own: in the usual place, or where a view wants it."""

    encoding: Encoding
    class_folders: tuple[str, ...]
    view: View | None = None
    """Of ``build --view``."""
    encodes = True
    single_files = True

    @property
    def container(self) -> str:  # type: ignore[override]
        """``folder`` or ``view``."""
        return "folder" if self.view is None else "view"

    @property
    def own_names(self) -> bool:  # type: ignore[override]
        return self.view is not None and self.view.layout.own_names

    @property
    def notes(self) -> Sequence[str]:  # type: ignore[override]
        return () if self.view is None else self.view.notes

    def stored_bytes(self, size: tuple[int, int]) -> int:
        return stored_bytes(self.encoding, size, "folder")

    def held_bytes(self, size: tuple[int, int]) -> int:
        return RECORD_BYTES

    def set_paths(self, sets: Iterable[str]) -> Mapping[str, Sequence[str]]:
        return {s: [image_folder(s)] for s in sets} if self.view is None else self.view.set_paths()

    def image_path(self, set_id: str, index: int, sample: Sample) -> str:
        """Return where an image goes, relative to the data set."""
        if self.view is not None:
            return self.view.location(set_id, index)[0]
        return f"{image_folder(set_id)}/{stored_path(sample.id, self.class_folders[sample.class_index])}.{self.encoding.suffix}"

    def open_set(self, directory: Path, set_id: str, run: Run, samples: Sequence[Sample]) -> SetSink:
        return _FileSet(self, directory, set_id, run, samples)

    def texts(self, sha256s: Mapping[str, str]) -> Iterator[tuple[str, bytes]]:
        return iter(()) if self.view is None else self.view.texts(sha256s)

    def view_record(self) -> dict[str, Any] | None:
        return None if self.view is None else view_record(self.view)


@dataclass
class _FileSet:
    """Single images are neither fsynced nor renamed into place: only a committed part counts, and a killed build writes its part again."""

    sink: FileSink
    directory: Path
    set_id: str
    run: Run
    samples: Sequence[Sample]
    bytes: int = 0
    rows: None = None
    records: list[str] = field(init=False)
    _folders: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.records = [""] * self.run.count

    def put(self, positions: Sequence[int], images: Images, encoded: Sequence[EncodedImage]) -> None:
        """Write each image."""
        for position, image in zip(positions, encoded, strict=True):
            path = self.sink.image_path(self.set_id, self.run.first + position, self.samples[position])
            folder = path.rpartition("/")[0]
            if folder not in self._folders:
                os.makedirs(self.directory / folder, exist_ok=True)
                self._folders.add(folder)
            write_file(f"{os.fspath(self.directory)}/{path}", image.data)
            self.records[position] = file_record(json_text(path), None, len(image.data), image.sha256)
            self.bytes += len(image.data)

    def finish(self, pixel_hashes: Sequence[str]) -> None:
        """Nothing is left to write."""


def write_file(path: str, data: bytes) -> None:
    """Write one image in a few system calls.

    What is there is not emptied first: where two workers make one part, as after one was thought dead, no reader ever sees half an image.
    """
    fd = os.open(path, _FLAGS, 0o666)
    try:
        if os.fstat(fd).st_size > len(data):
            os.ftruncate(fd, len(data))
        remaining = memoryview(data)
        while remaining:
            remaining = remaining[os.write(fd, remaining) :]
    except OSError as e:  # of a write, Python names no file
        raise OSError(e.errno, e.strerror, path) from e
    finally:
        os.close(fd)
