"""Archives member by member: deterministic tar and zip written, and strangers' ones read without trust.

Nothing is compressed (images are already) and nothing says when, by whom or where an archive was made, so equal members give equal
bytes. The reader takes regular files alone, in the order in which they stand, and holds no more than a piece of one in memory.
"""

from __future__ import annotations

import os
import struct
import tarfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, BinaryIO, Literal

from ...errors import BuildError, VerificationError
from ...files import open_regular
from ..records.report import printable

ArchiveFormat = Literal["tar", "zip"]
FORMATS: dict[str, str] = {"tar": "application/x-tar", "zip": "application/zip"}
"""Archive format -> media type."""

PIECE = 1 << 20
"""Bytes that are read, hashed and written at once."""
NAME_CAP = 4096
"""Bytes of a member's name."""
PART_CAP = 255
"""Bytes of a name between two slashes: what file systems take."""
HEADER_CAP = 64 << 10
"""Bytes of a tar member's extended header; a name of 4,096 bytes needs few more than that."""

_SHOWN = 300
"""Characters of a member's name in a message."""
_BLOCK = tarfile.BLOCKSIZE
_MODE = 0o644
_ZIP_DATE = (1980, 1, 1, 0, 0, 0)
_KINDS = {
    tarfile.SYMTYPE: "a symbolic link",
    tarfile.LNKTYPE: "a hard link",
    tarfile.CHRTYPE: "a device",
    tarfile.BLKTYPE: "a device",
    tarfile.FIFOTYPE: "a pipe",
    tarfile.DIRTYPE: "a folder by itself",
}
_ZIP_ENCRYPTED = 0x1
_ZIP_END = 22
"""Bytes of the record at a zip's end, which has no comment here."""


class BadArchive(VerificationError):
    """An archive that is damaged, or not one that `pack` writes."""

    def __init__(self, archive: Path, problem: str, member: str | None = None) -> None:
        shown = None if member is None else printable(member if len(member) <= _SHOWN else member[:_SHOWN] + "...")
        where = str(archive) if shown is None else f"{archive}: member '{shown}'"
        super().__init__(f"{where} {problem}. What was checked before it stays; fetch the archive again.")


def name_problem(name: str) -> str | None:
    """Return what keeps a relative path from being a member's name, or None.

    Examples
    --------
    >>> name_problem("images/fog/3/n01440764/ILSVRC2012_val_00000293.JPEG")
    >>> name_problem("../etc/passwd")
    'leads out of the directory'
    """
    parts = name.split("/")
    if not name or name.startswith("/") or "\\" in name or ":" in parts[0]:
        return "is not a relative path"
    if ".." in parts:
        return "leads out of the directory"
    if "" in parts or "." in parts:
        return "is not a plain path"
    if any(ord(c) < 32 or 127 <= ord(c) < 160 for c in name):
        return "has control characters in its name"
    try:
        encoded = name.encode()
    except UnicodeEncodeError:
        return "has a name that is not UTF-8"
    if len(encoded) > NAME_CAP or any(len(p.encode()) > PART_CAP for p in parts):
        return f"has too long a name (at most {NAME_CAP} bytes, {PART_CAP} between slashes)"
    return None


class Writer:
    """Writes members, one after the other, each with the size that was said."""

    def __init__(self, file: BinaryIO, form: ArchiveFormat) -> None:
        self._file = file
        self._zip = zipfile.ZipFile(file, "w", zipfile.ZIP_STORED, allowZip64=True) if form == "zip" else None

    @contextmanager
    def member(self, name: str, size: int) -> Iterator[IO[bytes]]:
        """Yield what a member's bytes are written to.

        Raises
        ------
        BuildError
            Other loaders could not take a member of this name.
        """
        if (problem := name_problem(name)) is not None:
            raise BuildError(f"{printable(name)!r} {problem}, so it cannot go into an archive. Rename it in the source and build again.")
        if self._zip is not None:
            info = zipfile.ZipInfo(name, _ZIP_DATE)
            info.create_system = 3
            info.external_attr = (0o100000 | _MODE) << 16
            info.file_size = size
            with self._zip.open(info, "w") as out:
                yield out
            return
        self._file.write(tar_header(name, size))
        yield self._file
        self._file.write(bytes(-size % _BLOCK))

    def close(self) -> None:
        """Write what stands at an archive's end."""
        if self._zip is not None:
            self._zip.close()
        else:
            at = self._file.tell()
            self._file.write(bytes(_tar_end(at) - at))


def tar_header(name: str, size: int) -> bytes:
    """Return a member's header: ustar, with an extended one only where the name or size needs it."""
    info = tarfile.TarInfo(name)
    info.size, info.mode = size, _MODE
    return info.tobuf(tarfile.PAX_FORMAT, "utf-8", "strict")


def member_cost(form: ArchiveFormat, name: str, size: int) -> int:
    """Return how many bytes a member takes: exactly in a tar, at most in a zip."""
    if form == "tar":
        return len(tar_header(name, size)) + size + -size % _BLOCK
    return size + 2 * len(name.encode()) + 200


END_COST = tarfile.RECORDSIZE + 2 * _BLOCK
"""At most so many bytes stand at an archive's end."""


@dataclass
class Member:
    """A regular file in an archive.

    Attributes
    ----------
    name : str
    size : int
        Bytes, as the archive says; `pieces` gives exactly so many or raises.
    """

    archive: Path
    name: str
    size: int
    _open: _Opener

    def pieces(self) -> Iterator[bytes]:
        """Yield the bytes, at most `PIECE` at a time.

        Raises
        ------
        BadArchive
            There are fewer, or more, or a checksum of the archive's own is wrong.
        """
        left = self.size
        try:
            with self._open() as stream:
                while left:
                    piece = stream.read(min(left, PIECE))
                    if not piece:
                        raise BadArchive(self.archive, "is cut off", self.name)
                    left -= len(piece)
                    yield piece
                if isinstance(stream, zipfile.ZipExtFile) and stream.read(1):
                    raise BadArchive(self.archive, "is longer than the archive says", self.name)
        except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError, struct.error) as e:
            raise BadArchive(self.archive, f"cannot be read: {e}", self.name) from e

    def read(self, cap: int) -> bytes:
        """Return the bytes of a small member."""
        if self.size > cap:
            raise BadArchive(self.archive, f"has {self.size} bytes; at most {cap} are taken", self.name)
        return b"".join(self.pieces())


class _Opener:
    """Opens the bytes of a member."""

    def __init__(self, file: BinaryIO, start: int, archive: zipfile.ZipFile | None = None, info: zipfile.ZipInfo | None = None) -> None:
        self._file, self._start, self._archive, self._info = file, start, archive, info

    @contextmanager
    def __call__(self) -> Iterator[IO[bytes]]:
        if self._archive is not None and self._info is not None:
            with self._archive.open(self._info) as stream:
                yield stream
        else:
            self._file.seek(self._start)
            yield self._file


def read_members(archive: Path) -> Iterator[Member]:
    """Yield the members of a tar or zip in the order in which they stand.

    Names are not looked at here but for their encoding: the caller compares each with the one that it expects.

    Raises
    ------
    BadArchive
        It is neither, is damaged, or has a member that is not a plain, uncompressed file.
    OSError
        It cannot be read.
    """
    with open_regular(archive) as f:
        head = f.read(_BLOCK)
        if head.startswith((b"PK\x03\x04", b"PK\x05\x06")):
            yield from _zip_members(archive, f)
        elif len(head) == _BLOCK and head[257:262] == b"ustar":
            yield from _tar_members(archive, f)
        else:
            raise BadArchive(archive, "is neither a tar nor a zip as `corruptset pack` writes them")


def _tar_members(archive: Path, f: BinaryIO) -> Iterator[Member]:
    size = os.fstat(f.fileno()).st_size
    at = 0
    extended: dict[str, str] = {}
    while True:
        f.seek(at)
        block = f.read(_BLOCK)
        if len(block) < _BLOCK:
            raise BadArchive(archive, "is cut off: its end is missing")
        if block == bytes(_BLOCK):
            if extended:
                raise BadArchive(archive, "ends in an extended header without a member")
            _check_tar_end(archive, f, at, size)
            return
        try:
            info = tarfile.TarInfo.frombuf(block, "utf-8", "surrogateescape")
        except tarfile.HeaderError as e:
            raise BadArchive(archive, f"has a damaged header at byte {at}: {e}") from e
        start = at + _BLOCK
        if info.size < 0:
            raise BadArchive(archive, "has a size below zero", info.name)
        if info.type == tarfile.XHDTYPE and not extended:
            if info.size > HEADER_CAP:
                raise BadArchive(archive, f"has an extended header of {info.size} bytes", info.name)
            extended = _extended(archive, f.read(info.size), info)
            at = start + info.size + -info.size % _BLOCK
            continue
        if info.type not in (tarfile.REGTYPE, tarfile.AREGTYPE):
            raise BadArchive(archive, f"is {_KINDS.get(info.type, 'of an unknown kind')}, not a file", extended.get("path", info.name))
        name = extended.get("path", info.name)
        count = int(extended["size"]) if "size" in extended else info.size
        extended = {}
        if start + count > size:
            raise BadArchive(archive, f"says that it has {count} bytes, beyond the archive's end", name)
        yield Member(archive, name, count, _Opener(f, start))
        at = start + count + -count % _BLOCK


def _check_tar_end(archive: Path, f: BinaryIO, at: int, size: int) -> None:
    """Refuse whatever stands behind an archive's end, which programs that unpack do not show: another archive, put behind this one."""
    end = _tar_end(at)
    if size < end:
        raise BadArchive(archive, f"is cut off: it has {size} bytes of {end}")
    f.seek(at)
    padding = f.read(end - at)
    if rest := padding.lstrip(b"\0"):
        raise BadArchive(archive, f"has bytes behind its end, the first at byte {end - len(rest)}: something was put behind the archive")
    if size > end:
        raise BadArchive(archive, f"has {size - end} bytes behind its end, from byte {end}: something was put behind the archive")


def _tar_end(at: int) -> int:
    """Return how long a tar is whose last member, padded, ends at a byte: two empty blocks, and up to whole records as tar writes them."""
    return at + 2 * _BLOCK + -(at + 2 * _BLOCK) % tarfile.RECORDSIZE


def _extended(archive: Path, data: bytes, info: tarfile.TarInfo) -> dict[str, str]:
    """Return the fields of an extended header: a name, a size, and nothing else."""
    found: dict[str, str] = {}
    while data:
        length, space, _ = data.partition(b" ")
        if not space or not length.isdigit() or len(length) > 6 or not len(length) < int(length) <= len(data):
            raise BadArchive(archive, "has a damaged extended header", info.name)
        record, data = data[len(length) + 1 : int(length)], data[int(length) :]
        key, equals, value = record.partition(b"=")
        if not equals or not value.endswith(b"\n") or key not in (b"path", b"size") or key.decode() in found:
            raise BadArchive(archive, f"has an extended header with {printable(key.decode('utf-8', 'replace'))!r}", info.name)
        found[key.decode()] = value[:-1].decode("utf-8", "surrogateescape")
    size = found.get("size", "0")
    if not (size.isascii() and size.isdigit() and len(size) < 19):
        raise BadArchive(archive, "has an extended header with a size that is no number", info.name)
    return found


def _check_zip_ends(archive: Path, f: BinaryIO, opened: zipfile.ZipFile, size: int) -> None:
    """Refuse what stands before the first member, or behind the directory: another archive, or a comment."""
    first = min((info.header_offset for info in opened.infolist()), default=0)
    if first:
        raise BadArchive(archive, f"has {first} bytes before its first member: something was put before the archive")
    f.seek(max(0, size - _ZIP_END))
    end = f.read(_ZIP_END)
    if not end.startswith(b"PK\x05\x06") or not end.endswith(b"\0\0"):
        raise BadArchive(archive, f"has bytes behind its directory, within the last {_ZIP_END} of its {size}: pack writes none")


def _zip_members(archive: Path, f: BinaryIO) -> Iterator[Member]:
    size = os.fstat(f.fileno()).st_size
    try:
        opened = zipfile.ZipFile(f)
    except (zipfile.BadZipFile, NotImplementedError, struct.error, ValueError, EOFError, UnicodeDecodeError) as e:
        raise BadArchive(archive, f"is not a sound zip: {e}") from e
    with opened:
        _check_zip_ends(archive, f, opened, size)
        total = 0
        for info in opened.infolist():
            name = info.orig_filename
            kind = info.external_attr >> 28
            if info.flag_bits & _ZIP_ENCRYPTED:
                raise BadArchive(archive, "is encrypted", name)
            # without compression nothing grows, whatever the archive says of its sizes
            if info.compress_type != zipfile.ZIP_STORED or info.file_size != info.compress_size:
                raise BadArchive(archive, f"is compressed ({info.compress_size} bytes to {info.file_size}); pack compresses nothing", name)
            if kind == 0o12:
                raise BadArchive(archive, "is a symbolic link, not a file", name)
            if kind not in (0, 0o10) or info.is_dir():
                raise BadArchive(archive, "is a folder or a device, not a file", name)
            total += info.file_size
            # members that share bytes
            if total > size:
                raise BadArchive(archive, f"and those before it have {total} bytes; the whole archive has {size}", name)
            yield Member(archive, name, info.file_size, _Opener(f, 0, opened, info))
