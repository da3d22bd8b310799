"""Write HDF5 shards. The module `shards` describes their layout.

A shard holds consecutive samples of one set, and is built in memory.

On a full disk, h5py raises an error and then crashes the process. If HDF5 is killed while it writes, the file may open
without an error but contain zeros. Therefore HDF5 only builds files in memory, and Python writes the bytes.

In a shard of pixels, the offsets of values depend only on the number and shape of the images and the length of the
set's id. HDF5 therefore creates one shard of zeros for each such layout, and the values of each shard replace these
zeros. The result is identical to the file that HDF5 would create. If HDF5 created every shard, a build of two-factor-69
would take 15 % more user CPU time, or 25 % more user and system CPU time.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .shards import ENCODED, ENCODING, INDEX, LABELS, PIXEL_DIGEST, RAW, shard_attributes

_LIBVER = ("v108", "v110")
"""Versions of the file format that HDF5 1.10 reads, and for which equal data give equal bytes."""
_SET, _END = "set", ""
Piece = bytes | memoryview
Columns = dict[str, NDArray[Any]]
Slot = str | tuple[int, int]
"""An identifier of a value in a shard: ``"set"`` for the set's id, the name of a column, or a range of image rows."""


def shard_pieces(
    rows: NDArray[np.uint8] | Sequence[bytes],
    *,
    labels: Sequence[int],
    indices: Sequence[int],
    pixels: Sequence[str],
    set_id: str,
    build: str,
    encoding: str,
) -> list[Piece]:
    """Return the bytes of a shard as consecutive pieces, which may be views of `rows`.

    Parameters
    ----------
    rows : (N, H, W, C) ndarray of uint8, C-contiguous, or sequence of bytes
        Pixels, or encoded images.
    labels, indices : sequence of int
        Labels and indices of the samples.
    pixels : sequence of str
        Digests of the pixels, in hexadecimal digits without a prefix.
    set_id, build : str
        The id of the set, and the name and version of the dataset.
    encoding : str
        ``raw`` for pixels, or the format of the encoded images.
    """
    columns: Columns = {
        LABELS: np.asarray(labels, np.int64),
        INDEX: np.asarray(indices, np.int64),
        PIXEL_DIGEST: np.frombuffer(bytes.fromhex("".join(pixels)), np.uint8).reshape(-1, 32),
    }
    frame = _frame(rows.shape, len(set_id.encode()), build) if isinstance(rows, np.ndarray) else None
    if frame is None or not isinstance(rows, np.ndarray):
        return [by_hdf5(rows, columns, set_id, build, encoding)[0]]
    values: dict[Slot, Piece] = {name: column.reshape(-1).view(np.uint8).data for name, column in columns.items()}
    values |= {_SET: set_id.encode(), _END: b""}
    flat, size = rows.reshape(-1).data, rows[0].nbytes
    pieces: list[Piece] = []
    for between, slot in frame:
        pieces += [between, flat[slot[0] * size : slot[1] * size] if isinstance(slot, tuple) else values[slot]]
    return pieces


def chunk_rows(count: int, row_bytes: int) -> int:
    """Return the number of rows per HDF5 chunk.

    A chunk has about 64 photographs, or up to 500 small images. The last chunk is nearly full.

    Examples
    --------
    >>> chunk_rows(8, 150528), chunk_rows(445, 150528), chunk_rows(1250, 3072)
    (8, 75, 417)
    """
    chunks = max(1, count // 64) if row_bytes >= 1 << 14 else -(-count // 500)
    return -(-count // chunks)


def by_hdf5(
    rows: NDArray[np.uint8] | Sequence[bytes], columns: Columns, set_id: str, build: str, encoding: str
) -> tuple[bytes, list[tuple[int, int, Slot]]]:
    """Return the bytes of a shard that HDF5 creates, and the position of each value in these bytes.

    A position is (offset, size in bytes, slot). The list of positions is empty if the rows are encoded images.
    """
    import h5py

    slots: list[tuple[int, int, Slot]] = []
    # The core driver finds open files by name, so each file needs a different name.
    with h5py.File(f"{secrets.token_hex(16)}.h5", "w", driver="core", backing_store=False, libver=_LIBVER) as file:
        for name, value in shard_attributes(set_id, build, encoding).items():
            file.attrs[name] = np.int64(value) if isinstance(value, int) else value
        if isinstance(rows, np.ndarray):
            chunk = chunk_rows(len(rows), rows[0].nbytes)
            images = file.create_dataset(RAW, rows.shape, np.uint8, chunks=(chunk, *rows.shape[1:]), track_times=False)
            for start in range(0, len(rows), chunk):
                images[start : start + chunk] = rows[start : start + chunk]
        else:
            images = file.create_dataset(ENCODED, (len(rows),), h5py.vlen_dtype(np.uint8), track_times=False)
            images.attrs[ENCODING] = encoding
            for i, row in enumerate(rows):  # not all at once, because h5py treats arrays of equal length as a matrix
                images[i] = np.frombuffer(row, np.uint8)
        del images  # this closes the array, so that its last chunk is written before the columns
        for name, values in columns.items():
            file.create_dataset(name, data=values, track_times=False)
        file.flush()
        shard: bytes = file.id.get_file_image()
        if isinstance(rows, np.ndarray):
            slots = [(file[name].id.get_offset(), values.nbytes, name) for name, values in columns.items()]
            for info in map(file[RAW].id.get_chunk_info, range(file[RAW].id.get_num_chunks())):
                first, stop = info.chunk_offset[0], min(info.chunk_offset[0] + chunk, len(rows))
                slots.append((info.byte_offset, (stop - first) * rows[0].nbytes, (first, stop)))
    return shard, slots


@lru_cache(maxsize=64)
def _frame(shape: tuple[int, ...], name_length: int, build: str) -> tuple[tuple[bytes, Slot], ...] | None:
    """Return the bytes between the values of a shard, each with the slot of the value that follows.

    The result is None if the offset of the set's id cannot be determined.
    """
    mark, count = "\x7f" * name_length, shape[0]
    columns: Columns = {
        LABELS: np.zeros(count, np.int64),
        INDEX: np.zeros(count, np.int64),
        PIXEL_DIGEST: np.zeros((count, 32), np.uint8),
    }
    # the images are zeros, because the system allocates memory only for pages that are written
    image, slots = by_hdf5(np.zeros(shape, np.uint8), columns, mark, build, "raw")
    if not name_length or image.count(mark.encode()) != 1:
        return None
    slots.append((image.index(mark.encode()), name_length, _SET))
    frame, end = [], 0
    for offset, size, slot in sorted(slots, key=lambda s: s[0]):
        frame.append((image[end:offset], slot))
        end = offset + size
    return (*frame, (image[end:], _END))
