"""HDF5 shards: a run of consecutive samples of one set in one file, built in memory.

h5py on a full disk raises and then brings the process down, and a killed HDF5 write can open cleanly with zeros in it;
so HDF5 never touches the disk here: the bytes are made in memory and written by plain Python.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from ...manifests.models import SCHEMA_VERSION

# Fixed, so that two writes of the same data are the same bytes and HDF5 1.10 reads them.
_LIBVER = ("v108", "v110")


def shard_path(set_id: str, run: int) -> str:
    """Return where a set's shard of a run goes, relative to the data set."""
    return f"hdf5/{set_id}-{run:05d}.h5"


def shard_bytes(
    rows: Sequence[NDArray[np.uint8] | bytes],
    *,
    labels: Sequence[int],
    indices: Sequence[int],
    pixels: Sequence[str],
    set_id: str,
    build: str,
    encoding: str,
) -> bytes:
    """Return a shard.

    Parameters
    ----------
    rows : sequence of (H, W, C) ndarray of uint8, all of one shape, or of bytes
        Pixels, or encoded images.
    labels, indices : sequence of int
        The samples' labels and indices.
    pixels : sequence of str
        Pixel digests, ``blake3:<hex>``.
    set_id, build : str
        Written as attributes.
    encoding : str
        ``raw``, or the format of the encoded images.
    """
    # A name of its own: the core driver looks files up by name among those that are open.
    with h5py.File(f"{secrets.token_hex(16)}.h5", "w", driver="core", backing_store=False, libver=_LIBVER) as f:
        f.attrs["corruptset_schema"] = np.int64(SCHEMA_VERSION)
        f.attrs["set"] = set_id
        f.attrs["build"] = build
        f.attrs["encoding"] = encoding
        if encoding == "raw":
            _raw(f, rows)
        else:
            _encoded(f, rows, encoding)
        _column(f, "labels", np.asarray(labels, np.int64))
        _column(f, "index", np.asarray(indices, np.int64))
        digests = b"".join(bytes.fromhex(p.removeprefix("blake3:")) for p in pixels)
        _column(f, "pixels", np.frombuffer(digests, np.uint8).reshape(-1, 32))
        f.flush()
        return bytes(f.id.get_file_image())


def _column(file: Any, name: str, values: NDArray[Any]) -> None:
    file.create_dataset(name, data=values, track_times=False)


def chunk_rows(count: int, row_bytes: int) -> int:
    """Return how many rows a chunk has: about 64 of photographs, up to 500 of small images, the last chunk nearly full.

    Examples
    --------
    >>> chunk_rows(8, 150528), chunk_rows(445, 150528), chunk_rows(1250, 3072)
    (8, 75, 417)
    """
    chunks = max(1, count // 64) if row_bytes >= 1 << 14 else -(-count // 500)
    return -(-count // chunks)


def _raw(file: Any, rows: Sequence[Any]) -> None:
    shape = rows[0].shape
    chunk = chunk_rows(len(rows), rows[0].nbytes)
    images = file.create_dataset("images", (len(rows), *shape), np.uint8, chunks=(chunk, *shape), track_times=False)
    for start in range(0, len(rows), chunk):
        images[start : start + chunk] = np.stack(rows[start : start + chunk])


def _encoded(file: Any, rows: Sequence[Any], encoding: str) -> None:
    images = file.create_dataset("encoded", (len(rows),), h5py.vlen_dtype(np.uint8), track_times=False)
    images.attrs["encoding"] = encoding
    for i, row in enumerate(rows):  # one by one: h5py takes a list of arrays of equal length for a matrix
        images[i] = np.frombuffer(row, np.uint8)
