"""Files read in place: whole ones, gzipped or not, and tars by an index."""

from __future__ import annotations

import gzip
import re
import tarfile
import zlib
from collections.abc import Container, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

from ...errors import SourceError
from ...files import open_regular, reason
from ...manifests.disk.tar_members import tar_members
from .decoding import MAX_FILE_BYTES, TOO_LARGE
from .source import MemberPlace, Note

PIECE = 1 << 20
"""Bytes that are read at once: what a file says of its size is not believed."""
MOST_BYTES = 1 << 30
"""Bytes of a file that is read whole, and of what a gzipped tar expands to: EMNIST's images have 547 million, all of
CIFAR 190.
"""
GZIP = b"\x1f\x8b"
Stamp = tuple[int, int, int]


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Turn what goes wrong with a file's bytes into a `SourceError`."""
    try:
        yield
    except SourceError:
        raise
    except EOFError:
        raise SourceError(f"{path} is cut: it ends in the middle of its compressed data. Download it again.") from None
    except KeyError as e:
        raise SourceError(f"{path} holds no {e.args[0]}, so it is not what its name says. Download it again.") from None
    except (gzip.BadGzipFile, zlib.error, tarfile.TarError, ValueError, RecursionError) as e:
        raise SourceError(f"{path} is not what it should be, or is cut or damaged: {e}. Download it again.") from None
    except OSError as e:
        raise SourceError(f"{path} cannot be read: {reason(e)}.") from None


@contextmanager
def _opened(path: Path) -> Iterator[tuple[BinaryIO, bool]]:
    """Open a file, or what a gzipped one expands to; and say which it is."""
    with reading(path), open_regular(path) as file:
        zipped = file.peek(2).startswith(GZIP)
        yield cast(BinaryIO, gzip.GzipFile(fileobj=file) if zipped else file), zipped


def read_whole(path: Path) -> bytearray:
    """Return the bytes of a file, or what it expands to."""
    data = bytearray()
    with _opened(path) as (file, _):
        while len(data) <= MOST_BYTES and (piece := file.read(PIECE)):
            data += piece
    if len(data) > MOST_BYTES:
        raise SourceError(f"{path} has more than {MOST_BYTES:,} bytes: it is not what its name says.")
    return data


def stamp(path: Path) -> Stamp:
    """Return a file's inode, size and time, which tell whether it has changed."""
    status = path.stat()
    return status.st_ino, status.st_size, status.st_mtime_ns


def read_place(path: Path, place: MemberPlace) -> bytes:
    """Return the bytes of a place in a file, or raise `SourceError`."""
    with reading(path), open_regular(path) as file:
        file.seek(place.offset)
        data = file.read(place.size)
    if missing := place.size - len(data):
        raise SourceError(f"{path} is cut: it ends {missing:,} bytes before it should. Download it again.")
    return data


def list_tar(path: Path) -> tuple[dict[str, MemberPlace], list[Note]]:
    """List a tar whose members are read in place, in one pass over its headers.

    Returns
    -------
    files : dict
        Path inside the tar, without ``./`` and ``//`` -> where the file's bytes lie.
    notes : list of (path, reason)
        What will not be read: names that lead out of the archive, links, devices.

    Raises
    ------
    SourceError
        It is no tar, is cut, is damaged, or is gzipped.
    """
    files: dict[str, MemberPlace] = {}
    notes: list[Note] = []
    for member, _ in _members(path, zipped=False):
        name = re.sub(r"(?:^|(?<=/))\./+|(?<=/)/+", "", member.name)
        problem = TWICE if name in files else _problem(name, member)
        if problem is not None:
            notes.append((name, problem))
        elif not member.isdir():
            files[name] = MemberPlace(member.offset_data, member.size)
    return files, notes


TWICE = "is in the archive twice: make it again, with one of them"


def _problem(name: str, member: tarfile.TarInfo) -> str | None:
    if name.startswith("/") or ".." in name.split("/"):
        return (
            "has a name that leads out of the archive: nothing is read under it; make the archive again with plain "
            "relative names"
        )
    if not (member.isreg() or member.isdir()) or member.sparse is not None:
        return "is a link, a device, a pipe or another thing that is no plain file: put the file itself there"
    return TOO_LARGE if member.size > MAX_FILE_BYTES else None


def named_files(path: Path, wanted: Container[str], *places: str) -> tuple[list[str], dict[str, bytes | bytearray]]:
    """Return the names of files in a tar or folder, and contents of wanted ones.

    Raises
    ------
    SourceError
        It is no tar, is cut, is damaged, or has two files of a name.
    """
    files: dict[str, bytes | bytearray] = {}
    if path.is_dir():
        found = [file for place in places for file in sorted(path.glob(place)) if file.is_file()]
        names = [file.name for file in found]
        files = {file.name: read_whole(file) for file in found if file.name in wanted}
    else:
        names = []
        with reading(path):
            for member, archive in _members(path):
                name = member.name.rpartition("/")[2]
                names.append(name)
                if name in wanted and member.isreg():
                    archive.seek(member.offset_data)
                    files[name] = archive.read(member.size)
    if twice := [name for name in files if names.count(name) > 1]:
        raise SourceError(f"{path} has {twice[0]} in several folders. Expected it as it was downloaded.")
    return names, files


def _members(path: Path, zipped: bool = True) -> Iterator[tuple[tarfile.TarInfo, BinaryIO]]:
    """Yield the headers of a tar, with the archive, which may be read in between."""
    if not tarfile_like(path):
        raise SourceError(f"{path} is not a tar archive. Expected a .tar or .tar.gz as it was downloaded.")
    with _opened(path) as (archive, is_zipped):
        if is_zipped and not zipped:
            raise SourceError(
                f"{path} is gzipped; images are read in place, which a compressed archive does not allow (and JPEGs "
                f"do not shrink). Decompress it first: gunzip {path.name}"
            )
        most = MOST_BYTES if is_zipped else path.stat().st_size
        for member in tar_members(archive):
            if member.offset_data + member.size > most:  # which would be expanded, or held in memory
                lie = f"expands to more than {most:,} bytes" if is_zipped else f"is cut: {member.name} ends beyond it"
                raise SourceError(f"{path} {lie}. Download it again.")
            yield member, archive
        archive.seek(most)  # of a gzipped file the end is read here, where its checksums are compared


def tarfile_like(path: Path) -> bool:
    """Whether a file begins as tars do, gzipped or not, or as an empty one."""
    with reading(path), open_regular(path) as file:
        header = file.read(tarfile.BLOCKSIZE)
    return header.startswith(GZIP) or header[257:262] == b"ustar" or (header != b"" and not header.strip(b"\0"))
