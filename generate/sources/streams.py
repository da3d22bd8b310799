"""Bytes at offsets of files, gzipped or not: what sources of rows and archives are read through.

A gzipped file can only be read from its beginning. Each process keeps one open stream and one window of what it holds
decompressed, so reading forwards is one pass over the file and memory stays at the window, whatever the file's size.
"""

from __future__ import annotations

import gzip
import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from ...errors import SourceError
from .base import BadSample

WINDOW = 8 << 20
GZIP_MAGIC = b"\x1f\x8b"
MAX_EXPANDED = 8 << 30
"""Bytes that a gzipped file may expand to: CIFAR and MNIST stay far below, a bomb does not."""


@dataclass(frozen=True)
class Place:
    """Bytes of a file: from an offset (of what it holds decompressed, if it is gzipped), so many."""

    path: Path
    offset: int
    size: int
    zipped: bool = False

    def part(self, start: int, size: int) -> Place:
        """Return a stretch of these bytes."""
        return Place(self.path, self.offset + start, size, self.zipped)


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Turn what goes wrong with a file's bytes into a `SourceError`."""
    try:
        yield
    except EOFError:
        raise SourceError(f"{path} is cut: it ends in the middle of its compressed data. Download it again.") from None
    except (zlib.error, gzip.BadGzipFile) as e:
        raise SourceError(f"{path} is damaged: its compressed data cannot be read ({e}). Download it again.") from None
    except OSError as e:
        raise SourceError(f"{path} cannot be read: {e.strerror or e}. Mend its permissions, or copy it again.") from None


def is_zipped(path: Path) -> bool:
    """Whether a file is gzipped, by its first bytes."""
    with reading(path), path.open("rb") as f:
        return f.read(2) == GZIP_MAGIC


def read_to_end(file: IO[bytes] | gzip.GzipFile, path: Path, size: int = 0) -> int:
    """Read a gzipped file that is open to its end, so that its checksums are held to; return the size of what it holds.

    Parameters
    ----------
    size : int
        What was read before.

    Raises
    ------
    SourceError
        It is cut or damaged, or expands beyond `MAX_EXPANDED`.
    """
    while block := file.read(1 << 20):
        size += len(block)
        if size > MAX_EXPANDED:
            raise SourceError(f"{path} expands to more than {MAX_EXPANDED:,} bytes: it is not what its name says.")
    return size


def expanded_size(path: Path) -> int:
    """Return the size of what a gzipped file holds; see `read_to_end`."""
    with reading(path), gzip.open(path, "rb") as file:
        return read_to_end(file, path)


def read_place(place: Place) -> bytes | bytearray:
    """Return the bytes of a place.

    Raises
    ------
    SourceError
        The file cannot be read, or ends before.
    """
    with reading(place.path):
        data = _read(place)
    if len(data) != place.size:
        raise SourceError(f"{place.path} is cut: it ends {place.size - len(data):,} bytes before it should. Download it again.")
    return data


def read_row(place: Place) -> bytes | bytearray:
    """Return the bytes of a sample's place, or raise `BadSample`."""
    try:
        return read_place(place)
    except SourceError as e:
        raise BadSample(f"cannot be read any more: {e}") from None


def _read(place: Place) -> bytes | bytearray:
    if place.zipped:
        return _unzipped(place)
    fd = os.open(place.path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    with os.fdopen(fd, "rb") as f:
        f.seek(place.offset)
        return f.read(place.size)


@dataclass
class _Stream:
    """The gzipped file that this process reads."""

    path: Path
    stamp: tuple[int, int, int]
    file: gzip.GzipFile
    start: int = 0
    window: bytes | bytearray = b""


_stream: _Stream | None = None


def _unzipped(place: Place) -> bytes | bytearray:
    global _stream
    status = place.path.stat()
    stamp = (status.st_ino, status.st_size, status.st_mtime_ns)
    if _stream is None or (_stream.path, _stream.stamp) != (place.path, stamp):
        if _stream is not None:
            _stream.file.close()
        _stream = None
        _stream = _Stream(place.path, stamp, gzip.GzipFile(place.path, "rb"))
    if place.size > WINDOW:
        return _forward(_stream, place.offset, place.size)
    inside = place.offset - _stream.start
    if inside < 0 or inside + place.size > len(_stream.window):
        _stream.window = b""  # let go of the old one before the new one comes
        _stream.window = _forward(_stream, place.offset, WINDOW)
        _stream.start, inside = place.offset, 0
    return bytes(_stream.window[inside : inside + place.size])


def _forward(stream: _Stream, offset: int, size: int) -> bytearray:
    """Return bytes from an offset on, fewer where the stream ends; in one piece of memory, for they may be many."""
    try:
        stream.file.seek(offset)
        data = bytearray()
        while size > len(data) and (block := stream.file.read(min(size - len(data), 1 << 20))):
            data += block
        return data
    except (EOFError, zlib.error, OSError):
        global _stream
        _stream = None
        raise
