"""Arrays (.npy) that several parts write rows of: the file has its full size from the first row on, and rows go to their offsets.

A part's rows are on disk before its sidecar is written, so rows that no sidecar speaks for are written again, whatever they hold.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ...errors import BuildError
from ...manifests.disk.atomic import fsync_folder
from ...manifests.images.arrays import npy_header
from .pixel_rows import rows_at
from .sink import SetSink, row_records


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
    fd = os.open(target, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o666)
    try:
        # Every part writes the same header and size, so it does not matter which is first, or whether two are.
        present = os.pread(fd, len(header), 0)
        if present.strip(b"\0") and present != header:
            raise BuildError(
                f"{target}: images of several shapes ({shape[0]}x{shape[1]}, {shape[2]} channels, and others) do not fit into one array. "
                "Choose a view of image files, or a recipe whose preprocessing makes all images equal."
            )
        if os.fstat(fd).st_size != size:
            os.ftruncate(fd, size)
        _write(fd, memoryview(header), 0)
        for start, stop in _stretches(numbers):
            data = np.ascontiguousarray(images[start:stop]).reshape(-1)
            _write(fd, data.data, len(header) + numbers[start] * images[0].nbytes)
        os.fsync(fd)
    finally:
        os.close(fd)
    if new:
        fsync_folder(target.parent)


def _stretches(numbers: Sequence[int]) -> list[tuple[int, int]]:
    """Return where row numbers follow each other, as positions (start, stop)."""
    breaks = [i for i in range(1, len(numbers)) if numbers[i] != numbers[i - 1] + 1]
    return list(zip([0, *breaks], [*breaks, len(numbers)], strict=True))


def _write(fd: int, view: memoryview, offset: int) -> None:
    while view:
        done = os.pwrite(fd, view, offset)
        view, offset = view[done:], offset + done


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
        self.pixels.free()
