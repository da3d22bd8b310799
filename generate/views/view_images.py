"""Files, arrays and tars: how the images of a view are written into them, and read again where they should be."""

from __future__ import annotations

import contextlib
import tarfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ...errors import BuildError
from ...manifests.images.arrays import ArrayFile, NotAShard
from ...manifests.reader import DataSet
from ...manifests.reading.image_set import ImageSet
from .texts import line_of
from .view import SetSlice, View
from .writer import Writer, encoded

BLOCK = 512
"""Images of an array that are written at once."""


@dataclass(frozen=True)
class ViewImage:
    """An image of a view, as it lies there."""

    set_id: str
    index: int
    file: str
    """Relative path of the file that it is, or is in."""
    part: str
    """Empty; or ``#<row>`` of an array, ``:<member>`` of a tar."""
    data: bytes | NDArray[np.uint8] | None
    """Encoded bytes, or pixels; None where it is missing."""


def write_view(view: View, data: DataSet, writer: Writer) -> None:
    """Write every image and text of a view of a data set."""
    for path, slices in view.slices_at.items():
        if view.layout.container == "arrays":
            shape = data[slices[0].set_id].image(0).shape
            blocks = (block for images in slices for block in _blocks(images, data[images.set_id], shape, writer))
            writer.array(path, (view.array_rows[path], *shape), blocks)
            continue
        for images in slices:
            stored = data[images.set_id]
            if view.layout.container == "tars":
                writer.tar(path, _members(view, images, stored))
                writer.count(len(images.samples))
            else:
                writer.image_folder(path, [writer.image(view.path(images, i), stored, i) for i in images.samples])
    writer.texts(view)
    if view.array_rows and view.subject.format == "jpeg":
        view.notes.append("The build stores JPEG: the arrays hold its images as decoded, so their digests are not the manifest's.")


def _blocks(images: SetSlice, stored: ImageSet, shape: tuple[int, ...], writer: Writer) -> Iterator[NDArray[np.uint8]]:
    pixels = stored.images() if len(images.samples) == len(stored) else map(stored.image, images.samples)
    while block := list(islice(pixels, BLOCK)):
        for other in (image.shape for image in block if image.shape != shape):
            raise BuildError(
                f"Images of set {images.set_id} have the shapes {shape} and {other}, which do not fit into one array. "
                "Choose a view of image files, or build with a preprocessing that makes all images equal."
            )
        yield np.stack(block)
    writer.count(len(images.samples))


def _members(view: View, images: SetSlice, stored: ImageSet) -> Iterator[tuple[str, bytes]]:
    for index in images.samples:
        yield view.image_name(images, index), encoded(stored.stored(index, prefer="folder")[1])
        yield from _beside(view, images, index)


def _beside(view: View, images: SetSlice, index: int) -> Iterator[tuple[str, bytes]]:
    """Yield the members of a tar that go with an image."""
    for text in view.layout.with_each:
        yield text.path.format(**view.words(images, index)), line_of(view, text, images, index)


def read_view(view: View, root: Path) -> Iterator[ViewImage]:
    """Yield every image that should be in a view, as it lies there."""
    for path, slices in view.slices_at.items():
        if view.layout.container == "arrays":
            yield from _rows(view, root, path, slices)
            continue
        for images in slices:
            yield from _archived(view, root, images) if view.layout.container == "tars" else _files(view, root, images)


def _files(view: View, root: Path, images: SetSlice) -> Iterator[ViewImage]:
    for index in images.samples:
        path = view.path(images, index)
        data = None
        with contextlib.suppress(OSError):
            data = (root / path).read_bytes()
        yield ViewImage(images.set_id, index, path, "", data)


def _rows(view: View, root: Path, path: str, slices: Sequence[SetSlice]) -> Iterator[ViewImage]:
    array: ArrayFile | None = None
    with contextlib.suppress(NotAShard, OSError):
        array = ArrayFile(root / path)
    whole = array is not None and array.rows == view.array_rows[path]
    for images in slices:
        for row, index in enumerate(images.samples, images.row or 0):
            pixels = array.images[row] if array is not None and whole else None
            yield ViewImage(images.set_id, index, path, f"#{row}", pixels)


def _archived(view: View, root: Path, images: SetSlice) -> Iterator[ViewImage]:
    """Yield the images of an archive, read in order; what stands beside an image is checked on the way."""
    expected = [(i, view.image_name(images, i)) for i in images.samples]
    done = 0
    try:
        with tarfile.open(root / images.path, "r|") as archive:
            members = _regular(archive)
            for index, name in expected:
                data = _take(members, [(name, None), *_beside(view, images, index)])
                done += 1
                yield ViewImage(images.set_id, index, images.path, f":{name}", data)
            if next(members, None) is not None:
                yield ViewImage(images.set_id, images.samples[-1], images.path, ": what follows its last image", None)
    except (OSError, tarfile.TarError, StopIteration):
        yield from (ViewImage(images.set_id, index, images.path, f":{name}", None) for index, name in expected[done:])


def _regular(archive: tarfile.TarFile) -> Iterator[tuple[str, bytes]]:
    for info in archive:
        file = archive.extractfile(info) if info.isreg() else None
        yield info.name, b"" if file is None else file.read()


def _take(members: Iterator[tuple[str, bytes]], wanted: Sequence[tuple[str, bytes | None]]) -> bytes | None:
    """Return the first of the wanted members, if all of them come next as they should."""
    image: bytes | None = None
    good = True
    for name, data in wanted:
        member, content = next(members, ("", b""))
        good = good and member == name and data in (None, content)
        image = content if data is None else image
    return image if good else None
