"""The three kinds of sinks: image files, arrays and HDF5 shards.

Files lie at ``images/<set id>/<class>/<sample id>.<JPEG|png>``, for single corruptions the ImageNet-C layout, or at a view's own paths.
Arrays (.npy) are those of a view, and several parts write rows of one: it has its full size from the first row on, and rows go to their
offsets. A part's rows are on disk before its sidecar is written, so rows that no sidecar speaks for are written again, whatever they hold.
A shard is a run of consecutive samples of one set in one file.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...corruptions.registry import Images
from ...errors import BuildError
from ...manifests.disk.atomic import fsync_folder, write_large
from ...manifests.images.arrays import npy_header
from ...manifests.layout import shard_path
from ..sources.source import Sample
from .sink import EncodedImage, Run, SetSink, file_record, json_text, row_records, rows_at

if TYPE_CHECKING:
    from .containers import Sink

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


def write_rows(target: Path, total: int, numbers: Sequence[int], images: NDArray[np.uint8]) -> None:
    """Write rows of an array of `total` rows and wait until they are on disk.

    Parameters
    ----------
    target : Path
    total : int
    numbers : sequence of int
        Which rows.
    images : (N, H, W, C) ndarray of uint8

    Raises
    ------
    BuildError
        The array is of images of another shape.
    OSError
        The disk is full or fails.
    """
    shape = images.shape[1:]
    header = npy_header((total, *shape), np.uint8)
    size = len(header) + total * int(np.prod(shape))
    target.parent.mkdir(parents=True, exist_ok=True)
    new = not target.exists()
    flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0)
    with open(os.open(target, flags, 0o666), "r+b") as file:
        # Every part writes the same header and size, so it does not matter which is first, or whether two are.
        present = file.read(len(header))
        if present.strip(b"\0") and present != header:
            raise BuildError(
                f"{target}: images of several shapes ({shape[0]}x{shape[1]}, {shape[2]} channels, and others) do not fit into one array. "
                "Choose a view of image files, or a recipe whose preprocessing makes all images equal."
            )
        if os.fstat(file.fileno()).st_size != size:
            file.truncate(size)
        file.seek(0)
        file.write(header)
        starts = [i for i, number in enumerate(numbers) if not i or number != numbers[i - 1] + 1]
        for start, stop in pairwise([*starts, len(numbers)]):
            file.seek(len(header) + numbers[start] * images[0].nbytes)
            file.write(np.ascontiguousarray(images[start:stop]).data)
        file.flush()
        os.fsync(file.fileno())
    if new:
        fsync_folder(target.parent)


class ArraySet(SetSink):
    """Rows of arrays that a view lays out; every part writes its rows of a file that all share."""

    def finish(self, pixel_hashes: Sequence[str]) -> None:
        """Write the rows of each array."""
        pixels, view = self.rows, self.sink.view
        assert pixels is not None
        assert view is not None
        rows_of: dict[str, list[tuple[int, int]]] = {}
        for position in range(self.run.count):
            path, row = view.location(self.set_id, self.run.first + position)
            rows_of.setdefault(path, []).append((position, row or 0))
        for path, pairs in rows_of.items():
            positions, numbers = zip(*pairs, strict=True)
            rows = pixels[rows_at(positions)]
            for position, record in zip(positions, row_records(path, numbers, rows), strict=True):
                self.records[position] = record
            write_rows(self.directory / path, view.array_rows[path], numbers, rows)
        self.bytes = pixels.nbytes
        self.free()


class ShardSet(SetSink):
    """One HDF5 file: of pixels where the encoding is lossless, else of the encoded bytes."""

    def __init__(self, sink: Sink, directory: Path, set_id: str, run: Run, samples: Sequence[Sample]) -> None:
        super().__init__(sink, directory, set_id, run, samples)
        self._encoded = [b""] * run.count

    def put(self, positions: Sequence[int], images: Images, encoded: Sequence[EncodedImage]) -> None:
        """Keep pixels, or encoded bytes."""
        if self.sink.encoding.lossless:
            return super().put(positions, images, encoded)
        path = json_text(shard_path(self.set_id, self.run.number))
        for position, image in zip(positions, encoded, strict=True):
            self._encoded[position] = image.data
            self.records[position] = file_record(path, position, len(image.data), image.sha256)
            self.bytes += len(image.data)
        return None

    def finish(self, pixel_hashes: Sequence[str]) -> Mapping[str, Any]:
        """Write the shard."""
        from ...manifests.images.shard_writer import shard_pieces  # a build of files does not need it

        path, pixels, encoding = shard_path(self.set_id, self.run.number), self.rows, self.sink.encoding
        if pixels is not None:
            self.records = row_records(path, range(len(pixels)), pixels)
            self.bytes = pixels.nbytes
        pieces = shard_pieces(
            self._encoded if pixels is None else pixels,
            labels=[sample.class_index for sample in self.samples],
            indices=range(self.run.first, self.run.stop),
            pixels=pixel_hashes,
            set_id=self.set_id,
            build=self.sink.title,
            encoding="raw" if encoding.lossless else encoding.format,
        )
        target = self.directory / path
        target.parent.mkdir(parents=True, exist_ok=True)
        size, sha256 = write_large(target, pieces)
        self.free()
        self._encoded = []
        return {"path": path, "bytes": size, "sha256": sha256}
