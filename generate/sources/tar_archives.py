"""Read files that may be gzipped, and read the members of tars without unpacking the tars."""

from __future__ import annotations

import gzip
import tarfile
import zlib
from collections.abc import Container, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import BinaryIO, NamedTuple, cast

from ...errors import SourceError
from ...files import open_regular, reason
from ...manifests.disk.tar_members import tar_members
from .decoding import MAX_FILE_BYTES, TOO_LARGE
from .source import MemberLocation, Note

READ_BYTES = 1 << 20
"""Number of bytes per read. Files are read in pieces, because the size that a file states is not trusted."""
MAX_EXPANDED_BYTES = 1 << 30
"""Limit on the bytes of a file that is read completely, and of an expanded gzipped tar. The images of EMNIST take 547
million bytes, and the images of CIFAR take 190 million bytes.
"""
MAX_PADDING = 16 << 20
"""Limit on the zeros after an archive, in bytes. GNU tar pads to 10 kB, and tape blocks have a few megabytes. If a
download reserved disk space and was interrupted, more zeros remain.
"""
MAX_CONCATENATED = 8
"""Limit on concatenated archives in a gzipped file. Each seek backwards expands the file again from the beginning."""
GZIP = b"\x1f\x8b"
FileVersion = tuple[int, int, int]


@contextmanager
def reading_errors(path: Path) -> Iterator[None]:
    """Convert errors that occur while a file is read into a `SourceError`."""
    try:
        yield
    except SourceError:
        raise
    except EOFError:
        raise SourceError(f"{path} is truncated in the middle of its compressed data. Download it again.") from None
    except KeyError as e:
        raise SourceError(f"{path} has no {e.args[0]}, so it is not the expected file. Download it again.") from None
    except (gzip.BadGzipFile, zlib.error, tarfile.TarError, ValueError, RecursionError) as e:
        raise SourceError(f"{path} is truncated, damaged or another kind of file: {e}. Download it again.") from None
    except OSError as e:
        raise SourceError(f"{path} cannot be read: {reason(e)}.") from None


@contextmanager
def _open_file(path: Path) -> Iterator[tuple[BinaryIO, bool]]:
    """Open a file, and expand it if it is gzipped. Yield the open file, and whether it is gzipped."""
    with reading_errors(path), open_regular(path) as file:
        zipped = file.peek(2).startswith(GZIP)
        yield cast(BinaryIO, gzip.GzipFile(fileobj=file) if zipped else file), zipped


def read_expanded(path: Path) -> bytearray:
    """Return the content of a file, expanded if it is gzipped."""
    data = bytearray()
    with _open_file(path) as (file, _):
        while len(data) <= MAX_EXPANDED_BYTES and (piece := file.read(READ_BYTES)):
            data += piece
    if len(data) > MAX_EXPANDED_BYTES:
        raise SourceError(
            f"{path} has more than {MAX_EXPANDED_BYTES:,} bytes, so it is not the expected file. Download it again."
        )
    return data


def file_version(path: Path) -> FileVersion:
    """Return the inode, size and modification time of a file. They show whether the file has changed."""
    status = path.stat()
    return status.st_ino, status.st_size, status.st_mtime_ns


def read_member(path: Path, location: MemberLocation) -> bytes:
    """Return the bytes of a member in a tar, or raise `SourceError`."""
    with reading_errors(path), open_regular(path) as file:
        file.seek(location.offset)
        data = file.read(location.size)
    if missing := location.size - len(data):
        raise SourceError(f"{path} is truncated: {missing:,} bytes are missing. Download it again.")
    return data


class TarListing(NamedTuple):
    """The members of a tar. Names have no ``.`` and no empty components."""

    files: dict[str, MemberLocation]
    """A mapping from the path of each file in the tar to its offset and size."""
    notes: list[Note]
    """Members that are not read: names that lead out of the archive, links, devices."""
    folders: set[str]
    """Folders of the first two levels, even if the tar has no entries for the folders themselves."""
    links: set[str]
    """Symbolic links, which may lead to files or folders."""


def list_tar(path: Path) -> TarListing:
    """List the members of an uncompressed tar, in one pass over its headers.

    Raises
    ------
    SourceError
        The file is not a tar, or is truncated, damaged or gzipped.
    """
    found = TarListing({}, [], set(), set())
    for member, _ in _members(path, zipped=False):
        parts = [part for part in member.name.split("/") if part not in ("", ".")]
        name = "/" * member.name.startswith("/") + "/".join(parts)
        problem = ESCAPING_NAME if escapes_archive(name) else DUPLICATE if name in found.files else _problem(member)
        if not escapes_archive(name):
            above = parts if member.isdir() else parts[:-1]
            found.folders.update("/".join(above[:depth]) for depth in range(1, min(len(above), 2) + 1))
        if problem is not None:
            found.notes.append((name, problem))
            if member.issym():
                found.links.add(name)
        elif not member.isdir():
            found.files[name] = MemberLocation(member.offset_data, member.size)
    return found


def escapes_archive(name: str) -> bool:
    """Return whether a member's name leads out of the folder into which the archive is unpacked."""
    return name.startswith("/") or ".." in name.split("/")


DUPLICATE = "is in the archive twice: create the archive again with only one of them"
ESCAPING_NAME = "has a name that leads out of the archive: create the archive again with plain relative names"


def _problem(member: tarfile.TarInfo) -> str | None:
    if not (member.isreg() or member.isdir()) or member.sparse is not None:
        return "is a link, a device, a pipe or another kind of special file: replace it by the file itself"
    return TOO_LARGE if member.size > MAX_FILE_BYTES else None


def read_named_files(
    path: Path, wanted: Container[str], *patterns: str
) -> tuple[list[str], dict[str, bytes | bytearray]]:
    """Return the names of the files in a tar or folder, and the contents of the wanted files.

    `patterns` are glob patterns that find the files if `path` is a folder.

    Raises
    ------
    SourceError
        The file is not a tar, is truncated or damaged, or contains two wanted files with the same name.
    """
    files: dict[str, bytes | bytearray] = {}
    if path.is_dir():
        found = [file for location in patterns for file in sorted(path.glob(location)) if file.is_file()]
        names = [file.name for file in found]
        files = {file.name: read_expanded(file) for file in found if file.name in wanted}
    else:
        names = []
        with reading_errors(path):
            for member, archive in _members(path):
                name = member.name.rpartition("/")[2]
                names.append(name)
                if name in wanted and member.isreg():
                    archive.seek(member.offset_data)
                    files[name] = archive.read(member.size)
    if twice := [name for name in files if names.count(name) > 1]:
        raise SourceError(f"{path} contains {twice[0]} in several folders. Expected the archive as it was downloaded.")
    return names, files


def _members(path: Path, zipped: bool = True) -> Iterator[tuple[tarfile.TarInfo, BinaryIO]]:
    """Yield each header of a tar together with the open archive. The caller may read and seek the archive.

    Concatenated archives (``cat a.tar b.tar``) are read to the end, as ``tar --ignore-zeros`` reads them.
    """
    if not looks_like_tar(path):
        raise SourceError(f"{path} is not a tar archive. Expected a .tar or .tar.gz as it was downloaded.")
    with _open_file(path) as (archive, is_zipped):
        if is_zipped and not zipped:
            raise SourceError(
                f"{path} is gzipped, but images are read without unpacking the archive, which needs an uncompressed "
                f"tar. Decompress it first: gunzip {path.name}"
            )
        limit = MAX_EXPANDED_BYTES if is_zipped else path.stat().st_size
        start: int | None = 0
        for number in count():
            if start is None:
                break
            if is_zipped and number >= MAX_CONCATENATED:
                raise SourceError(
                    f"{path} has more than {MAX_CONCATENATED} archives. Unpack it, and specify its folder."
                )
            archive.seek(start)
            for member in tar_members(archive):
                if member.offset_data + member.size > limit:
                    problem = f"is truncated: {member.name} is not complete"
                    if is_zipped:
                        problem = f"expands to more than {limit:,} bytes"
                    raise SourceError(f"{path} {problem}. Download it again.")
                yield member, archive
            start = _next_archive(archive, path)
        archive.seek(limit)  # reads a gzipped file to its end, where its checksums are compared


def _next_archive(archive: BinaryIO, path: Path) -> int | None:
    """Return the offset of the archive that follows an end mark, or None if only zeros follow."""
    end = archive.tell()
    for start in range(end, end + MAX_PADDING, tarfile.BLOCKSIZE):
        block = archive.read(tarfile.BLOCKSIZE)  # one block at a time, because seeking back in a gzipped file is slow
        if block.strip(b"\0"):
            try:
                tarfile.TarInfo.frombuf(block, "utf-8", "surrogateescape")
            except tarfile.HeaderError:
                raise SourceError(
                    f"{path} has bytes after its end, from byte {start:,} on, which are not another archive. It may be "
                    f"damaged: download it again. If it is complete, remove the bytes: head -c {end} FILE > NEW."
                ) from None
            return start
        if len(block) < tarfile.BLOCKSIZE:
            return None
    raise SourceError(
        f"{path} has more than {MAX_PADDING >> 20} MiB of zeros after byte {end:,}, as an interrupted download has. "
        "Download it again."
    )


def looks_like_tar(path: Path) -> bool:
    """Return whether a file begins like a tar, a gzipped file or an empty tar."""
    with reading_errors(path), open_regular(path) as file:
        header = file.read(tarfile.BLOCKSIZE)
    return header.startswith(GZIP) or header[257:262] == b"ustar" or (header != b"" and not header.strip(b"\0"))
