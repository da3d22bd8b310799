"""Writing a view: into a temporary folder beside, hashed on the way, in place in one step."""

from __future__ import annotations

import io
import os
import secrets
import shutil
import tarfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import PIL.Image
from numpy.typing import NDArray

from ...digests import digest_of
from ...errors import BuildError
from ...manifests.disk.atomic import fsync_folder, link_or_copy, name_target
from ...manifests.disk.large import LargeFile
from ...manifests.images.arrays import npy_header
from ...manifests.records.digests import sha256_bytes
from ...manifests.records.fields import safe_path
from ...manifests.records.models import FileRecord
from ...manifests.records.report import Progress
from ...manifests.verify.views import FolderRecord, folder_record
from ..pixels.encoding import PngEncoding

if TYPE_CHECKING:
    from ...manifests.reading.image_set import ImageSet
    from .view import View


class Writer:
    """Writes the files of a view below a folder and keeps their hashes."""

    def __init__(self, root: Path, progress: Progress, total: int) -> None:
        self.files: list[FileRecord] = []
        self.folders: list[FolderRecord] = []
        self.images = 0
        self.bytes = 0
        self.linked = 0
        """Images that are hard links to the build's files."""
        self._root = root
        self._progress = progress
        self._total = total
        self._made: set[str] = set()

    def count(self, images: int) -> None:
        """Count images that are written."""
        self.images += images
        self._progress("images", self.images, self._total)

    def image_folder(self, path: str, images: Iterable[tuple[str, str, int]]) -> None:
        """Record a finished folder of single images: (path, sha256, bytes) of each."""
        record = folder_record(path, images)
        self.folders.append(record)
        self.count(record.images)

    def image(self, path: str, images: ImageSet, index: int) -> tuple[str, str, int]:
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

    def array(self, path: str, shape: tuple[int, ...], blocks: Iterable[NDArray[np.uint8]]) -> None:
        """Write an array of uint8 (.npy, version 1.0), its rows given block by block."""
        with self._hashed(path) as out:
            out.write(npy_header(shape, np.uint8))
            for block in blocks:
                out.write(block)

    def texts(self, view: View) -> None:
        """Write the labels, lists and metadata that go with the images."""
        for path, data in view.texts({f.path: f.sha256 for f in self.files}):
            with self._hashed(path) as out:
                out.write(data)

    def tar(self, path: str, members: Iterable[tuple[str, bytes]]) -> None:
        """Write a tar that depends on names and bytes alone: no times, owners or modes of this machine."""
        with self._hashed(path) as out, tarfile.TarFile(path, "w", fileobj=out, format=tarfile.GNU_FORMAT) as archive:  # type: ignore[arg-type]
            for name, data in members:
                _refuse_outside(name)
                info = tarfile.TarInfo(name)
                info.size = len(data)
                info.mode = 0o644
                archive.addfile(info, io.BytesIO(data))

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
