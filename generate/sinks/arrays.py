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
from ...manifests.files import fsync_folder
from ..views.writing import npy_header


def write_rows(target: Path, total: int, rows: Sequence[tuple[int, NDArray[np.uint8]]]) -> None:
    """Write rows (number, pixels) of an array of `total` rows and wait until they are on disk.

    Raises
    ------
    BuildError
        The images are not of one shape.
    OSError
        The disk is full or fails.
    """
    shape = rows[0][1].shape
    strange = next((image.shape for _, image in rows if image.shape != shape), None)
    header = npy_header((total, *shape), np.uint8)
    size = len(header) + total * int(np.prod(shape))
    target.parent.mkdir(parents=True, exist_ok=True)
    new = not target.exists()
    fd = os.open(target, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o666)
    try:
        # Every part writes the same header and size, so it does not matter which is first, or whether two are.
        there = os.pread(fd, len(header), 0)
        if strange is not None or (there.strip(b"\0") and there != header):
            raise BuildError(
                f"{target}: images of several shapes ({shape[0]}x{shape[1]}, {shape[2]} channels, and others) do not fit into one array. "
                "Choose a view of image files, or a recipe whose preprocessing makes all images equal."
            )
        if os.fstat(fd).st_size != size:
            os.ftruncate(fd, size)
        _write(fd, header, 0)
        for start, stop in _stretches(rows):
            data = np.stack([image for _, image in rows[start:stop]])
            _write(fd, data.tobytes(), len(header) + rows[start][0] * rows[start][1].nbytes)
        os.fsync(fd)
    finally:
        os.close(fd)
    if new:
        fsync_folder(target.parent)


def _stretches(rows: Sequence[tuple[int, NDArray[np.uint8]]]) -> list[tuple[int, int]]:
    """Return where rows follow each other, as positions (start, stop)."""
    breaks = [i for i in range(1, len(rows)) if rows[i][0] != rows[i - 1][0] + 1]
    return list(zip([0, *breaks], [*breaks, len(rows)], strict=True))


def _write(fd: int, data: bytes, offset: int) -> None:
    view = memoryview(data)
    while view:
        done = os.pwrite(fd, view, offset)
        view, offset = view[done:], offset + done
