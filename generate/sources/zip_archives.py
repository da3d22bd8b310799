"""Read the members of untrusted zip archives without unpacking them."""

from __future__ import annotations

import stat
import struct
import zipfile
import zlib
from pathlib import Path
from typing import NamedTuple, cast

from ...errors import SourceError
from ...files import open_regular
from .decoding import MAX_FILE_BYTES, TOO_LARGE
from .source import Note
from .tar_archives import DUPLICATE, ESCAPING_NAME, escapes_archive, reading_errors

LOCAL_HEADER = struct.Struct("<4s22xHH")
"""The header before each member: its signature, and the lengths of its name and of its extra field."""
ENCRYPTED = 0x1


class ZipLocation(NamedTuple):
    """The location of a member in a zip archive, as stated by the central directory of the archive."""

    offset: int
    """Offset of the member's header."""
    packed: int
    """Number of bytes that the member takes in the archive."""
    size: int
    """Number of bytes of the uncompressed file."""
    deflated: int
    """1 if the member is compressed, 0 if it is stored."""
    crc: int


class ZipListing(NamedTuple):
    """The members of a zip archive."""

    files: dict[str, ZipLocation]
    notes: list[Note]
    """Members that are not read: names that lead out of the archive, links, encrypted members and others."""


def list_zip(path: Path) -> ZipListing:
    """List the members of a zip archive.

    Raises
    ------
    SourceError
        The file is not a zip archive, or is truncated or damaged.
    """
    found = ZipListing({}, [])
    with reading_errors(path), open_regular(path) as file:
        try:
            archive = zipfile.ZipFile(file)
        except (zipfile.BadZipFile, NotImplementedError, struct.error) as e:
            raise ValueError(str(e)) from None
        for member in archive.infolist():
            if member.filename.endswith("/") or not member.filename:  # the name of a damaged member can be empty
                continue
            problem = DUPLICATE if member.filename in found.files else _problem(member)
            if problem is not None:
                found.notes.append((member.filename, problem))
                continue
            deflated = int(member.compress_type == zipfile.ZIP_DEFLATED)
            found.files[member.filename] = ZipLocation(
                member.header_offset, member.compress_size, member.file_size, deflated, member.CRC
            )
    return found


def _problem(member: zipfile.ZipInfo) -> str | None:
    if escapes_archive(member.filename):
        return ESCAPING_NAME
    if stat.S_IFMT(member.external_attr >> 16) not in (0, stat.S_IFREG):
        return "is a link or another kind of special file: replace it by the file itself"
    if member.flag_bits & ENCRYPTED:
        return "is encrypted: create the archive again without a password"
    if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        return "is compressed with a method other than deflate: create the archive again with zip"
    return TOO_LARGE if max(member.file_size, member.compress_size) > MAX_FILE_BYTES else None


def read_zip_member(path: Path, location: ZipLocation) -> bytes:
    """Return the bytes of a member, or raise `SourceError` if they do not have the recorded size and checksum.

    `zipfile` is not used, because it would read the whole central directory again in each worker.
    """
    with reading_errors(path), open_regular(path) as file:
        file.seek(location.offset)
        header = file.read(LOCAL_HEADER.size)
        signature, name, extra = LOCAL_HEADER.unpack(header.ljust(LOCAL_HEADER.size, b"\0"))
        file.seek(cast(int, name) + cast(int, extra), 1)
        data = file.read(location.packed)
        if location.deflated:
            data = zlib.decompressobj(-zlib.MAX_WBITS).decompress(data, location.size + 1)
    if signature != b"PK\x03\x04" or len(data) != location.size or zlib.crc32(data) != location.crc:
        raise SourceError(f"{path} is truncated or damaged at byte {location.offset:,}. Download it again.")
    return data
