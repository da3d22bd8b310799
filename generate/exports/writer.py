"""What writes a view: its files, arrays, archives and texts."""

from __future__ import annotations

import os
import secrets
import shutil
import tarfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import BuildError, first_few
from ...manifests.disk.atomic import fsync_folder, link_or_copy, name_target, write_large
from ...manifests.images.arrays import npy_header
from ...manifests.images.pictures import decode, named_format, png_bytes, stored_format
from ...manifests.reader import DataSet
from ...manifests.reading.image_set import ImageSet
from ...manifests.records.digests import sha256_bytes
from ...manifests.records.fields import safe_path
from ...manifests.records.models import FileRecord, StoredRecord
from ...manifests.records.report import Progress
from ..pixels.encoding import PngEncoding
from .export_check import FolderRecord, folder_record
from .placement import SetSlice, View
from .texts import members, texts

BLOCK = 512
"""Images of an array that are written at once."""


class Writer:
    """The files of a view that were written below a folder, and their hashes."""

    def __init__(self, root: Path) -> None:
        self.files: list[FileRecord] = []
        self.folders: list[FolderRecord] = []
        self.bytes = self.linked = 0
        self._root = root
        self._made: set[str] = set()
        """Folders that are there."""

    def view(self, view: View, data: DataSet, progress: Progress) -> None:
        """Write every file of a view of a data set."""
        total, done = sum(len(images.samples) for images in view.slices), 0

        def count(images: SetSlice) -> None:
            nonlocal done
            done += len(images.samples)
            progress("images", done, total)

        for path, slices in view.slices_at.items():
            if view.layout.container == "arrays":
                self._file(path, _array(slices, data, count))
            elif view.layout.container == "tars":
                self._file(path, tar_pieces(_members(view, slices, data, count)))
            else:
                rows = []
                for images in slices:
                    stored = data[images.set_id]  # it reads its rows once
                    rows += [self._image(view.path(images, i), stored, i) for i in images.samples]
                    count(images)
                self.folders.append(folder_record(path, rows))
        for path, text in texts(view, {f.path: f.sha256 for f in self.files}):
            self._file(path, [text])
        if view.array_rows and view.contents.format == "jpeg":
            view.notes.append(
                "The build stores JPEG: the arrays hold its images as decoded, so their digests are not the manifest's."
            )

    def _image(self, path: str, images: ImageSet, index: int) -> tuple[str, str, int]:
        """Link or copy the build's file of an image; return (path, sha256, bytes)."""
        target = self._target(path)
        record, stored = images.stored(index, prefer="folder")
        stored = _as_named(path, record, stored, images)
        self.bytes += record.bytes
        if isinstance(stored, Path):
            self.linked += link_or_copy(stored, target)
            return path, record.sha256, record.bytes
        data = _encoded(stored)
        target.write_bytes(data)
        return path, sha256_bytes(data), len(data)

    def _file(self, path: str, pieces: Iterable[Any]) -> None:
        size, sha256 = write_large(self._target(path), pieces)
        self.bytes += size
        self.files.append(FileRecord(path=path, bytes=size, sha256=sha256))

    def _target(self, path: str) -> Path:
        """Return where a file goes, after making its folder."""
        _refuse_outside(path)
        folder = path.rpartition("/")[0]
        if folder not in self._made:
            os.makedirs(self._root / folder, exist_ok=True)
            self._made.add(folder)
        return self._root / path


def _refuse_outside(path: str) -> None:
    """Raise `BuildError` if a path, from anybody's manifest, leads out of the view."""
    try:
        safe_path(path)
    except ValueError as e:
        raise BuildError(
            f"The data set's records would make a file outside the view: {e}. Nothing was kept of it; do not trust it."
        ) from None


def _array(slices: Sequence[SetSlice], data: DataSet, count: Callable[[SetSlice], None]) -> Iterator[Any]:
    """Yield an array of uint8 (.npy, version 1.0), block by block."""
    shape = data[slices[0].set_id].single(0).shape  # its other rows are read once, below
    yield npy_header((sum(len(images.samples) for images in slices), *shape), np.uint8)
    for images in slices:
        stored = data[images.set_id]
        pixels = stored.images() if len(images.samples) == len(stored) else map(stored.image, images.samples)
        while block := list(islice(pixels, BLOCK)):
            for other in (image.shape for image in block if image.shape != shape):
                raise BuildError(
                    f"Images of set {images.set_id} have the shapes {shape} and {other}, which do not fit into one "
                    "array. Choose a view of image files, or build with a preprocessing that makes all images equal."
                )
            yield np.stack(block)
        count(images)


def _members(
    view: View, slices: Sequence[SetSlice], data: DataSet, count: Callable[[SetSlice], None]
) -> Iterator[tuple[str, bytes]]:
    for images in slices:
        stored = data[images.set_id]
        for index in images.samples:
            for name, content in members(view, images, index):
                yield (
                    name,
                    _encoded(_as_named(name, *stored.stored(index, prefer="folder"), stored))
                    if content is None
                    else content,
                )
        count(images)


def _as_named(
    name: str, record: StoredRecord, stored: Path | NDArray[np.uint8], images: ImageSet
) -> Path | NDArray[np.uint8]:
    """Return a stored image; the pixels of a stored JPEG whose new name ends in .png."""
    form = stored_format(record.path, images.encoding)
    if named_format(name) != "png" or form == "png":
        return stored
    return decode(stored.read_bytes() if isinstance(stored, Path) else stored.data, form)


def tar_pieces(files: Iterable[tuple[str, bytes]]) -> Iterator[bytes]:
    """Yield a tar of names and bytes alone, without times, owners or modes."""
    written = 0
    for name, data in files:
        _refuse_outside(name)
        info = tarfile.TarInfo(name)
        info.size, info.mode = len(data), 0o644
        # what TarFile.addfile writes, without its copies: half the time of a large export
        piece = info.tobuf(tarfile.GNU_FORMAT) + data + bytes(-len(data) % tarfile.BLOCKSIZE)
        written += len(piece)
        yield piece
    end = 2 * tarfile.BLOCKSIZE
    yield bytes(end + -(written + end) % tarfile.RECORDSIZE)


def _encoded(stored: Path | NDArray[np.uint8]) -> bytes:
    """Return an image as a file's bytes: the stored ones, or a PNG of pixels."""
    if isinstance(stored, Path):
        return stored.read_bytes()
    if stored.ndim == 1:
        return bytes(stored.data)
    # an installation that only evaluates: the same pixels in a few bytes more or less
    return PngEncoding().encode(stored) if find_spec("cv2") is not None else png_bytes(stored)


@contextmanager
def finished_at_once(target: Path) -> Iterator[Path]:
    """Yield a temporary folder that takes the place of `target` if all goes well.

    A killed process leaves the temporary folder (``.<name>.<random>.part``) and nothing at `target`.

    Raises
    ------
    BuildError
        `target` is there and is not an empty folder.
    """
    target = Path(os.path.abspath(target))
    if target.is_symlink() or (target.exists() and not target.is_dir()):
        raise BuildError(f"{target} is there and is not a folder. Choose another --out.")
    if target.is_dir() and (names := sorted(os.listdir(target))):
        raise BuildError(
            f"{target} is not empty ({first_few(names)}): an export goes into a folder of its own. Choose another "
            "--out."
        )
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_name(f".{target.name}.{secrets.token_hex(6)}.part")
    part.mkdir()
    try:
        yield part
        os.rename(part, target)
    except BaseException as e:
        shutil.rmtree(part, ignore_errors=True)
        name_target(e, part, target)
        raise
    fsync_folder(target.parent)
