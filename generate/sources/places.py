"""Places: bytes at offsets of files, gzipped or not, which archives and tables of rows are read from.

The standard library unpacks a gzipped file from its beginning. Each process keeps the last one open, so rows that are read in
order cost one pass over it, whatever its size, and a few kilobytes of memory; to go back, the file is read again from its beginning.
"""

from __future__ import annotations

import gzip
import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast

from ...errors import SourceError
from ...files import UnfitFile, open_regular

GZIP_MAGIC = b"\x1f\x8b"
MAX_EXPANDED = 8 << 30
"""Bytes that a gzipped file may expand to: CIFAR and MNIST stay far below, a bomb does not."""
PIECE = 1 << 20
"""Bytes that are unpacked at once where a file is read to its end."""


@dataclass(frozen=True)
class Place:
    """So many bytes of a file from an offset on; of a gzipped one, of what it expands to."""

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
    except UnfitFile as e:
        raise SourceError(str(e)) from None
    except OSError as e:
        raise SourceError(f"{path} cannot be read: {e.strerror or e}. Mend its permissions, or copy it again.") from None


def is_zipped(path: Path) -> bool:
    """Whether a file is gzipped, by its first bytes."""
    with reading(path), open_regular(path) as file:
        return file.read(2) == GZIP_MAGIC


def open_bytes(path: Path, *, zipped: bool) -> BinaryIO:
    """Open a regular file; of a gzipped one, what it expands to, with its checksums compared at the end of each member."""
    file = open_regular(path)
    if not zipped:
        return file
    unpacked = gzip.GzipFile(fileobj=file, mode="rb")
    unpacked.myfileobj = file  # type: ignore[assignment]  # closed with it
    return cast(BinaryIO, unpacked)


Stamp = tuple[int, int, int]


def stamp(path: Path) -> Stamp:
    """Return what tells a file from another of its name, or from itself before it was written to."""
    status = path.stat()
    return status.st_ino, status.st_size, status.st_mtime_ns


_kept: list[tuple[object, BinaryIO]] = []
"""The gzipped file that this process read last, after what it is known by."""


@contextmanager
def _unpacked(path: Path) -> Iterator[BinaryIO]:
    """Give a gzipped file where this process stopped reading it, or at its beginning where it has changed or an error came."""
    known_by = (path, stamp(path), os.getpid())
    while _kept:
        kept_by, file = _kept.pop()
        if kept_by == known_by:
            break
        file.close()
    else:
        file = open_bytes(path, zipped=True)
    try:
        yield file
    except BaseException:
        file.close()
        raise
    while _kept:  # another place was read meanwhile
        _kept.pop()[1].close()
    _kept.append((known_by, file))


@contextmanager
def opened(place: Place) -> Iterator[BinaryIO]:
    """Give a file that stands at the beginning of a place; raise `SourceError` where it cannot be read."""
    with reading(place.path), _unpacked(place.path) if place.zipped else open_regular(place.path) as file:
        file.seek(place.offset)
        yield file


def read_place(place: Place) -> bytes:
    """Return the bytes of a place.

    Raises
    ------
    SourceError
        The file cannot be read, or ends before.
    """
    with opened(place) as file:
        data = file.read(place.size)
    if len(data) != place.size:
        raise SourceError(f"{place.path} is cut: it ends {place.size - len(data):,} bytes before it should. Download it again.")
    return data


def check_expanded(path: Path, size: int) -> None:
    """Refuse a gzipped file that expands to more than `MAX_EXPANDED` bytes."""
    if size > MAX_EXPANDED:
        raise SourceError(f"{path} expands to more than {MAX_EXPANDED:,} bytes: it is not what its name says.")


def read_to_end(path: Path, file: BinaryIO) -> int:
    """Read a gzipped file to its end, which compares its checksums; return the size of what it holds.

    Raises
    ------
    SourceError
        It expands beyond `MAX_EXPANDED`.
    EOFError, zlib.error, OSError
        It is cut or damaged; see `reading`.
    """
    while file.read(PIECE):
        check_expanded(path, file.tell())
    return file.tell()


def expanded_size(path: Path) -> int:
    """Return the size of what a gzipped file holds, or raise `SourceError`."""
    with reading(path), open_bytes(path, zipped=True) as file:
        return read_to_end(path, file)
