"""Arrays (.npy) whose rows are images, read by row without loading the whole."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray


class NotAShard(ValueError):
    """A file of many images that is not laid out as it should be."""


class ArrayFile:
    """An (N, H, W, C) array of uint8 on disk, mapped into memory; the same interface as a shard of raw pixels.

    Parameters
    ----------
    path : Path

    Raises
    ------
    NotAShard
        It is an array of another shape or type, or pickled objects (which are never loaded).
    OSError
        The file cannot be opened.
    """

    encoded = False
    set_id = None

    def __init__(self, path: Path) -> None:
        try:
            images = np.load(path, mmap_mode="r", allow_pickle=False)
        # numpy raises ValueError for a bad header and for objects, EOFError and OverflowError for odd ones
        except (ValueError, EOFError, OverflowError, SyntaxError) as e:
            raise NotAShard(f"is not an array ({e})") from e
        if not isinstance(images, np.memmap) or images.dtype != np.uint8 or images.ndim != 4 or images.shape[3] not in (1, 3):
            raise NotAShard(f"has shape {getattr(images, 'shape', None)} and type {getattr(images, 'dtype', None)}")
        if not images.flags.c_contiguous:
            raise NotAShard("is not in C order")
        self.images: NDArray[np.uint8] = images
        self.rows = int(images.shape[0])

    def close(self) -> None:
        """Let go of the file."""
        self.images = np.empty((0, 0, 0, 1), np.uint8)

    def row(self, index: int) -> NDArray[np.uint8]:
        """Return a row as pixels (H, W, C)."""
        return np.array(self.images[index])

    def block(self, start: int, stop: int) -> NDArray[np.uint8]:
        """Return consecutive rows."""
        return np.array(self.images[start:stop])

    def stream(self, start: int, stop: int) -> Iterator[NDArray[np.uint8]]:
        """Yield rows."""
        yield from self.images[start:stop]
