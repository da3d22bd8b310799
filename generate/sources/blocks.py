"""Blocks of rows: equal images, one behind the other in one file, their bytes arranged and digested many at a time."""

from __future__ import annotations

import codecs
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .streams import Place, Stamp, read_place, read_row, stamp

PIECE = 1 << 20
"""Bytes of rows that are read at once, about."""
TEXT_PIECE = 1 << 18
"""Bytes of text that are looked through at once: where their letters begin takes eight times the memory."""
AHEAD = 256
"""Rows that are read with the one that is asked for, at most."""
_DIGEST = 32


@dataclass(frozen=True)
class Digests:
    """The sha256 of rows as they were when the file was looked through."""

    stamp: Stamp
    """Of the file, then."""
    data: bytes
    """32 bytes a row."""


@dataclass(frozen=True)
class Block:
    """Equal rows, one behind the other in one file."""

    split: str
    place: Place
    rows: int
    stride: int
    """Bytes from one row to the next."""
    skip: int
    """Bytes before the pixels in a row: the labels of CIFAR's binary form."""
    shape: tuple[int, int, int]
    """(H, W, C)"""
    planes: bool
    """Whether a row holds its channels one behind the other, as CIFAR's do."""
    starts: NDArray[np.int64] | None = None
    """Where rows begin (and the last one ends) if they are of unequal length: bytes that were pickled as Latin-1 text,
    of which UTF-8 makes one byte or two."""
    digests: Digests | None = field(default=None, compare=False, repr=False)
    """Known where the rows were read anyway, to list them. A copy for another process is without."""

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "digests": None}

    @property
    def size(self) -> int:
        """Bytes of a row's pixels."""
        height, width, channels = self.shape
        return height * width * channels

    def read(self, first: int, count: int) -> NDArray[np.uint8]:
        """Return consecutive rows as (N, H, W, C), C-contiguous and writable; or raise `BadSample`."""
        if self.starts is None:
            data = read_row(self.place.part(first * self.stride, count * self.stride))
            return self._arranged(np.frombuffer(data, np.uint8).reshape(count, self.stride)[:, self.skip :])
        start, stop = int(self.starts[first]), int(self.starts[first + count])
        data = read_row(self.place.part(start, stop - start)).decode("utf-8").encode("latin-1")
        return self._arranged(np.frombuffer(data, np.uint8).reshape(count, self.size))

    def known(self, row: int) -> str | None:
        """Return the sha256 of a row's pixels, (H, W, C) in C order, if it is known and the file is still the same."""
        if self.digests is None:
            return None
        try:
            if stamp(self.place.path) != self.digests.stamp:
                return None
        except OSError:
            return None
        return f"sha256:{self.digests.data[row * _DIGEST : (row + 1) * _DIGEST].hex()}"

    def digested(self, columns: NDArray[np.uint8] | None = None) -> Block:
        """Return the block with its rows' digests; they are read for it, once, in pieces.

        Parameters
        ----------
        columns : (rows, skip) ndarray of uint8, optional
            Given what stands in front of the pixels.

        Raises
        ------
        SourceError
            The file cannot be read, or ends before.
        """
        before = stamp(self.place.path)
        found = bytearray()
        step = max(1, PIECE // self.stride)
        for first in range(0, self.rows, step):
            count = min(step, self.rows - first)
            data = read_place(self.place.part(first * self.stride, count * self.stride))
            rows = np.frombuffer(data, np.uint8).reshape(count, self.stride)
            if columns is not None:
                columns[first : first + count] = rows[:, : self.skip]
            found += self._hashed(rows[:, self.skip :])
        return replace(self, digests=Digests(before, bytes(found)))

    def digested_text(self) -> Block | None:
        """Return a block of which only the place and the shape are right, with its rows, where they begin, and their digests.

        None where the place does not hold the text of whole rows.

        Raises
        ------
        SourceError
            The file cannot be read, or ends before.
        """
        before = stamp(self.place.path)
        found, starts, letters, rest = bytearray(), [], 0, b""
        try:
            for at, data, text in _texts(self.place):
                begins = np.flatnonzero((np.frombuffer(data, np.uint8) & 0xC0) != 0x80)
                # of the letters, those with which a row begins
                starts.append(begins[-letters % self.size :: self.size] + at)
                letters += len(begins)
                rest += text.encode("latin-1")
                rows = len(rest) // self.size
                found += self._hashed(np.frombuffer(rest, np.uint8, rows * self.size).reshape(rows, self.size))
                rest = rest[rows * self.size :]
        except UnicodeError:
            return None
        if rest or not letters:
            return None
        begun = np.concatenate([*starts, [self.place.size]]).astype(np.int64)
        return replace(self, rows=len(begun) - 1, starts=begun, digests=Digests(before, bytes(found)))

    def _arranged(self, rows: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """Return pixels as they lie, (N, H * W * C), as new (N, H, W, C)."""
        height, width, channels = self.shape
        if not self.planes:
            return np.array(rows.reshape(-1, *self.shape))
        planes = rows.reshape(-1, channels, height, width)
        out = np.empty((len(rows), *self.shape), np.uint8)
        for channel in range(channels):  # four times as fast as all channels at once
            out[..., channel] = planes[:, channel]
        return out

    def _hashed(self, rows: NDArray[np.uint8]) -> bytes:
        data = self._arranged(rows).reshape(-1).data
        return b"".join(hashlib.sha256(data[at : at + self.size]).digest() for at in range(0, len(data), self.size))


def _texts(place: Place) -> Iterator[tuple[int, bytes, str]]:
    """Yield a place in pieces: where a piece begins, its bytes, and the text that is whole with it."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    for at in range(0, place.size, TEXT_PIECE):
        size = min(TEXT_PIECE, place.size - at)
        data = read_place(place.part(at, size))
        yield at, data, decoder.decode(data, at + size == place.size)


@dataclass
class _Window:
    """Rows that were read together."""

    block: Block
    stamp: Stamp
    first: int
    images: NDArray[np.uint8]


_window: _Window | None = None


def read_image(block: Block, row: int) -> NDArray[np.uint8]:
    """Return a row as (H, W, C), C-contiguous, writable, memory of its own; or raise `BadSample`.

    Rows that are asked for in order are read ahead, twice as many each time.
    """
    global _window
    try:
        now = stamp(block.place.path)
    except OSError:
        now = (0, 0, 0)  # reading it will say what is wrong
    last, _window = _window, None
    if block.size > PIECE:
        alone: NDArray[np.uint8] = block.read(row, 1)[0]
        return alone
    if last is None or last.block is not block or last.stamp != now:
        last = _Window(block, now, row, block.read(row, 1))
    elif not 0 <= row - last.first < len(last.images):
        follows = row == last.first + len(last.images)
        most = max(1, min(AHEAD, PIECE // block.size, block.rows - row))
        last = _Window(block, now, row, block.read(row, min(2 * len(last.images), most) if follows else 1))
    _window = last
    image: NDArray[np.uint8] = last.images[row - last.first].copy()
    return image
