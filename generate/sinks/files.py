"""Image files: ``images/<set id>/<class>/<sample id>.<JPEG|png>``, for single corruptions the ImageNet-C layout; or a view's own paths."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cached_property

from ...corruptions.registry import Images
from .sink import EncodedImage, SetSink, file_record, json_text

_FLAGS = os.O_WRONLY | os.O_CREAT | getattr(os, "O_BINARY", 0)


class FileSet(SetSink):
    """Single images are neither fsynced nor renamed into place: only a committed part counts, and a killed build writes its part again."""

    @cached_property
    def _made(self) -> set[str]:
        """The folders that are there."""
        return set()

    def put(self, positions: Sequence[int], images: Images, encoded: Sequence[EncodedImage]) -> None:
        """Write each image."""
        for position, image in zip(positions, encoded, strict=True):
            path = self.sink.image_path(self.set_id, self.run.first + position, self.samples[position])
            folder = path.rpartition("/")[0]
            if folder not in self._made:
                os.makedirs(self.directory / folder, exist_ok=True)
                self._made.add(folder)
            write_file(f"{os.fspath(self.directory)}/{path}", image.data)
            self.records[position] = file_record(json_text(path), None, len(image.data), image.sha256)
            self.bytes += len(image.data)


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
