"""An .npz archive as a table: its arrays are read a block of rows at a time, compressed or not; pickled ones never."""

from __future__ import annotations

import io
import math
import tokenize
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from ...files import open_regular
from ...manifests.images.arrays import MOST_HEADER
from .table import NAMES, BadTable, Column, Table, block_rows

HEAD_FIELDS = ("model", "digest")
"""Texts that an archive may hold beside its columns."""
MOST_DIRECTORY = 1 << 22
"""Bytes that are read of an archive at once but for its arrays: its directory has a hundred bytes an array."""
_LOCAL_HEADER = 30
"""Bytes before a member's name."""
_MOST_DEFLATED = 1032
"""Times that deflate can shorten."""
_DAMAGE = (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, NotImplementedError, ValueError, OverflowError)
_BAD_HEADER = (ValueError, EOFError, OverflowError, SyntaxError, TypeError, KeyError, MemoryError, RecursionError, tokenize.TokenError)
"""What numpy raises on headers: they are Python text, and deep nesting is out of memory for Python's parser."""


class NpzFile(Table):
    """An open .npz archive.

    Raises
    ------
    BadTable
        It is no archive, is damaged, or has an array that is not what its header says.
    OSError
        It cannot be read.
    """

    def __init__(self, path: Path) -> None:
        self._file = _Guarded(open_regular(path))
        try:
            with _damage():
                self._archive = zipfile.ZipFile(self._file)
            self._arrays = {info.filename[:-4]: info for info in self._archive.infolist() if info.filename.endswith(".npy")}
            self._check_members()
            self.shapes = {name: self._read_header(name) for name in (*NAMES, *HEAD_FIELDS) if name in self._arrays}
            """Shape, type, and bytes before the elements."""
            self.columns = {name: _column(name, *self.shapes[name]) for name in NAMES if name in self.shapes}
        except BaseException:
            self._file.close()
            raise

    def _check_members(self) -> None:
        names = self._archive.namelist()
        if not self._arrays:
            other = f" but {', '.join(names[:3])}" if names else ""
            raise BadTable(f"holds no arrays{other}: write it by np.savez(file, logits=logits)")
        if len(set(names)) < len(names):
            raise BadTable("holds two arrays of one name")
        for name, info in self._arrays.items():
            if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                raise BadTable(f"has {name} compressed in a way that np.savez_compressed does not write")
            if info.file_size > _MOST_DEFLATED * info.compress_size + 1024:
                raise BadTable(f"says that {name} has {info.file_size:,} bytes in {info.compress_size:,}: it is damaged or made to be so")

    def _read_header(self, name: str) -> tuple[tuple[int, ...], np.dtype[Any], int]:
        """Return an array's shape and type, and the bytes before its elements."""
        info = self._arrays[name]
        with _damage(), self._archive.open(info) as stream:
            shape, dtype, begin = _header(stream, name)
        if begin + math.prod(shape) * dtype.itemsize != info.file_size:
            raise BadTable(f"has {name} of {info.file_size:,} bytes whose header says {_shown(shape)} of {dtype}: it is damaged")
        return shape, dtype, begin

    def text(self, name: str) -> str | None:
        """Return a text that is not a column (`HEAD_FIELDS`), or None.

        Raises
        ------
        BadTable
            It is something else than one text.
        """
        if name not in self.shapes:
            return None
        shape, dtype, begin = self.shapes[name]
        if dtype.kind != "U" or shape not in ((), (1,)) or dtype.itemsize > MOST_HEADER:
            raise BadTable(f"has {name} of {dtype}, shape {_shown(shape)}; expected one text")
        with _damage(), self._archive.open(self._arrays[name]) as stream:
            return str(np.frombuffer(stream.read()[begin:], dtype)[0])

    def blocks(self, names: Sequence[str]) -> Iterator[dict[str, NDArray[Any]]]:
        count = block_rows([self.columns[name] for name in names])
        with _damage():
            for parts in zip(*(self._rows(name, count) for name in names), strict=True):
                yield dict(zip(names, parts, strict=True))

    def _rows(self, name: str, most: int) -> Iterator[NDArray[Any]]:
        """Yield the rows of an array, a block at a time in memory that is used again; at its end the checksum is compared."""
        shape, dtype, begin = self.shapes[name]
        info, memory = self._arrays[name], np.empty((most, *shape[1:]), dtype)
        stored = _Stored(self._file, info, begin) if info.compress_type == zipfile.ZIP_STORED else _Deflated(self._archive, info, begin)
        for first in range(0, shape[0], most):
            block = memory[: shape[0] - first]
            if not stored.fill(block):
                raise BadTable(f"is cut off in {name}")
            yield block.astype(dtype.newbyteorder("="), copy=False)
        stored.finish()

    def place(self, row: int) -> str:
        return f"row {row:,}"


class _Guarded(io.BufferedReader):
    """A file of which `zipfile` does not get its directory whatever its size."""

    def __init__(self, file: io.BufferedReader) -> None:
        super().__init__(file.detach())

    def read(self, size: int | None = -1, /) -> bytes:
        wanted = MOST_DIRECTORY + 1 if size is None or size < 0 else min(size, MOST_DIRECTORY + 1)
        if len(data := super().read(wanted)) > MOST_DIRECTORY:
            raise BadTable(f"has a directory of more than {MOST_DIRECTORY:,} bytes: it is no archive that np.savez wrote")
        return data


class _Stored:
    """The bytes of an array that is not compressed, read where they lie: `zipfile` copies each twice and needs fresh memory for it."""

    def __init__(self, file: io.BufferedReader, info: zipfile.ZipInfo, begin: int) -> None:
        self._file, self._expected = file, info.CRC
        file.seek(info.header_offset)
        head = file.read(_LOCAL_HEADER)
        self._at = info.header_offset + len(head) + int.from_bytes(head[26:28], "little") + int.from_bytes(head[28:30], "little")
        file.seek(self._at)
        self._crc = zlib.crc32(file.read(begin))
        self._at += begin

    def fill(self, block: NDArray[Any]) -> bool:
        self._file.seek(self._at)
        data = block.reshape(-1).view(np.uint8).data
        self._at += block.nbytes
        full = self._file.readinto(data) == block.nbytes
        self._crc = zlib.crc32(data, self._crc)
        return full

    def finish(self) -> None:
        if self._crc != self._expected:
            raise BadTable("is damaged: its checksum is another one. Write or copy it again")


class _Deflated:
    """The bytes of an array that is compressed."""

    def __init__(self, archive: zipfile.ZipFile, info: zipfile.ZipInfo, begin: int) -> None:
        self._stream = archive.open(info)
        self._stream.read(begin)

    def fill(self, block: NDArray[Any]) -> bool:
        data = np.frombuffer(self._stream.read(block.nbytes), np.uint8)
        full = len(data) == block.nbytes
        if full:
            block.reshape(-1).view(np.uint8)[:] = data
        return full

    def finish(self) -> None:
        self._stream.read(1)  # at its end the checksum is held against what was read


def _header(stream: IO[bytes], name: str) -> tuple[tuple[int, ...], np.dtype[Any], int]:
    magic = stream.read(12)
    version = magic[6:8]
    # numpy reads as many bytes as the header states for itself: up to 4 GiB
    begin = 10 + int.from_bytes(magic[8:10], "little") if version == b"\1\0" else 12 + int.from_bytes(magic[8:12], "little")
    if not magic.startswith(b"\x93NUMPY") or version not in (b"\1\0", b"\2\0") or begin > MOST_HEADER:
        raise BadTable(f"has {name} without the header of an array of numbers or text")
    head = io.BytesIO(magic + stream.read(begin - len(magic)))
    head.seek(8)
    read = np.lib.format.read_array_header_1_0 if version == b"\1\0" else np.lib.format.read_array_header_2_0
    try:
        shape, by_columns, dtype = read(head)
    except _BAD_HEADER as e:
        raise BadTable(f"has {name} with a damaged header ({str(e).partition(chr(10))[0][:200] or type(e).__name__})") from None
    if dtype.hasobject:
        raise BadTable(
            f"has {name} as Python objects (a pickle), which are never loaded: write an array of numbers, or of text by "
            "np.asarray(names, dtype=str)"
        )
    if by_columns and len(shape) > 1:
        raise BadTable(f"has {name} stored column by column: write np.ascontiguousarray({name})")
    if any(length < 0 for length in shape):
        raise BadTable(f"has {name} with a damaged header (shape {_shown(shape)})")
    return shape, dtype, begin


def _column(name: str, shape: tuple[int, ...], dtype: np.dtype[Any], begin: int) -> Column:
    if len(shape) not in (1, 2):
        raise BadTable(f"has {name} of shape {_shown(shape)}; expected a row an image: 1 or 2 dimensions")
    return Column(dtype, shape[1] if len(shape) == 2 else None, shape[0])


def _shown(shape: tuple[int, ...]) -> str:
    return f"({', '.join(f'{length:,}' for length in shape)}{',' if len(shape) == 1 else ''})"


@contextmanager
def _damage() -> Iterator[None]:
    """Turn what damaged archives raise into `BadTable`."""
    try:
        yield
    except _DAMAGE as e:
        said = str(e).partition("\n")[0][:200]
        raise BadTable(f"is not a sound .npz archive ({said or type(e).__name__}): write it again by np.savez") from None
