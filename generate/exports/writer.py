"""The writer of exports: image files, arrays, archives and text files."""

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
from ...manifests.images.image_formats import decode, format_of_suffix, png_bytes, stored_format
from ...manifests.reader import Dataset
from ...manifests.reading.image_set import ImageSet
from ...manifests.records.digests import sha256_bytes
from ...manifests.records.fields import safe_path
from ...manifests.records.models import FileRecord, StoredRecord
from ...manifests.records.report import ProgressCallback
from ..pixels.encoding import PngEncoding
from .export_record import FolderRecord, folder_record
from .placement import Placement, SetSlice
from .texts import members, texts

BLOCK = 512
"""The number of array rows that are written at once."""


class Writer:
    """A writer of the files of an export. It writes them below a folder, and records their hashes."""

    def __init__(self, root: Path) -> None:
        self.files: list[FileRecord] = []
        self.folders: list[FolderRecord] = []
        self.bytes = self.linked = 0
        self._root = root
        self._made: set[str] = set()
        """The folders that this writer has created."""

    def write(self, placement: Placement, data: Dataset, progress: ProgressCallback) -> None:
        """Write all files of an export."""
        total, done = sum(len(images.samples) for images in placement.slices), 0

        def count(images: SetSlice) -> None:
            nonlocal done
            done += len(images.samples)
            progress("images", done, total)

        for path, slices in placement.slices_at.items():
            if placement.layout.container == "arrays":
                self._file(path, _array(slices, data, count))
            elif placement.layout.container == "tars":
                self._file(path, tar_pieces(_members(placement, slices, data, count)))
            else:
                rows = []
                for images in slices:
                    stored = data[images.set_id]  # reused for all images, so that the rows are read only once
                    rows += [self._image(placement.path(images, i), stored, i) for i in images.samples]
                    count(images)
                self.folders.append(folder_record(path, rows))
        for path, text in texts(placement, {f.path: f.sha256 for f in self.files}):
            self._file(path, [text])
        if placement.layout.container == "arrays" and placement.contents.format == "jpeg":
            placement.notes.append(
                "The dataset stores JPEG. The arrays contain the decoded images, so their digests differ from those in "
                "the manifest."
            )

    def _image(self, path: str, images: ImageSet, index: int) -> tuple[str, str, int]:
        """Link, copy or encode an image file, and return its path, its SHA-256 and its size in bytes."""
        target = self._target(path)
        record, stored = images.stored(index, prefer="folder")
        stored = _convert_to_name(path, record, stored, images)
        self.bytes += record.bytes
        if isinstance(stored, Path):
            self.linked += link_or_copy(stored, target)
            return path, record.sha256, record.bytes
        data = _encode(stored)
        target.write_bytes(data)
        return path, sha256_bytes(data), len(data)

    def _file(self, path: str, pieces: Iterable[Any]) -> None:
        size, sha256 = write_large(self._target(path), pieces)
        self.bytes += size
        self.files.append(FileRecord(path=path, bytes=size, sha256=sha256))

    def _target(self, path: str) -> Path:
        """Create the folder of a file if necessary, and return the full path of the file."""
        _refuse_outside(path)
        folder = path.rpartition("/")[0]
        if folder not in self._made:
            os.makedirs(self._root / folder, exist_ok=True)
            self._made.add(folder)
        return self._root / path


def _refuse_outside(path: str) -> None:
    """Raise `BuildError` if a path leads out of the export. A manipulated manifest could contain such a path."""
    try:
        safe_path(path)
    except ValueError as e:
        raise BuildError(
            f"The records of the dataset name a file outside the export: {e}. Nothing was written. Do not use this "
            "dataset."
        ) from None


def _array(slices: Sequence[SetSlice], data: Dataset, count: Callable[[SetSlice], None]) -> Iterator[Any]:
    """Yield the pieces of a .npy file (format version 1.0) with a uint8 array of images."""
    shape = data[slices[0].set_id].single(0).shape  # only the first set, because the others are opened below
    yield npy_header((sum(len(images.samples) for images in slices), *shape), np.uint8)
    for images in slices:
        stored = data[images.set_id]
        pixels = stored.images() if len(images.samples) == len(stored) else map(stored.image, images.samples)
        while block := list(islice(pixels, BLOCK)):
            for other in (image.shape for image in block if image.shape != shape):
                raise BuildError(
                    f"Images of set {images.set_id} have the shapes {shape} and {other}, which do not fit into one "
                    "array. Choose a layout of image files, or build with a preprocessing that makes the sizes equal."
                )
            yield np.stack(block)
        count(images)


def _members(
    placement: Placement, slices: Sequence[SetSlice], data: Dataset, count: Callable[[SetSlice], None]
) -> Iterator[tuple[str, bytes]]:
    for images in slices:
        stored = data[images.set_id]
        for index in images.samples:
            for name, content in members(placement, images, index):
                yield (
                    name,
                    _encode(_convert_to_name(name, *stored.stored(index, prefer="folder"), stored))
                    if content is None
                    else content,
                )
        count(images)


def _convert_to_name(
    name: str, record: StoredRecord, stored: Path | NDArray[np.uint8], images: ImageSet
) -> Path | NDArray[np.uint8]:
    """Return a stored image, decoded into pixels if it is a JPEG whose new name ends in .png."""
    form = stored_format(record.path, images.encoding)
    if format_of_suffix(name) != "png" or form == "png":
        return stored
    return decode(stored.read_bytes() if isinstance(stored, Path) else stored.data, form)


def tar_pieces(files: Iterable[tuple[str, bytes]]) -> Iterator[bytes]:
    """Yield the pieces of a tar archive, with fixed times, owners and modes. `files` has names and contents."""
    written = 0
    for name, data in files:
        _refuse_outside(name)
        info = tarfile.TarInfo(name)
        info.size, info.mode = len(data), 0o644
        # TarFile.addfile writes the same bytes, but it copies the data, which would take half the time of an export.
        piece = info.tobuf(tarfile.GNU_FORMAT) + data + bytes(-len(data) % tarfile.BLOCKSIZE)
        written += len(piece)
        yield piece
    end = 2 * tarfile.BLOCKSIZE
    yield bytes(end + -(written + end) % tarfile.RECORDSIZE)


def _encode(stored: Path | NDArray[np.uint8]) -> bytes:
    """Return the contents of an image file: the bytes of the stored file, or the pixels encoded as a PNG."""
    if isinstance(stored, Path):
        return stored.read_bytes()
    if stored.ndim == 1:
        return bytes(stored.data)
    # The light installation lacks OpenCV, so it encodes with Pillow. The pixels are the same, but the bytes differ.
    return PngEncoding().encode(stored) if find_spec("cv2") is not None else png_bytes(stored)


@contextmanager
def finished_at_once(target: Path) -> Iterator[Path]:
    """Yield a temporary folder that is renamed to `target` if the block succeeds.

    If the process is killed, the temporary folder (``.<name>.<random>.part``) remains, and nothing is at `target`.

    Raises
    ------
    BuildError
        `target` exists and is not an empty folder.
    """
    target = Path(os.path.abspath(target))
    if target.is_symlink() or (target.exists() and not target.is_dir()):
        raise BuildError(f"{target} exists and is not a folder. Choose another --out.")
    if target.is_dir() and (names := sorted(os.listdir(target))):
        raise BuildError(
            f"{target} is not empty ({first_few(names)}), and an export needs an empty folder. Choose another --out."
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
