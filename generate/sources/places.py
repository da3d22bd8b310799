"""Bytes of files, gzipped or not: whole ones, and those at offsets of a plain one."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast

from ...errors import SourceError
from ...files import UnfitFile, open_regular

GZIP_MAGIC = b"\x1f\x8b"
PIECE = 1 << 20
"""Bytes that are read at once: what a file says of its size is not believed."""


@dataclass(frozen=True)
class Place:
    """So many bytes of a file from an offset on."""

    path: Path
    offset: int
    size: int


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


def read_whole(path: Path, most: int) -> bytearray:
    """Return the bytes of a file, or what it expands to; raise `SourceError` where it cannot be read or they are more than `most`."""
    data = bytearray()
    with reading(path), open_bytes(path, zipped=is_zipped(path)) as file:
        while len(data) <= most and (piece := file.read(PIECE)):
            data += piece
    if len(data) > most:
        raise SourceError(f"{path} has more than {most:,} bytes: it is not what its name says.")
    return data


Stamp = tuple[int, int, int]


def stamp(path: Path) -> Stamp:
    """Return what tells a file from another of its name, or from itself before it was written to."""
    status = path.stat()
    return status.st_ino, status.st_size, status.st_mtime_ns


def read_place(place: Place) -> bytes:
    """Return the bytes of a place.

    Raises
    ------
    SourceError
        The file cannot be read, or ends before.
    """
    with reading(place.path), open_regular(place.path) as file:
        file.seek(place.offset)
        data = file.read(place.size)
    if len(data) != place.size:
        raise SourceError(f"{place.path} is cut: it ends {place.size - len(data):,} bytes before it should. Download it again.")
    return data
