"""Read the headers of untrusted tars.

`tarfile` reads headers of any size and can be led into an endless loop, so this module limits both.
"""

from __future__ import annotations

import tarfile
from collections.abc import Iterator
from typing import IO, BinaryIO, cast

MOST_MEMBERS = 20_000_000
MOST_HEADER = 1 << 20
"""Limit on the size of the headers of one member in bytes. A few hundred are usual, but a header can state any size for
a name.
"""


class _Headers:
    """A file object that limits the bytes that `tarfile` reads for each header."""

    def __init__(self, file: BinaryIO) -> None:
        self.file = file
        self.remaining = MOST_HEADER
        self.tell, self.close = file.tell, file.close

    def read(self, size: int) -> bytes:
        if not 0 <= size <= self.remaining:
            raise tarfile.ReadError(f"it has a header of {size:,} bytes")
        self.remaining -= size
        return self.file.read(size)

    def seek(self, offset: int) -> int:
        if offset < 0:
            raise tarfile.ReadError("a header leads before the beginning")
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
    before, count = file.tell(), 0
    with tarfile.open(fileobj=cast(IO[bytes], headers), mode="r:", encoding="utf-8") as tar:
        while (member := tar.next()) is not None:
            if tar.offset <= before:  # a negative size would lead to an endless loop
                raise tarfile.ReadError(f"a header leads back to byte {tar.offset:,}")
            before, count = tar.offset, count + 1
            if count > MOST_MEMBERS:
                raise tarfile.ReadError(f"it has more than {MOST_MEMBERS:,} members")
            tar.members.clear()  # type: ignore[attr-defined]  # tarfile would keep every header
            yield member
            headers.remaining = MOST_HEADER
        # tarfile treats an unreadable header as the end, which only the end mark, a block of zeros, tells apart
        headers.seek(tar.offset)
        mark = headers.read(tarfile.BLOCKSIZE)
    if mark.strip(b"\0") or len(mark) < tarfile.BLOCKSIZE:
        what = f"it has no readable header at byte {tar.offset:,}" if mark else "it has no end mark"
        raise tarfile.ReadError(what)
