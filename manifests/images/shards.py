"""Read HDF5 shards, which the module `shard_writer` writes.

A shard holds consecutive samples of one set. It contains these datasets:

* `images`, (N, H, W, C) of uint8, if the encoding is lossless; or `encoded`, N variable-length arrays of uint8 with the
  bytes of JPEG files, which has the attribute `encoding`;
* `labels`, (N,) of int64;
* `index`, (N,) of int64, the indices of the samples;
* `pixel_digest`, (N, 32) of uint8, the blake3 of the corrupted pixels before encoding.

`shard_attributes` returns the attributes of the file. h5py is imported when a shard is opened, because builds of image
files do not need it.
"""

from __future__ import annotations

import itertools
import os
import threading
import weakref
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...files import open_regular
from ..disk.atomic import path_inside
from .arrays import NotAShard

SHARD_SCHEMA = 2
"""The version of the layout of shards, which is independent of the version of the manifest."""
SCHEMA = "corruptset_schema"
ENCODING = "encoding"
RAW = "images"
ENCODED = "encoded"
LABELS = "labels"
INDEX = "index"
PIXEL_DIGEST = "pixel_digest"
MAX_OPEN_SHARDS = 32
"""The number of shards that a process keeps open. By default, systems allow 256 (macOS) or 1,024 open files."""

_STREAMED = 16 << 20
_INHERITED: list[Any] = []
"""Handles that were inherited through a fork. They are never closed, because closing would run HDF5 code on state that
belongs to the parent process.
"""


def shard_attributes(set_id: str, build: str, encoding: str) -> dict[str, str | int]:
    """Return the attributes of a shard.

    `build` is the name and version of the dataset, and `encoding` is an image format, or ``raw`` for pixels.
    """
    return {SCHEMA: SHARD_SCHEMA, "set": set_id, "build": build, ENCODING: encoding}


def _dataset(file: Any, name: str) -> Any:
    """Return an HDF5 dataset that is stored in the file itself.

    Links are refused, because they could lead out of the file.
    """
    import h5py

    link = file.get(name, getlink=True)
    if link is None:
        raise NotAShard(f"has no dataset {name!r}")
    if not isinstance(link, h5py.HardLink):
        raise NotAShard(f"{name!r} is a link")
    dataset = file[name]
    if not isinstance(dataset, h5py.Dataset):
        raise NotAShard(f"{name!r} is not a dataset")
    if dataset.external or dataset.is_virtual:
        raise NotAShard(f"{name!r} is stored in other files")
    return dataset


class Shard:
    """An open shard. The constructor raises `NotAShard` if the file is not a shard."""

    def __init__(self, path: Path) -> None:
        import h5py

        open_regular(path).close()  # fails for a pipe, on which HDF5 would wait for a writer
        # no locking, because network file systems often refuse it and finished datasets are never written to
        self._file = h5py.File(path, "r", locking=False)
        try:
            self.encoded = RAW not in self._file
            self.images = _dataset(self._file, ENCODED if self.encoded else RAW)
            kind = h5py.check_vlen_dtype(self.images.dtype) if self.encoded else self.images.dtype
            if kind != np.uint8 or self.images.ndim != (1 if self.encoded else 4):
                raise NotAShard(f"{self.images.name} has shape {self.images.shape} and type {self.images.dtype}")
            self.rows = int(self.images.shape[0])
            # shards are not compressed, so a larger size is wrong and could fill the memory
            if max(self.images.nbytes, self.rows) > os.path.getsize(path):
                raise NotAShard(
                    f"{self.images.name} states {self.images.nbytes} bytes, which is more than the file has"
                )
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def block(self, start: int, stop: int) -> NDArray[np.uint8]:
        """Return consecutive stored rows: pixels, or arrays of encoded bytes."""
        return np.array(self.images[start:stop])

    def stream(self, start: int, stop: int) -> Iterator[NDArray[np.uint8]]:
        """Yield stored rows, which are read in blocks.

        A block has at most 16 MB of pixels (but at least one row), or 64 encoded images.
        """
        step = 64
        if not self.encoded:
            step = max(1, min(512, _STREAMED // max(1, int(np.prod(self.images.shape[1:])))))
        for first in range(start, stop, step):
            yield from self.block(first, min(first + step, stop))

    def column(self, name: str) -> NDArray[Any]:
        """Return a column, or raise `NotAShard` if it does not have one entry per row."""
        dataset = _dataset(self._file, name)
        shape: tuple[int, ...] = (self.rows,)
        dtype: np.dtype[Any] = np.dtype(np.int64)
        if name == PIXEL_DIGEST:
            shape, dtype = (self.rows, 32), np.dtype(np.uint8)
        if (dataset.shape, dataset.dtype) != (shape, dtype):
            raise NotAShard(
                f"{name!r} has shape {dataset.shape} and type {dataset.dtype}, but {shape} and {dtype} are expected"
            )
        return np.asarray(dataset[()])


class _OpenShards:
    """The open shards of a process. The least recently used ones are closed.

    All datasets share these shards, so that a process with many sets does not run out of file descriptors. HDF5 handles
    that are inherited through a fork read wrong bytes, so a forked worker opens its files again.
    """

    def __init__(self) -> None:
        self.pid = os.getpid()
        self.shards: OrderedDict[tuple[int, str], Shard] = OrderedDict()
        # a cache may be garbage-collected, and close its shards, in a thread that already holds the lock
        self.lock = threading.RLock()

    def close(self, cache: int) -> None:
        """Close the shards of one cache."""
        if self.pid == os.getpid():
            with self.lock:
                for key in [key for key in self.shards if key[0] == cache]:
                    self.shards.pop(key).close()


_open = _OpenShards()
_numbers = itertools.count()


class ShardCache:
    """The shards of one set. They are opened on first use, and again after a fork or unpickling."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._number = next(_numbers)
        weakref.finalize(self, lambda number: _open.close(number), self._number)

    def __reduce__(self) -> tuple[type[ShardCache], tuple[Path]]:
        return ShardCache, (self._directory,)

    @contextmanager
    def opened(self, path: str) -> Iterator[Shard]:
        """Yield the open shard at `path`, to one thread at a time."""
        global _open
        if _open.pid != os.getpid():
            # this process was forked, and the lock may be held by a thread that exists only in the parent process
            _INHERITED.append(_open)
            _open = _OpenShards()
        with _open.lock:
            key = self._number, path
            shard = _open.shards.pop(key, None) or Shard(path_inside(self._directory, path))
            _open.shards[key] = shard
            while len(_open.shards) > MAX_OPEN_SHARDS:
                _open.shards.popitem(last=False)[1].close()
            yield shard
