"""The pixels of a set x run, in one block of memory, until they go to a file as they are."""

from __future__ import annotations

import contextlib
import math
import mmap
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ...corruptions.registry import Images
from ...errors import BuildError

if TYPE_CHECKING:
    from .sink import Run

_blocks: list[mmap.mmap] = []
"""Free blocks, for the next sets: a page that the kernel has to clear and map anew costs more than the copy into it."""


class PixelRows:
    """Images of one shape, by their positions in a run.

    Their memory is the kernel's and not malloc's, which would keep freed blocks in pieces: a worker would hold a quarter more.
    """

    def __init__(self, set_id: str, run: Run) -> None:
        self.images: NDArray[np.uint8] | None = None
        """(N, H, W, C), once the first ones came."""
        self._set_id = set_id
        self._run = run
        self._block: mmap.mmap | None = None

    def put(self, positions: Sequence[int], images: Images) -> None:
        """Copy images to their rows.

        Raises
        ------
        BuildError
            They have another shape than those before.
        """
        if self.images is None:
            shape = (self._run.count, *images.shape[1:])
            self._block = _free_block(math.prod(shape))
            self.images = np.frombuffer(self._block, np.uint8, math.prod(shape)).reshape(shape)
        elif self.images.shape[1:] != images.shape[1:]:
            shapes = sorted([self.images.shape[1:], images.shape[1:]])
            raise BuildError(
                f"Set {self._set_id}, samples {self._run.first} to {self._run.stop - 1}: images of several shapes ({shapes}) do not fit "
                "into one array of pixels. Use --format folder, or a recipe whose preprocessing makes all images equal."
            )
        self.images[rows_at(positions)] = images

    def free(self) -> None:
        """Give the memory to the next set; nobody may look at the images any more."""
        self.images = None
        if self._block is not None:
            _blocks.append(self._block)
            self._block = None


def _free_block(size: int) -> mmap.mmap:
    """Return memory of at least `size` bytes; what it holds is not defined."""
    with contextlib.suppress(IndexError):  # no block is free
        while True:
            block = _blocks.pop()
            if size <= len(block) <= 2 * size:
                return block
    return mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)


def free_all_blocks() -> None:
    """Return the memory kept for rows to the system."""
    _blocks.clear()


def rows_at(positions: Sequence[int]) -> slice | list[int]:
    """Return what gives rows of an array: a slice, which copies nothing, where the positions follow each other."""
    adjoin = positions[-1] - positions[0] + 1 == len(positions) and all(b > a for a, b in pairwise(positions))
    return slice(positions[0], positions[-1] + 1) if adjoin else list(positions)
