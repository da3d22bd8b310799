"""Write deterministic tar archives, and read untrusted ones.

Archives are not compressed, because images already are. They record no time, user or machine, so equal members give
equal bytes. The reader accepts only regular files, yields them in the order of the archive, and keeps one chunk in
memory.
"""

from __future__ import annotations

import os
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from ...errors import VerificationError
from ...files import open_regular
from ..disk.tar_members import tar_members
from ..records.report import printable

CHUNK = 1 << 20
"""The number of bytes that are read, hashed and written together."""
END_BYTES = tarfile.RECORDSIZE + 2 * tarfile.BLOCKSIZE
"""Limit on the number of bytes after the last member of an archive."""


class BadArchive(VerificationError):
    """An archive is damaged, or was not written by `pack`."""

    def __init__(self, archive: Path, problem: str, member: str | None = None) -> None:
        where = str(archive) if member is None else f"{archive}: member '{printable(member[:300])}'"
        super().__init__(f"{where} {problem}. Members that were unpacked before are kept. Fetch the archive again.")


def new_archive(file: Any) -> tarfile.TarFile:
    """Return a tar archive that is written to an open file. Closing the archive writes its end mark."""
    options: dict[str, Any] = {"format": tarfile.PAX_FORMAT, "copybufsize": CHUNK}  # typeshed does not know copybufsize
    return tarfile.open(fileobj=file, mode="w|", bufsize=CHUNK, **options)


def member_header(name: str, size: int) -> tarfile.TarInfo:
    """Return the header of a member."""
    info = tarfile.TarInfo(name)
    info.size, info.mode = size, 0o644
    return info


@dataclass
class Member:
    """A regular file in an archive."""

    archive: Path
    name: str
    size: int
    _file: BinaryIO
    _start: int

    def chunks(self) -> Iterator[bytes]:
        """Yield the content in chunks of at most `CHUNK` bytes."""
        self._file.seek(self._start)
        for at in range(0, self.size, CHUNK):
            yield self._file.read(min(self.size - at, CHUNK))

    def head(self, size: int) -> bytes:
        """Return the first `size` bytes."""
        self._file.seek(self._start)
        return self._file.read(min(size, self.size))

    def read(self, cap: int) -> bytes:
        """Return the content, or raise `BadArchive` if it has more than `cap` bytes."""
        if self.size > cap:
            raise BadArchive(self.archive, f"has {self.size} bytes, but at most {cap} are accepted", self.name)
        return b"".join(self.chunks())


def read_members(archive: Path) -> Iterator[Member]:
    """Yield the members of a tar archive in order.

    Raises
    ------
    BadArchive
        The file is not a tar archive, is damaged, or has a member that is not a regular, uncompressed file.
    OSError
        The file cannot be read.
    """
    with open_regular(archive) as file:
        end = os.fstat(file.fileno()).st_size
        try:
            for info in tar_members(file):
                if info.type not in (tarfile.REGTYPE, tarfile.AREGTYPE) or info.sparse is not None:
                    raise BadArchive(
                        archive, "is a link, a folder or another entry that is not a regular file", info.name
                    )
                if info.offset_data + info.size > end:
                    raise BadArchive(
                        archive, f"states {info.size} bytes, which exceeds the end of the archive", info.name
                    )
                yield Member(archive, info.name, info.size, file, info.offset_data)
        except (tarfile.TarError, ValueError, RecursionError) as e:
            raise BadArchive(archive, f"is truncated, damaged or not a tar archive: {e}") from None
        rest = file.read(tarfile.RECORDSIZE + 1)  # a second block of zeros, and the padding of the last record
        # most programs would not notice an archive that is appended here
        if len(rest) > tarfile.RECORDSIZE or rest.strip(b"\0"):
            raise BadArchive(archive, "has data after its end, so something was appended to the archive")
