"""The members of a stranger's tar, whose headers have a limit.

`tarfile` by itself reads headers of any size, and round and round.
"""

from __future__ import annotations

import tarfile
from collections.abc import Iterator
from typing import IO, BinaryIO, cast

MOST_MEMBERS = 20_000_000
MOST_HEADER = 1 << 20
"""Bytes of one member's headers: a few hundred are usual, and a header may say any number of bytes for a name."""


class _Headers:
    """An archive whose headers `tarfile` reads up to a limit."""

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
    """Yield the headers of a tar, up to the mark that closes it.

    The file may be read elsewhere in between.

    TarError, ValueError or RecursionError: it is no tar, is cut, or is damaged.
    """
    headers = _Headers(file)
    before, count = file.tell(), 0
    with tarfile.open(fileobj=cast(IO[bytes], headers), mode="r:", encoding="utf-8") as tar:
        while (member := tar.next()) is not None:
            if tar.offset <= before:  # a size may be negative, and the listing would go round for ever
                raise tarfile.ReadError(f"a header leads back to byte {tar.offset:,}")
            before, count = tar.offset, count + 1
            if count > MOST_MEMBERS:
                raise tarfile.ReadError(f"it has more than {MOST_MEMBERS:,} members")
            tar.members.clear()  # type: ignore[attr-defined]  # tarfile would keep every header
            yield member
            headers.remaining = MOST_HEADER
        # tarfile takes a header that it cannot read for the end: only the end mark, a block of zeros, tells them apart.
        headers.seek(tar.offset)
        mark = headers.read(tarfile.BLOCKSIZE)
    if mark.strip(b"\0") or len(mark) < tarfile.BLOCKSIZE:
        what = (
            f"it has no readable header at byte {tar.offset:,}"
            if mark
            else "it ends without the mark that closes an archive"
        )
        raise tarfile.ReadError(what)
