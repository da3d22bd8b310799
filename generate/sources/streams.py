"""Bytes at offsets of files, gzipped or not: what sources of rows and archives are read through.

A gzipped file can only be unpacked from its beginning. Each process keeps its place in the one that it reads, and every
few megabytes what the unpacking needs to go on from there: what is asked for in order is one pass over the file, and going
back costs a few megabytes more. Memory stays at a few megabytes, whatever the file's size.
"""

from __future__ import annotations

import bisect
import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from ...errors import SourceError
from ...files import UnfitFile, open_regular
from .source import BadSample

CHUNK = 256 << 10
"""Bytes that are unpacked at once, at most: what is asked for within the last ones costs nothing."""
PACKED = 16 << 10
"""Bytes of a gzipped file that are read at once."""
SAVE_EVERY = 2 << 20
MOST_SAVED = 64
"""Places of a file that are kept to go back to: 40 to 60 kB each. Where there are more, every second one is let go."""
MOST_OPEN = 2
"""Gzipped files that a process keeps its place in: MNIST's rows come from two."""
GZIP_MAGIC = b"\x1f\x8b"
_GZIP = 16 + zlib.MAX_WBITS
"""zlib's name for the format of gzip; its checksums are held to at the end of each member."""
MAX_EXPANDED = 8 << 30
"""Bytes that a gzipped file may expand to: CIFAR and MNIST stay far below, a bomb does not."""

Stamp = tuple[int, int, int]


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
    except zlib.error as e:
        raise SourceError(f"{path} is damaged: its compressed data cannot be read ({e}). Download it again.") from None
    except UnfitFile as e:
        raise SourceError(str(e)) from None
    except OSError as e:
        raise SourceError(f"{path} cannot be read: {e.strerror or e}. Mend its permissions, or copy it again.") from None


def is_zipped(path: Path) -> bool:
    """Whether a file is gzipped, by its first bytes."""
    with reading(path), open_regular(path) as f:
        return f.read(2) == GZIP_MAGIC


def stamp(path: Path) -> Stamp:
    """Return what tells a file from another of its name, or from itself before it was written to."""
    return _stamp(path.stat())


def _stamp(status: os.stat_result) -> Stamp:
    return status.st_ino, status.st_size, status.st_mtime_ns


def expanded_size(path: Path) -> int:
    """Return the size of what a gzipped file holds: it is read to its end, so that its checksums are held to.

    Raises
    ------
    SourceError
        It is cut or damaged, or expands beyond `MAX_EXPANDED`.
    """
    with reading(path):
        size = unpacking(path).size(MAX_EXPANDED)
    if size is None:
        raise SourceError(f"{path} expands to more than {MAX_EXPANDED:,} bytes: it is not what its name says.")
    return size


def read_place(place: Place) -> bytes:
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


def read_row(place: Place) -> bytes:
    """Return the bytes of a sample's place, or raise `BadSample`."""
    try:
        return read_place(place)
    except SourceError as e:
        raise BadSample(f"cannot be read any more: {e}") from None


def _read(place: Place) -> bytes:
    if place.zipped:
        return unpacking(place.path).read(place.offset, place.size)
    with open_regular(place.path) as f:
        f.seek(place.offset)
        return f.read(place.size)


@dataclass(frozen=True)
class _Saved:
    """A place in a gzipped file that unpacking can go on from."""

    offset: int
    """In what is unpacked."""
    packed: int
    """In the file."""
    unpack: zlib._Decompress


class Unpacking:
    """A gzipped file, read at offsets of what it holds.

    Parameters
    ----------
    path : Path
        Opened now, closed when this is let go.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = open_regular(path)
        self._fd = self._file.fileno()
        self.stamp = _stamp(os.fstat(self._fd))
        self._saved = [_Saved(0, 0, zlib.decompressobj(_GZIP))]
        self._every = SAVE_EVERY
        self._return(self._saved[0])

    def __del__(self) -> None:
        if hasattr(self, "_file"):
            self._file.close()

    def read(self, offset: int, size: int) -> bytes:
        """Return the bytes from an offset on, fewer where the file ends.

        Raises
        ------
        EOFError, zlib.error, OSError
            It is cut, damaged, or cannot be read.
        """
        data = self.some(offset, size)
        if len(data) in (0, size):
            return data
        found = bytearray(data)
        while len(found) < size and (data := self.some(offset + len(found), size - len(found))):
            found += data
        return bytes(found)

    def some(self, offset: int, most: int) -> bytes:
        """Return some bytes from an offset on, as many as are there without work; none where the file ends."""
        with self._careful():
            self._go(offset)
        start = offset - self._start
        return self._chunk[start : start + most]

    def size(self, most: int) -> int | None:
        """Return how many bytes the file holds, read to its end; None where they are more than `most`."""
        with self._careful():
            while self._start + len(self._chunk) <= most:
                if not self._next():
                    return self._start + len(self._chunk)
        return None

    @contextmanager
    def _careful(self) -> Iterator[None]:
        try:
            yield
        except (EOFError, zlib.error, OSError):
            self._return(self._saved[0])  # whoever reads on comes to the same mistake again
            raise

    def _go(self, offset: int) -> None:
        """Unpack up to the chunk that an offset is in, from the nearest place before it."""
        nearest = self._saved[bisect.bisect_right(self._saved, offset, key=lambda s: s.offset) - 1]
        if offset < self._start or nearest.offset > self._start + len(self._chunk):
            self._return(nearest)
        while offset >= self._start + len(self._chunk) and self._next():
            pass

    def _return(self, saved: _Saved) -> None:
        self._start, self._chunk = saved.offset, b""
        self._at, self._packed = saved.packed, b""
        self._unpack = saved.unpack.copy()

    def _next(self) -> bool:
        """Unpack the next chunk; return whether there was one."""
        end = self._start + len(self._chunk)
        if end - self._saved[-1].offset >= self._every and not self._unpack.eof:
            self._save(end)
        while True:
            if self._unpack.eof:
                # Members may follow each other, with zeros between them and at the end.
                self._packed = self._packed.lstrip(b"\0")
                if not self._packed:
                    if not self._take():
                        return False
                    continue
                self._unpack = zlib.decompressobj(_GZIP)
            cut = not self._packed and not self._take()
            data = self._unpack.decompress(self._packed, CHUNK)
            self._packed = self._unpack.unused_data if self._unpack.eof else self._unpack.unconsumed_tail
            if data:
                self._start, self._chunk = end, data
                return True
            if cut and not self._unpack.eof:
                raise EOFError

    def _take(self) -> bool:
        """Read on in the file; return whether there was more. Not through the file's own position, which processes may share."""
        self._packed = os.pread(self._fd, PACKED, self._at)
        self._at += len(self._packed)
        return bool(self._packed)

    def _save(self, offset: int) -> None:
        self._saved.append(_Saved(offset, self._at - len(self._packed), self._unpack.copy()))
        if len(self._saved) > MOST_SAVED:
            self._saved = self._saved[::2]
            self._every *= 2


_open_files: list[Unpacking] = []
"""The gzipped files that this process reads, the last one first."""


def unpacking_anew(path: Path) -> Unpacking:
    """Return the gzipped file of a path at its beginning, whatever was known of it: what is listed is what is there now."""
    _open_files[:] = [f for f in _open_files if f.path != path]
    return unpacking(path)


def unpacking(path: Path) -> Unpacking:
    """Return the gzipped file of a path, at the place where this process stopped reading it; anew where it has changed."""
    now = stamp(path)
    found = next((f for f in _open_files if f.path == path), None)
    if found is not None and found.stamp != now:
        _open_files.remove(found)
        found = None
    if found is None:
        del _open_files[MOST_OPEN - 1 :]
        found = Unpacking(path)
        _open_files.insert(0, found)
    elif _open_files[0] is not found:
        _open_files.remove(found)
        _open_files.insert(0, found)
    return found
