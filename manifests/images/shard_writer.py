"""HDF5 shards: a run of consecutive samples of one set in one file, built in memory.

h5py on a full disk raises and then brings the process down, and a killed HDF5 write can open cleanly with zeros in it;
so HDF5 never touches the disk here: the bytes are made in memory and written by plain Python. It is imported for the first shard only.

Where HDF5 puts what in a shard of pixels follows from the number and shape of its images and from how long its name is. So one is
laid out by HDF5, with zeros in it, and for the others the values go between the same bytes: a tenth of the time, the same file.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..records.models import SHARD_SCHEMA
from .superblock import sealed

# Fixed, so that two writes of the same data are the same bytes and HDF5 1.10 reads them.
_LIBVER = ("v108", "v110")
Piece = bytes | memoryview


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
    """Return a shard, as pieces that follow each other; they may be views of `rows`.

    Parameters
    ----------
    rows : (N, H, W, C) ndarray of uint8, C-contiguous, or sequence of bytes
        Pixels, or encoded images.
    labels, indices : sequence of int
        The samples' labels and indices.
    pixels : sequence of str
        Pixel digests, hexadecimal, without a prefix.
    set_id, build : str
        Written as attributes.
    encoding : str
        ``raw``, or the format of the encoded images.
    """
    columns: dict[str, NDArray[Any]] = {
        "labels": np.asarray(labels, np.int64),
        "index": np.asarray(indices, np.int64),
        "pixels": np.frombuffer(bytes.fromhex("".join(pixels)), np.uint8).reshape(-1, 32),
    }
    if not isinstance(rows, np.ndarray):
        return [by_hdf5(rows, columns, set_id, build, encoding)]
    name = set_id.encode()
    frame = _frame(rows.shape, len(name), build)
    if frame is None:
        return [by_hdf5(rows, columns, set_id, build, encoding)]
    values: list[tuple[int, Piece]] = [(frame.name, name)]
    values += [(frame.columns[column], v.reshape(-1).view(np.uint8).data) for column, v in columns.items()]
    flat, row = rows.reshape(-1).data, rows[0].nbytes
    values += [(offset, flat[start * row : min(start + frame.chunk, len(rows)) * row]) for start, offset in frame.chunks]
    return _filled(frame, values)


def shard_bytes(rows: NDArray[np.uint8] | Sequence[bytes], **about: Any) -> bytes:
    """Return a shard in one piece; see `shard_pieces`."""
    return b"".join(shard_pieces(rows, **about))


def by_hdf5(rows: NDArray[np.uint8] | Sequence[bytes], columns: dict[str, NDArray[Any]], set_id: str, build: str, encoding: str) -> bytes:
    """Return a shard as HDF5 itself makes it."""
    import h5py

    # A name of its own: the core driver looks files up by name among those that are open.
    with h5py.File(f"{secrets.token_hex(16)}.h5", "w", driver="core", backing_store=False, libver=_LIBVER) as f:
        _write(f, rows, columns, set_id, build, encoding)
        f.flush()
        return sealed(bytes(f.id.get_file_image()))


def chunk_rows(count: int, row_bytes: int) -> int:
    """Return how many rows a chunk has: about 64 of photographs, up to 500 of small images, the last chunk nearly full.

    Examples
    --------
    >>> chunk_rows(8, 150528), chunk_rows(445, 150528), chunk_rows(1250, 3072)
    (8, 75, 417)
    """
    chunks = max(1, count // 64) if row_bytes >= 1 << 14 else -(-count // 500)
    return -(-count // chunks)


def _write(file: Any, rows: Any, columns: dict[str, NDArray[Any]], set_id: str, build: str, encoding: str) -> None:
    file.attrs["corruptset_schema"] = np.int64(SHARD_SCHEMA)
    file.attrs["set"] = set_id
    file.attrs["build"] = build
    file.attrs["encoding"] = encoding
    if isinstance(rows, np.ndarray):
        chunk = chunk_rows(len(rows), rows[0].nbytes)
        images = file.create_dataset("images", rows.shape, np.uint8, chunks=(chunk, *rows.shape[1:]), track_times=False)
        for start in range(0, len(rows), chunk):
            images[start : start + chunk] = rows[start : start + chunk]
        del images  # closed, its last chunk takes its place in the file before the columns take theirs
    else:
        import h5py

        encoded = file.create_dataset("encoded", (len(rows),), h5py.vlen_dtype(np.uint8), track_times=False)
        encoded.attrs["encoding"] = encoding
        for i, row in enumerate(rows):  # one by one: h5py takes a list of arrays of equal length for a matrix
            encoded[i] = np.frombuffer(row, np.uint8)
        del encoded
    for name, values in columns.items():
        file.create_dataset(name, data=values, track_times=False)


@dataclass(frozen=True)
class _Frame:
    """What a shard of pixels has around its values."""

    size: int
    between: tuple[tuple[int, bytes], ...]
    """(offset, bytes) of what is not zero."""
    name: int
    """Offset of the set's id."""
    columns: dict[str, int]
    chunk: int
    """Rows of a chunk."""
    chunks: tuple[tuple[int, int], ...]
    """(first row, offset)."""


@lru_cache(maxsize=64)
def _frame(shape: tuple[int, ...], name_length: int, build: str) -> _Frame | None:
    """Let HDF5 lay out a shard full of zeros; None where its name cannot be told from other bytes."""
    import h5py

    mark = "\x7f" * name_length
    zeros = np.zeros(shape, np.uint8)  # the system gives memory for it only where it is written to
    count = shape[0]
    columns: dict[str, NDArray[Any]] = {
        "labels": np.zeros(count, np.int64),
        "index": np.zeros(count, np.int64),
        "pixels": np.zeros((count, 32), np.uint8),
    }
    with h5py.File(f"{secrets.token_hex(16)}.h5", "w", driver="core", backing_store=False, libver=_LIBVER) as f:
        _write(f, zeros, columns, mark, build, "raw")
        f.flush()
        image = sealed(bytes(f.id.get_file_image()))
        images = f["images"].id
        infos = [images.get_chunk_info(i) for i in range(images.get_num_chunks())]
        chunks = tuple(sorted((info.chunk_offset[0], info.byte_offset) for info in infos))
        places = {name: f[name].id.get_offset() for name in columns}
        chunk = f["images"].chunks[0]
    if not name_length or image.count(mark.encode()) != 1:
        return None
    taken = sorted([(offset, chunk * zeros[0].nbytes) for _, offset in chunks] + [(places[n], v.nbytes) for n, v in columns.items()])
    between, end = [], 0
    for offset, size in [*taken, (len(image), 0)]:
        between.append((end, image[end:offset]))
        end = offset + size
    return _Frame(len(image), tuple(between), image.index(mark.encode()), places, chunk, chunks)


def _filled(frame: _Frame, values: Sequence[tuple[int, Piece]]) -> list[Piece]:
    """Return the pieces of a file: what is between, values at their offsets, zeros where there is neither."""
    between = []
    (name_at, name), *rest = values
    for offset, data in frame.between:
        if offset <= name_at < offset + len(data):
            data = data[: name_at - offset] + bytes(name) + data[name_at - offset + len(name) :]
        between.append((offset, data))
    pieces: list[Piece] = []
    end = 0
    for offset, piece in sorted([*between, *rest], key=lambda p: p[0]):
        if not piece:
            continue
        if offset > end:
            pieces.append(bytes(offset - end))
        pieces.append(piece)
        end = offset + len(piece)
    pieces.append(bytes(frame.size - end))
    return pieces
