"""Arrays (.npy) that several parts write rows of: the file has its full size from the first row on, and rows go to their offsets.

A part's rows are on disk before its sidecar is written, so rows that no sidecar speaks for are written again, whatever they hold.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ...errors import BuildError
from ...manifests.disk.atomic import fsync_folder
from ...manifests.images.arrays import npy_header
from .sink import SetSink, row_records, rows_at


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
