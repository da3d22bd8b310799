"""Read the headers of untrusted tar archives.

`tarfile` reads headers of any size and can be led into an endless loop, so this module limits both.
"""

from __future__ import annotations

import tarfile
from collections.abc import Iterator
from typing import IO, BinaryIO, cast

MAX_MEMBERS = 20_000_000
MAX_HEADER_BYTES = 1 << 20
"""Limit on the size of the headers of one member in bytes. Headers usually have a few hundred bytes, but a header can
claim any length for a name.
"""


class _Headers:
    """A file object that limits the bytes that `tarfile` reads for each header."""

    def __init__(self, file: BinaryIO) -> None:
        self.file = file
        self.remaining = MAX_HEADER_BYTES
        self.tell, self.close = file.tell, file.close

    def read(self, size: int) -> bytes:
        if not 0 <= size <= self.remaining:
            raise tarfile.ReadError(f"a header has {size:,} bytes")
        self.remaining -= size
        return self.file.read(size)

    def seek(self, offset: int) -> int:
        if offset < 0:
            raise tarfile.ReadError("a header refers to a position before the beginning")
        return self.file.seek(offset)


def tar_members(file: BinaryIO) -> Iterator[tarfile.TarInfo]:
    """Yield the headers of a tar up to its end mark.

    The caller may read and seek the file between headers.

    Raises
    ------
    tarfile.TarError, ValueError or RecursionError
        The file is not a tar, is truncated or is damaged.
    """
    headers = _Headers(file)
    previous, count = file.tell(), 0
    with tarfile.open(fileobj=cast(IO[bytes], headers), mode="r:", encoding="utf-8") as tar:
        while (member := tar.next()) is not None:
            if tar.offset <= previous:  # a negative size would lead to an endless loop
                raise tarfile.ReadError(f"a header refers back to byte {tar.offset:,}")
            previous, count = tar.offset, count + 1
            if count > MAX_MEMBERS:
                raise tarfile.ReadError(f"it has more than {MAX_MEMBERS:,} members")
            tar.members.clear()  # type: ignore[attr-defined]  # tarfile would keep every header
            yield member
            headers.remaining = MAX_HEADER_BYTES
        # tarfile treats an unreadable header as the end, but a real end is marked by a block of zeros
        headers.seek(tar.offset)
        mark = headers.read(tarfile.BLOCKSIZE)
    if mark.strip(b"\0") or len(mark) < tarfile.BLOCKSIZE:
        what = f"the header at byte {tar.offset:,} is unreadable" if mark else "the end mark is missing"
        raise tarfile.ReadError(what)
