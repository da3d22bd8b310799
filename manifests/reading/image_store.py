"""Where the images of one set come from: what an `ImageSet` asks of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from ...errors import VerificationError
from ..records.models import ImageRecord, StoredRecord

Pixels = NDArray[np.uint8]
Container = Literal["folder", "hdf5"]

BLOCK_BYTES = 16 << 20
"""How many bytes of pixels `ImageStore.images` reads or makes at once."""


class ImageStore(Protocol):
    """The images of one set, by their index, 0 to N - 1, which the caller has checked. An image is (H, W, C) of uint8, C 1 or 3.

    A store is pickled into spawned workers and copied into forked ones. What belongs to one process, open files above all, does not
    travel: each process opens its own.
    """

    @property
    def encoding(self) -> str:
        """``png`` or ``jpeg``: how the images are encoded, or would be if they were stored."""

    @property
    def rows(self) -> list[ImageRecord]:
        """The records of the images, by index."""

    def image(self, index: int) -> Pixels:
        """Return one image."""

    def single(self, index: int) -> Pixels:
        """Return the same image, for a caller who wants a few: what is shared by all images is not read for it."""

    def images(self, indices: Sequence[int], block_bytes: int = BLOCK_BYTES) -> Iterator[Pixels]:
        """Yield images in the given order; neighbours may be read or made together, at most so many bytes at a time."""

    def pixel_digest(self) -> str:
        """Return the set's digest, of the pixels of all images before they were encoded."""

    def stored(self, index: int, prefer: Container | None = None) -> tuple[StoredRecord, Path | Pixels]:
        """Return where an image is stored: its record, and its file or the row as stored (pixels, or 1-D encoded bytes)."""


def damaged(path: Path, why: str) -> VerificationError:
    """Return the error that names a damaged file and the next step."""
    return VerificationError(f"{path} {why}. Run `corruptset verify` on the data set for everything that is wrong.")


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Turn what reading a damaged file raises into one error that names it and the next step."""
    try:
        yield
    except FileNotFoundError as e:
        raise damaged(path, "is missing") from e
    # NotAPicture, NotAShard, and what h5py raises on damaged files
    except (OSError, KeyError, ValueError, RuntimeError, IndexError) as e:
        raise damaged(path, f"cannot be read ({e})") from e
