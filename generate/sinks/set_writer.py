"""What a part makes of one set: each image hashed, put away, and described in one line, as it comes.

A set of small images costs little more than its hashes, so nothing is made for an image that is not needed: no copy, no record object.
The images of an array go into one block of memory, and from there to the disk.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import mmap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...corruptions.registry import Images
from ...errors import BuildError
from ...manifests.records.digests import sha256_bytes
from ..pixels.encoding import Encoding
from ..pixels.hashes import hashes
from ..pixels.metrics import Measured, measure
from ..plan.parts import Run
from ..views.layout import Layout
from .files import FolderSink
from .shards import shard_path

_json = json.JSONEncoder(ensure_ascii=False).encode  # json.dumps would make an encoder for every call


@dataclass(frozen=True)
class Where:
    """Where the images of a build go."""

    containers: tuple[str, ...]
    encoding: Encoding
    folder: FolderSink | None
    """Given where there are files of single images."""
    layout: Layout | None
    """Of ``build --view``."""
    files: Mapping[int, tuple[str, str]]
    """Sample -> its class's folder and its id."""


_blocks: list[mmap.mmap] = []
"""Blocks of memory that held rows, for the next sets: a page that the kernel has to clear and map anew costs more than the copy into it."""


def _block(size: int) -> mmap.mmap:
    """Return memory of at least `size` bytes; what it holds is not defined.

    It is the kernel's and not malloc's, which would keep freed blocks in pieces, and a worker would hold a quarter more.
    """
    with contextlib.suppress(IndexError):  # none is left
        while True:
            block = _blocks.pop()
            if size <= len(block) <= 2 * size:
                return block
    return mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)


def forget_blocks() -> None:
    """Let go of the memory that is kept for rows."""
    _blocks.clear()


class SetWriter:
    """The images of one set x one run; `add` takes them batch by batch."""

    def __init__(self, set_id: str, run: Run, where: Where, measured: frozenset[int]) -> None:
        self.set_id = set_id
        self.run = run
        self.pixels: list[str] = [""] * run.count
        """BLAKE3 of each image's pixels, hexadecimal, without a prefix."""
        self.files = 0
        self.bytes = 0
        self.encoded: list[bytes] = [b""] * run.count
        """Images for a shard, where they are encoded."""
        self.metrics: dict[int, Measured] = {}
        """Sample -> its metrics, of some."""
        self._where = where
        self._measured = measured
        self._stored: list[str] = [""] * run.count
        self._rows: NDArray[np.uint8] | None = None
        self._block: mmap.mmap | None = None
        self._arrays: dict[str, list[int]] = {}
        self._numbers: list[int] = []
        self._in_shard_alone = False
        self._left = run.count
        self._shard = _json(shard_path(set_id, run.number))

    def add(self, positions: Sequence[int], images: Images, clean: Images) -> None:
        """Put images away.

        Parameters
        ----------
        positions : sequence of int
            Where they stand in the run.
        images, clean : (N, H, W, C) ndarray of uint8

        Raises
        ------
        BuildError
            Images of different shapes were to go into one array.
        MachineError
            An image cannot be encoded.
        OSError
            The disk is full or fails.
        """
        images = np.ascontiguousarray(images)
        for position, digest in zip(positions, hashes(images), strict=True):
            self.pixels[position] = digest
        if self._where.layout is not None:
            self._add_to_view(positions, images, self._where.layout)
        elif self._where.folder is None and self._where.encoding.lossless:
            self._add_rows(positions, images)
            self._in_shard_alone = True
        else:
            self._add_encoded(positions, images, self._where.folder)
        self._left -= len(positions)
        first = self.run.first
        for k, position in enumerate(positions):
            if first + position in self._measured:
                self.metrics[first + position] = measure(clean[k], images[k])

    @property
    def whole(self) -> bool:
        """Say whether all images are there."""
        return not self._left

    def lines(self) -> bytes:
        """Return the rows of the set's records: JSON lines, in sample order."""
        first = self.run.first
        both = zip(self.pixels, self._stored, strict=True)
        return "".join([f'{{"index": {i}, "pixels": "blake3:{p}", "files": [{f}]}}\n' for i, (p, f) in enumerate(both, first)]).encode()

    @property
    def rows(self) -> NDArray[np.uint8]:
        """The pixels of images that go into an array, (N, H, W, C), in sample order."""
        assert self._rows is not None
        return self._rows

    def arrays(self) -> Mapping[str, tuple[list[int], NDArray[np.uint8]]]:
        """Return path of an array of the view -> numbers of its rows, and their pixels."""
        return {path: ([self._numbers[p] for p in own], self.rows[own[0] : own[-1] + 1] if _adjoin(own) else self.rows[own])
                for path, own in self._arrays.items()}  # fmt: skip

    def describe_rows(self) -> None:
        """Hash and describe the images that are only in an array, once all of them are there: the next set can be made meanwhile."""
        positions = range(self.run.count)
        places: list[tuple[str, Sequence[int], Sequence[int]]]
        places = [(_json(path), own, self._numbers) for path, own in self._arrays.items()]
        if self._in_shard_alone:
            places.append((self._shard, positions, positions))
        if self._rows is None or not places:
            return
        size = self._rows[0].nbytes
        view = self._rows.reshape(-1).data
        rest = f', "bytes": {size}, "sha256": "sha256:'
        sha256 = hashlib.sha256
        for path, own, numbers in places:
            start = f'{{"path": {path}, "row": '
            for position in own:
                digest = sha256(view[position * size : (position + 1) * size]).hexdigest()
                self._stored[position] = f'{start}{numbers[position]}{rest}{digest}"}}'
            self.files += len(own)
            self.bytes += size * len(own)

    def let_go(self) -> None:
        """Free the images, which nobody may look at any more; what describes them stays."""
        self._rows = None
        if self._block is not None:
            _blocks.append(self._block)
            self._block = None
        self.encoded = []

    def _add_rows(self, positions: Sequence[int], images: Images) -> None:
        if self._rows is None:
            shape = (self.run.count, *images.shape[1:])
            size = math.prod(shape)
            self._block = _block(size)
            self._rows = np.frombuffer(self._block, np.uint8, size).reshape(shape)
        elif self._rows.shape[1:] != images.shape[1:]:
            shapes = sorted([self._rows.shape[1:], images.shape[1:]])
            raise BuildError(
                f"Set {self.set_id}, samples {self.run.first} to {self.run.stop - 1}: images of several shapes ({shapes}) do not fit into "
                "one array of pixels. Use --format folder, or a recipe whose preprocessing makes all images equal."
            )
        if _adjoin(positions):
            self._rows[positions[0] : positions[-1] + 1] = images
        else:
            self._rows[list(positions)] = images

    def _add_encoded(self, positions: Sequence[int], images: Images, folder: FolderSink | None) -> None:
        """Write encoded images, into files, for a shard or both."""
        lossless = self._where.encoding.lossless
        shard = "hdf5" in self._where.containers
        if shard and lossless:
            self._add_rows(positions, images)
        for k, position in enumerate(positions):
            data = self._where.encoding.encode(images[k])
            digest = sha256_bytes(data)
            stored = []
            if folder is not None:
                path = folder.path(self.set_id, *self._where.files[self.run.first + position])
                folder.write(path, data)
                stored.append(_file(_json(path), "null", len(data), digest))
                self.bytes += len(data)
            if shard:
                size = images[k].nbytes if lossless else len(data)
                digest = sha256_bytes(images[k].data) if lossless else digest
                stored.append(_file(self._shard, position, size, digest))
                self.bytes += size
                if not lossless:
                    self.encoded[position] = data
            self._stored[position] = ", ".join(stored)
            self.files += len(stored)

    def _add_to_view(self, positions: Sequence[int], images: Images, layout: Layout) -> None:
        places = [layout.location(self.set_id, self.run.first + p) for p in positions]
        by_path: dict[str, list[int]] = {}
        numbers = self._numbers = self._numbers or [0] * self.run.count
        for k, (path, number) in enumerate(places):
            if number is None:
                data = self._where.encoding.encode(images[k])
                assert self._where.folder is not None
                self._where.folder.write(path, data)
                self._stored[positions[k]] = _file(_json(path), "null", len(data), sha256_bytes(data))
                self.files += 1
                self.bytes += len(data)
            else:
                numbers[positions[k]] = number
                by_path.setdefault(path, []).append(k)
        if by_path:
            self._add_rows(positions, images)
        for path, some in by_path.items():
            self._arrays.setdefault(path, []).extend(positions[k] for k in some)


def _file(path: str, row: Any, size: int, sha256: str) -> str:
    """Return the JSON of a file's record; `path` is JSON already."""
    return f'{{"path": {path}, "row": {row}, "bytes": {size}, "sha256": "{sha256}"}}'


def _adjoin(positions: Sequence[int]) -> bool:
    """Say whether positions follow each other."""
    return positions[-1] - positions[0] + 1 == len(positions) and all(b > a for a, b in pairwise(positions))
