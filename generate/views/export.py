"""`export`: a finished data set in the layout that a third-party loader opens."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import tarfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import BuildError, first_few, listed
from ...manifests.disk.atomic import fsync_folder, link_or_copy, name_target, write_large
from ...manifests.disk.remote import local_folder
from ...manifests.images.arrays import npy_header
from ...manifests.images.pictures import png_bytes
from ...manifests.reader import DataSet
from ...manifests.reading.image_set import ImageSet
from ...manifests.records.digests import sha256_bytes
from ...manifests.records.fields import safe_path
from ...manifests.records.models import FileRecord
from ...manifests.records.report import Progress
from ...progress import progress_function, shows_progress
from ..pixels.encoding import PngEncoding
from ..pixels.preprocessing import parse_preprocessing
from ..recipes.choice import matching_sets
from .class_folders import read_list
from .contents import ViewContents, ViewOptions, placed, unexpected
from .layouts import LAYOUTS, get_layout, read_layout
from .set_names import read_severities
from .texts import members, texts
from .view import SetSlice, View
from .view_check import VIEW, FolderRecord, ViewRecord, ViewSetRecord, folder_record

BLOCK = 512
"""Images of an array that are written at once."""


@dataclass(frozen=True, repr=False)
class Exported:
    """A finished export."""

    path: Path
    top: Path
    """The folder that a loader is pointed at, or whose parent is."""
    view: str
    digest: str
    images: int
    bytes: int
    linked: int
    """Images that are hard links to the build's own files."""
    notes: tuple[str, ...]

    def __repr__(self) -> str:
        return f"<Exported {self.view} in {self.top}: {self.images:,} images, {self.linked:,} of them hard links>"


@shows_progress("export")
def export(
    view: str | Path,
    directory: str | Path,
    out: str | Path,
    *,
    sets: Sequence[str] | None = None,
    severities: str | Path | Mapping[str, Sequence[str]] | None = None,
    images: str | Path | Sequence[str] | None = None,
    allow_missing_classes: bool = False,
    any_shape: bool = False,
    progress: Progress | bool | None = None,
) -> Exported:
    """Export a data set as a view.

    Parameters
    ----------
    view : str or Path
        The name of a view, or a layout of one's own: a TOML file.
    directory : path
        The finished build.
    out : path
        Receives the loader's top folder and VIEW.json; new or empty. The whole appears there at once, or not at all.
    sets : sequence of str, optional
        Globs over set ids and aliases; by default all sets, without ``clean`` where the view has no place for it.
    severities : path or mapping, optional
        For sets that are not one corruption at severities 1 to 5: name -> five set ids (mnist-c: one).
    images : path or sequence of str, optional
        The list of imagenet-c-5k.
    allow_missing_classes : bool
        Export folders by class even though classes have no image, so that labels found by listing differ.
    any_shape : bool
        Export images of any size and channels, also where the view's loaders expect others.
    progress : callable or bool, optional
        Called with the step, what is done and the total. By default a bar is shown in a terminal and in a notebook;
        False shows none.

    Returns
    -------
    Exported

    Raises
    ------
    BuildError
        The data set does not fit into the view, or `out` is in the way; nothing was written.
    """
    # an unknown view is named before the data set is opened
    layout = read_layout(view) if isinstance(view, Path) or view.endswith(".toml") else get_layout(view)
    out = local_folder(out, "views are written to")
    data = DataSet(directory)
    if Path(directory).resolve() in (out.resolve(), *out.resolve().parents):
        raise BuildError(f"{out} lies in the data set itself, which would no longer verify. Choose another --out.")
    if not data.samples:
        raise BuildError(f"{directory} has no samples to export.")
    options = ViewOptions.model_validate(
        {
            "severities": read_severities(severities) if isinstance(severities, (str, Path)) else severities or {},
            "images": read_list(images) if isinstance(images, (str, Path)) else images or (),
            "allow_missing_classes": allow_missing_classes,
        }
    )
    contents = ViewContents.of(data.manifest, data.samples)
    refs, problems = matching_sets(contents.sets, ["*"] if sets is None else sets)
    if problems:
        raise BuildError(f"--sets of this data set:\n{listed(problems)}")
    named = [*(sets or ()), *(name for names in options.severities.values() for name in names)]
    contents = contents.only(ref.id for ref in placed(layout, refs, named))
    preprocessing = parse_preprocessing(data.manifest.preprocessing)
    channels = data[contents.sets[0].id].single(0).shape[2] if contents.sets else 3  # those of the first image
    shapes = [(s.id, (*preprocessing.size(s.width, s.height), channels)) for s in data.samples]
    problem = unexpected(layout, shapes)
    try:
        made = View(layout, contents, options)
    except BuildError as e:
        raise e if problem is None or any_shape else BuildError(f"{e}\n{problem}") from None
    if problem is not None:
        if not any_shape:
            raise BuildError(f"{problem} Nothing was written.")
        made.notes.append(problem.partition(" Of the images looked at:")[0])
    with finished_at_once(out) as part:
        written = _Written(part)
        written.view(made, data, progress_function(progress))
        record = _record(made, data, options, written).as_json()
        text = json.dumps(record, ensure_ascii=False, indent=2, allow_nan=False) + "\n"
        write_large(part / VIEW, [text.encode()])
    return Exported(
        out,
        out / made.top,
        layout.name,
        data.digest,
        sum(len(images.samples) for images in made.slices),
        written.bytes,
        written.linked,
        tuple(made.notes),
    )


def _record(view: View, data: DataSet, options: ViewOptions, written: _Written) -> ViewRecord:
    """Return what VIEW.json says."""
    manifest, layout = data.manifest, view.layout
    digests = {s.id: s.pixel_digest for s in manifest.sets if view.contents.format == "png"}
    whole = len(data.samples)
    sets = [
        ViewSetRecord(
            id=images.set_id,
            path=images.path,
            row=images.row,
            count=len(images.samples),
            # the very pixels of a whole set
            pixel_digest=None if images.row is None or len(images.samples) < whole else digests.get(images.set_id),
        )
        for images in sorted(view.slices, key=lambda s: (s.set_id, s.path, s.row or 0))
    ]
    return ViewRecord(
        schema_version=1,
        view=layout.name,
        top=view.top,
        name=manifest.name,
        version=manifest.version,
        digest=manifest.digest,
        layout=None if layout.name in LAYOUTS else layout.model_dump(mode="json", exclude_defaults=True),
        options=options.model_dump(mode="json", exclude_defaults=True),
        notes=view.notes,
        sets=sets,
        files=sorted(written.files, key=lambda f: f.path),
        folders=sorted(written.folders, key=lambda f: f.path),
    )


class _Written:
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
                yield name, _encoded(stored.stored(index, prefer="folder")[1]) if content is None else content
        count(images)


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
