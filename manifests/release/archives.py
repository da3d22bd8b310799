"""Archives member by member: deterministic tars written, and those of strangers read without trust.

Nothing is compressed (images are already), and no time, user or machine is recorded, so equal members give equal bytes.
The reader takes regular files alone, in the order of the archive, and holds one chunk of a file in memory.
"""

from __future__ import annotations

import os
import re
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from ...errors import VerificationError
from ...files import open_regular
from ..disk.tar_members import tar_members
from ..records.fields import safe_path
from ..records.report import printable

CHUNK = 1 << 20
"""Bytes that are read, hashed and written at once."""
END_COST = tarfile.RECORDSIZE + 2 * tarfile.BLOCKSIZE
"""Most bytes that stand at an archive's end."""
_NAME_CAP, _PART_CAP = 4096, 255
"""Bytes of a member's name, and of a name between two slashes, which file systems limit."""
SHOWN = 300
"""Characters of a member's name in a message."""
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")


class BadArchive(VerificationError):
    """An archive that is damaged, or not one that `pack` writes."""

    def __init__(self, archive: Path, problem: str, member: str | None = None) -> None:
        where = str(archive) if member is None else f"{archive}: member '{printable(member[:SHOWN])}'"
        super().__init__(f"{where} {problem}. What was checked before it stays; fetch the archive again.")


def name_problem(name: str) -> str | None:
    """Return what keeps a path from being a member's name, or None.

    Examples
    --------
    >>> name_problem("images/fog/3/n01440764/ILSVRC2012_val_00000293.JPEG")
    >>> name_problem("../etc/passwd")
    'is not a plain relative path'
    """
    try:
        lengths = [len(part.encode()) for part in safe_path(name).split("/")]
    except ValueError:  # a name that is not UTF-8, too
        return "is not a plain relative path"
    if _CONTROL.search(name):
        return "has control characters in its name"
    if sum(lengths) + len(lengths) > _NAME_CAP or max(lengths) > _PART_CAP:
        return f"has too long a name (at most {_NAME_CAP} bytes, {_PART_CAP} between slashes)"
    return None


def new_archive(file: Any) -> tarfile.TarFile:
    """Return an archive that is written into a file; its end is written when it is closed."""
    options: dict[str, Any] = {"encoding": "utf-8", "errors": "strict", "copybufsize": CHUNK}
    return tarfile.open(fileobj=file, mode="w|", bufsize=CHUNK, format=tarfile.PAX_FORMAT, **options)


def member_header(name: str, size: int) -> tarfile.TarInfo:
    """Return the header of a member."""
    info = tarfile.TarInfo(name)
    info.size, info.mode = size, 0o644
    return info


def member_cost(name: str, size: int) -> int:
    """Return how many bytes a member takes."""
    return (
        len(member_header(name, size).tobuf(tarfile.PAX_FORMAT, "utf-8", "strict")) + size + -size % tarfile.BLOCKSIZE
    )


@dataclass
class Member:
    """A regular file in an archive."""

    archive: Path
    name: str
    size: int
    _file: BinaryIO
    _start: int

    def chunks(self) -> Iterator[bytes]:
        """Yield the bytes, at most `CHUNK` at a time; the archive was found to have them all."""
        self._file.seek(self._start)
        for at in range(0, self.size, CHUNK):
            yield self._file.read(min(self.size - at, CHUNK))

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
