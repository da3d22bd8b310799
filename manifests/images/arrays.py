"""Read NumPy arrays (.npy) of images, and create their headers."""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...files import open_regular

MAX_HEADER_BYTES = 10_000
"""Limit on the size of a .npy header in bytes. numpy has the same limit, but checks it only after reading the header.
"""


class NotAShard(ValueError):
    """A shard or array file whose contents are not as expected."""


def npy_header(shape: tuple[int, ...], dtype: type[np.generic]) -> bytes:
    """Return the header that `numpy.save` writes before a C-order array."""
    out = io.BytesIO()
    record = {"descr": np.lib.format.dtype_to_descr(np.dtype(dtype)), "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(out, record)
    return out.getvalue()


def map_array(path: Path) -> tuple[NDArray[Any], int]:
    """Map an array (.npy) into memory, and return it with the offset of its elements in the file.

    Raises
    ------
    NotAShard
        The header is damaged, too long or beyond the end of the file, or the elements are Python objects, which are
        never loaded.
    """
    with open_regular(path) as file:
        magic = file.read(12)
    # numpy trusts the length that the header states, so it would read up to 4 GiB
    length = int.from_bytes(magic[8:10] if magic[6:7] == b"\x01" else magic[8:12], "little")
    if not magic.startswith(b"\x93NUMPY") or length > min(MAX_HEADER_BYTES, os.path.getsize(path)):
        raise NotAShard("does not begin with the header of an array")
    try:
        array = np.lib.format.open_memmap(path, mode="r")
    except OSError:
        raise
    # the header is parsed as Python text, which can raise many kinds of errors
    except Exception as e:
        raise NotAShard(f"is not an array ({str(e).partition(chr(10))[0][:200] or type(e).__name__})") from e
    return array, int(array.offset)


def map_images(path: Path) -> NDArray[np.uint8]:
    """Map an (N, H, W, C) uint8 array (.npy) of images with one or three channels into memory.

    Raises
    ------
    NotAShard
        The array is damaged, or has a different shape or type.
    """
    images, offset = map_array(path)
    if images.dtype != np.uint8 or images.ndim != 4 or images.shape[3] not in (1, 3):
        raise NotAShard(f"has shape {images.shape} and type {images.dtype}")
    if not images.flags.c_contiguous:
        raise NotAShard("is not in C order")
    if (size := os.path.getsize(path)) != offset + images.nbytes:
        raise NotAShard(f"has {size} bytes, but its header and rows need {offset + images.nbytes}")
    return images
