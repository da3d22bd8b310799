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
        there = os.pread(fd, len(header), 0)
        if there.strip(b"\0") and there != header:
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
