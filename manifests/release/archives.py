"""Archives member by member: deterministic tars written, and those of strangers read without trust.

Nothing is compressed (images are already), and no time, user or machine is recorded, so equal members give equal bytes.
The reader takes regular files alone, in the order of the archive, and holds one chunk of a file in memory.
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
"""Bytes that are read, hashed and written at once."""
END_COST = tarfile.RECORDSIZE + 2 * tarfile.BLOCKSIZE
"""Most bytes that stand at an archive's end."""


class BadArchive(VerificationError):
    """An archive that is damaged, or not one that `pack` writes."""

    def __init__(self, archive: Path, problem: str, member: str | None = None) -> None:
        where = str(archive) if member is None else f"{archive}: member '{printable(member[:300])}'"
        super().__init__(f"{where} {problem}. What was checked before it stays; fetch the archive again.")


def new_archive(file: Any) -> tarfile.TarFile:
    """Return an archive that is written into a file; closing it writes its end."""
    options: dict[str, Any] = {"format": tarfile.PAX_FORMAT, "copybufsize": CHUNK}  # typeshed lacks the last
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
        """Yield the bytes, at most `CHUNK` at a time."""
        self._file.seek(self._start)
        for at in range(0, self.size, CHUNK):
            yield self._file.read(min(self.size - at, CHUNK))

    def head(self, size: int) -> bytes:
        """Return the first bytes."""
        self._file.seek(self._start)
        return self._file.read(min(size, self.size))

    def read(self, cap: int) -> bytes:
        """Return the bytes of a small member."""
        if self.size > cap:
            raise BadArchive(self.archive, f"has {self.size} bytes; at most {cap} are taken", self.name)
        return b"".join(self.chunks())


def read_members(archive: Path) -> Iterator[Member]:
    """Yield the members of a tar in their order.

    BadArchive: it is no tar, is damaged, or has a member that is not a plain, uncompressed file. OSError: it cannot be
    read.
    """
    with open_regular(archive) as file:
        end = os.fstat(file.fileno()).st_size
        try:
            for info in tar_members(file):
                if info.type not in (tarfile.REGTYPE, tarfile.AREGTYPE) or info.sparse is not None:
                    raise BadArchive(archive, "is a link, a folder or another thing that is no plain file", info.name)
                if info.offset_data + info.size > end:
                    raise BadArchive(
                        archive, f"says that it has {info.size} bytes, beyond the archive's end", info.name
                    )
                yield Member(archive, info.name, info.size, file, info.offset_data)
        except (tarfile.TarError, ValueError, RecursionError) as e:
            raise BadArchive(archive, f"is not a tar archive, or is cut or damaged: {e}") from None
        rest = file.read(tarfile.RECORDSIZE + 1)  # a second block of zeros, and up to a record that is filled up
        # most programs that unpack do not see another archive there
        if len(rest) > tarfile.RECORDSIZE or rest.strip(b"\0"):
            raise BadArchive(archive, "has bytes behind its end: something was put behind the archive")
