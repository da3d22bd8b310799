"""Image folders: ``images/<set id>/<class>/<sample id>.<JPEG|png>``, for single corruptions the ImageNet-C layout."""

from __future__ import annotations

import os
from pathlib import Path

from ...manifests.layout import image_folder
from ..sources.source import stored_path

_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_BINARY", 0)


class FolderSink:
    """Writes encoded images as files.

    Single images are not fsynced and not renamed into place: a killed build writes its part's files again, and only a
    committed part counts.
    """

    def __init__(self, directory: Path, suffix: str) -> None:
        self._root = f"{os.fspath(directory)}/"
        self._suffix = suffix
        self._made: set[str] = set()

    def path(self, set_id: str, class_folder: str, sample_id: str) -> str:
        """Return where an image goes, relative to the data set."""
        return f"{image_folder(set_id)}/{stored_path(sample_id, class_folder)}.{self._suffix}"

    def write(self, path: str, data: bytes) -> None:
        """Write one image."""
        folder = path.rpartition("/")[0]
        if folder not in self._made:
            os.makedirs(self._root + folder, exist_ok=True)
            self._made.add(folder)
        # Three system calls an image; a file object asks for its size and place as well.
        target = self._root + path
        fd = os.open(target, _FLAGS, 0o666)
        try:
            left = memoryview(data)
            while left:
                left = left[os.write(fd, left) :]
        except OSError as e:  # of a write, Python names no file
            raise OSError(e.errno, e.strerror, target) from e
        finally:
            os.close(fd)
