"""HDF5 shards: their layout, and their reader. `shard_writer` writes them.

A shard holds consecutive samples of one set: `images` (N, H, W, C) uint8 where the encoding is lossless, or `encoded`,
N variable-length uint8 arrays (the exact bytes of a JPEG file), with the attribute `encoding`; beside them `labels`
int64, `index` int64 (the samples' index) and `pixel_digest` (N, 32) uint8 (the blake3 of the pixels as corrupted).
`shard_attributes` are the attributes of the file.

h5py is imported where a shard is opened: builds of files, and the process that reads others' HDF5 files, need the names
alone.
"""

from __future__ import annotations

import itertools
import os
import threading
import weakref
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...files import open_regular
from ..disk.atomic import inside
from .arrays import ArrayFile, NotAShard, Rows

SHARD_SCHEMA = 2
"""The version of the layout of shards, which differs from the version of the manifest."""
SCHEMA = "corruptset_schema"
ENCODING = "encoding"
RAW = "images"
ENCODED = "encoded"
LABELS = "labels"
INDEX = "index"
PIXEL_DIGEST = "pixel_digest"
MAX_OPEN_SHARDS = 32
"""Files that a process keeps open. Systems allow 256 (macOS) or 1,024."""

_INHERITED: list[Any] = []
"""Handles that came over a fork. They are kept, not closed: closing would run HDF5 code on state that belongs to the
parent.
"""


def shard_attributes(set_id: str, build: str, encoding: str) -> dict[str, str | int]:
    """Return the attributes of a shard of a build, ``<name> <version>``; `encoding` may be ``raw``."""
    return {SCHEMA: SHARD_SCHEMA, "set": set_id, "build": build, ENCODING: encoding}


def _attribute_problems(where: str, attributes: Any, expected: Mapping[str, Any]) -> Iterator[str]:
    for name in sorted({*attributes, *expected}):
        if name not in expected:
            yield f"{where} has the attribute {name!r}, which no shard has"
        elif name not in attributes:
            yield f"{where} has no attribute {name!r}; expected is {expected[name]!r}"
        elif not isinstance(value := attributes[name], (str, np.integer)) or value != expected[name]:
            stored = repr(value if isinstance(value, str) else str(value))
            yield f"its attribute {name!r} is {stored[:80]}; expected is {expected[name]!r}"


def _dataset(file: Any, name: str) -> Any:
    """Return a dataset of the file itself: links could lead out of it."""
    import h5py

    link = file.get(name, getlink=True)
    if link is None:
        raise NotAShard(f"has no data set {name!r}")
    if not isinstance(link, h5py.HardLink):
        raise NotAShard(f"{name!r} is a link")
    dataset = file[name]
    if not isinstance(dataset, h5py.Dataset):
        raise NotAShard(f"{name!r} is not a data set")
    if dataset.external or dataset.is_virtual:
        raise NotAShard(f"{name!r} is stored in other files")
    return dataset


class Shard(Rows):
    """An open shard, or NotAShard where the file is none."""

    def __init__(self, path: Path) -> None:
        import h5py

        open_regular(path).close()  # the library would wait for whoever writes to a pipe
        # no locking: network file systems often refuse it, and nobody writes to a finished data set
        self._file = h5py.File(path, "r", locking=False)
        try:
            self.encoded = RAW not in self._file
            self.images = _dataset(self._file, ENCODED if self.encoded else RAW)
            kind = h5py.check_vlen_dtype(self.images.dtype) if self.encoded else self.images.dtype
            if kind != np.uint8 or self.images.ndim != (1 if self.encoded else 4):
                raise NotAShard(f"{self.images.name} has shape {self.images.shape} and type {self.images.dtype}")
            self.rows = int(self.images.shape[0])
            # shards are not compressed: one that claims more than it has could fill the memory
            if max(self.images.nbytes, self.rows) > os.path.getsize(path):
                raise NotAShard(f"{self.images.name} claims {self.images.nbytes} bytes, more than the file has")
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def strangers(self, expected: Mapping[str, Any]) -> Iterator[str]:
        """Yield what a build does not write: further data, links and attributes."""
        stored = ENCODED if self.encoded else RAW
        names = {stored, LABELS, INDEX, PIXEL_DIGEST}
        for name in sorted(set(self._file) - names):
            yield f"holds {name!r}, which no shard has"
        yield from _attribute_problems("it", self._file.attrs, expected)
        for name in sorted(names & set(self._file)):
            dataset = _dataset(self._file, name)
            yield from _attribute_problems(
                repr(name), dataset.attrs, {ENCODING: expected[ENCODING]} if name == ENCODED else {}
            )

    def column(self, name: str) -> NDArray[Any]:
        """Return a column beside the images; NotAShard where it has not one entry a row."""
        dataset = _dataset(self._file, name)
        shape, dtype = (self.rows,), np.dtype(np.int64)
        if name == PIXEL_DIGEST:
            shape, dtype = (self.rows, 32), np.dtype(np.uint8)
        if (dataset.shape, dataset.dtype) != (shape, dtype):
            raise NotAShard(
                f"{name!r} has shape {dataset.shape} and type {dataset.dtype}, expected {shape} and {dtype}"
            )
        return np.asarray(dataset[()])


def open_rows(path: Path) -> Shard | ArrayFile:
    """Return an open file of many images: an array (.npy), else an HDF5 shard."""
    return ArrayFile(path) if path.suffix == ".npy" else Shard(path)


class _OpenShards:
    """The open shards of a process, of which the least recently used are closed.

    All datasets share them, so that a process with many sets does not run out of file descriptors. An HDF5 handle that
    is shared over a fork reads wrong bytes, so a forked worker opens its files again.
    """

    def __init__(self) -> None:
        self.pid = os.getpid()
        self.shards: OrderedDict[tuple[int, str], Shard | ArrayFile] = OrderedDict()
        # a cache may be collected, and close its shards, in a thread that holds the lock
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
    """The shards of one set, opened when they are read first, and again after a fork or unpickling."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._number = next(_numbers)
        weakref.finalize(self, lambda number: _open.close(number), self._number)

    def __reduce__(self) -> tuple[type[ShardCache], tuple[Path]]:
        return ShardCache, (self._directory,)

    @contextmanager
    def opened(self, path: str) -> Iterator[Shard | ArrayFile]:
        """Yield the open shard at `path`, to one thread at a time."""
        global _open
        if _open.pid != os.getpid():
            # a thread that does not exist in this process may hold the lock
            _INHERITED.append(_open)
            _open = _OpenShards()
        with _open.lock:
            key = self._number, path
            shard = _open.shards.pop(key, None) or open_rows(inside(self._directory, path))
            _open.shards[key] = shard
            while len(_open.shards) > MAX_OPEN_SHARDS:
                _open.shards.popitem(last=False)[1].close()
            yield shard
