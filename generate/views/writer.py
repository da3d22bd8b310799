"""Writing a view: into a temporary folder beside, hashed on the way, in place in one step."""

from __future__ import annotations

import io
import os
import secrets
import shutil
import tarfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import PIL.Image
from numpy.typing import NDArray

from ...digests import digest_of
from ...errors import BuildError
from ...manifests.disk.atomic import LargeFile, fsync_folder, link_or_copy, name_target
from ...manifests.images.arrays import npy_header
from ...manifests.records.digests import sha256_bytes
from ...manifests.records.fields import safe_path
from ...manifests.records.models import FileRecord
from ...manifests.records.report import Progress
from ...manifests.verify.views import FolderRecord, folder_record
from ..pixels.encoding import PngEncoding
from .texts import beside

if TYPE_CHECKING:
    from ...manifests.reader import DataSet
    from ...manifests.reading.image_set import ImageSet
    from .view import SetSlice, View

BLOCK = 512
"""Images of an array that are written at once."""


class Writer:
    """Writes the files of a view below a folder and keeps their hashes."""

    def __init__(self, root: Path, progress: Progress, total: int) -> None:
        self.files: list[FileRecord] = []
        self.folders: list[FolderRecord] = []
        self.images = self.bytes = 0
        self.linked = 0
        """Images that are hard links to the build's files."""
        self._root, self._progress, self._total = root, progress, total
        self._made: set[str] = set()

    def view(self, view: View, data: DataSet) -> None:
        """Write every image and text of a view of a data set."""
        for path, slices in view.slices_at.items():
            if view.layout.container == "arrays":
                self._array(path, slices, data)
                continue
            for images in slices:
                stored = data[images.set_id]
                if view.layout.container == "tars":
                    members = (member for i in images.samples for member in _members(view, images, stored, i))
                    self.tar(path, members)
                else:
                    self.folders.append(folder_record(path, [self._image(view.path(images, i), stored, i) for i in images.samples]))
                self._count(images)
        for path, text in view.texts({f.path: f.sha256 for f in self.files}):
            with self._hashed(path) as out:
                out.write(text)
        if view.array_rows and view.subject.format == "jpeg":
            view.notes.append("The build stores JPEG: the arrays hold its images as decoded, so their digests are not the manifest's.")

    def _count(self, images: SetSlice) -> None:
        self.images += len(images.samples)
        self._progress("images", self.images, self._total)

    def _image(self, path: str, images: ImageSet, index: int) -> tuple[str, str, int]:
        """Write one image as a file, a hard link to the build's file where possible; return (path, sha256, bytes)."""
        target = self._target(path)
        record, stored = images.stored(index, prefer="folder")
        self.bytes += record.bytes
        if isinstance(stored, Path):
            self.linked += link_or_copy(stored, target)
            return path, record.sha256, record.bytes
        data = encoded(stored)
        target.write_bytes(data)
        return path, sha256_bytes(data), len(data)

    def _array(self, path: str, slices: Sequence[SetSlice], data: DataSet) -> None:
        """Write an array of uint8 (.npy, version 1.0), block by block."""
        shape = data[slices[0].set_id].image(0).shape
        with self._hashed(path) as out:
            out.write(npy_header((sum(len(images.samples) for images in slices), *shape), np.uint8))
            for images in slices:
                stored = data[images.set_id]
                pixels = stored.images() if len(images.samples) == len(stored) else map(stored.image, images.samples)
                while block := list(islice(pixels, BLOCK)):
                    for other in (image.shape for image in block if image.shape != shape):
                        raise BuildError(
                            f"Images of set {images.set_id} have the shapes {shape} and {other}, which do not fit into one array. "
                            "Choose a view of image files, or build with a preprocessing that makes all images equal."
                        )
                    out.write(np.stack(block))
                self._count(images)

    def tar(self, path: str, members: Iterable[tuple[str, bytes]]) -> None:
        """Write a tar that depends on names and bytes alone: no times, owners or modes of this machine."""
        with self._hashed(path) as out:
            for name, data in members:
                _refuse_outside(name)
                info = tarfile.TarInfo(name)
                info.size, info.mode = len(data), 0o644
                # what TarFile.addfile writes, without its copies: half the time of a large export
                out.write(info.tobuf(tarfile.GNU_FORMAT) + data + bytes(-len(data) % tarfile.BLOCKSIZE))
            out.write(bytes(2 * tarfile.BLOCKSIZE))
            out.write(bytes(-out.written % tarfile.RECORDSIZE))

    @contextmanager
    def _hashed(self, path: str) -> Iterator[LargeFile]:
        with LargeFile(self._target(path)) as out:
            yield out
        self.bytes += out.written
        self.files.append(FileRecord(path=path, bytes=out.written, sha256=digest_of(out.sha256)))

    def _target(self, path: str) -> Path:
        """Return where a file goes, after making its folder."""
        _refuse_outside(path)
        folder = path.rpartition("/")[0]
        if folder not in self._made:
            os.makedirs(self._root / folder, exist_ok=True)
            self._made.add(folder)
        return self._root / path


def _refuse_outside(path: str) -> None:
    """Raise `BuildError` if a path leads out of the view: its parts come from a manifest, which may come from anywhere."""
    try:
        safe_path(path)
    except ValueError as e:
        raise BuildError(
            f"The data set's records would make a file outside the view: {e}. Nothing was kept of it; do not trust it."
        ) from None


def _members(view: View, images: SetSlice, stored: ImageSet, index: int) -> Iterator[tuple[str, bytes]]:
    yield view.image_name(images, index), encoded(stored.stored(index, prefer="folder")[1])
    yield from beside(view, images, index)


def encoded(stored: Path | NDArray[np.uint8]) -> bytes:
    """Return an image as a file's bytes: those of the build where it has them, a PNG where it stores pixels."""
    if isinstance(stored, Path):
        return stored.read_bytes()
    if stored.ndim == 1:
        return bytes(stored.data)
    if find_spec("cv2") is not None:
        return PngEncoding().encode(stored)
    # an installation that only evaluates: the same pixels in a few bytes more or less
    file = io.BytesIO()
    PIL.Image.fromarray(stored[:, :, 0] if stored.shape[2] == 1 else stored).save(file, "PNG")
    return file.getvalue()


@contextmanager
def finished_at_once(target: Path) -> Iterator[Path]:
    """Yield a temporary folder beside `target` that takes its place if all goes well, and is removed if not.

    A killed process leaves the temporary folder (``.<name>.<random>.part``) and nothing at `target`.

    Raises
    ------
    BuildError
        `target` is there and is not an empty folder.
    """
    target = Path(os.path.abspath(target))
    if target.is_symlink() or (target.exists() and not target.is_dir()):
        raise BuildError(f"{target} is there and is not a folder. Choose another --out.")
    if target.is_dir() and any(target.iterdir()):
        names = sorted(p.name for p in target.iterdir())
        raise BuildError(
            f"{target} is not empty ({', '.join(names[:5])}{' ...' * (len(names) > 5)}): an export goes into a folder of its own. "
            "Choose another --out, or empty it."
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
