"""Files read in place: whole ones, gzipped or not, and the members of tars by an index. Nothing is extracted."""

from __future__ import annotations

import gzip
import re
import tarfile
import zlib
from collections.abc import Container, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, cast

from ...errors import SourceError
from ...files import open_regular, reason
from ...manifests.disk.tar_members import tar_members
from .decoding import MAX_FILE_BYTES
from .source import Note, Place

PIECE = 1 << 20
"""Bytes that are read at once: what a file says of its size is not believed."""
MOST_BYTES = 1 << 30
"""Bytes of a file that is read whole, and of what a gzipped tar expands to: EMNIST's images have 547 million, all of
CIFAR 190.
"""
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
    except (gzip.BadGzipFile, zlib.error, tarfile.TarError, ValueError, RecursionError) as e:
        raise SourceError(f"{path} is not what it should be, or is cut or damaged: {e}. Download it again.") from None
    except KeyError as e:
        raise SourceError(f"{path} holds no {e.args[0]}, so it is not what its name says. Download it again.") from None
    except OSError as e:
        raise SourceError(f"{path} cannot be read: {reason(e)}.") from None


@contextmanager
def opened(path: Path) -> Iterator[BinaryIO]:
    """Open a regular file, or what a gzipped one expands to; checksums are compared at its end."""
    with reading(path), open_regular(path) as file:
        zipped = file.peek(2).startswith(b"\x1f\x8b")
        yield cast(BinaryIO, gzip.GzipFile(fileobj=file)) if zipped else file


def read_whole(path: Path) -> bytearray:
    """Return the bytes of a file, or what it expands to."""
    data = bytearray()
    with opened(path) as file:
        while len(data) <= MOST_BYTES and (piece := file.read(PIECE)):
            data += piece
    if len(data) > MOST_BYTES:
        raise SourceError(f"{path} has more than {MOST_BYTES:,} bytes: it is not what its name says.")
    return data


def stamp(path: Path) -> Stamp:
    """Return what tells a file from another of its name, or from itself before it was written to."""
    status = path.stat()
    return status.st_ino, status.st_size, status.st_mtime_ns


def read_place(path: Path, place: Place) -> bytes:
    """Return the bytes of a place in a file, or raise `SourceError`."""
    with reading(path), open_regular(path) as file:
        file.seek(place.offset)
        data = file.read(place.size)
    if len(data) != place.size:
        missing = place.size - len(data)
        raise SourceError(f"{path} is cut: it ends {missing:,} bytes before it should. Download it again.")
    return data


@dataclass
class Tar:
    """What a tar holds."""

    files: dict[str, Place] = field(default_factory=dict)
    """Path inside the tar, without a leading ``./`` -> where the file's bytes lie."""
    notes: list[Note] = field(default_factory=list)
    """What will not be read: names that lead out of the archive, links, devices."""
    contents: dict[str, bytes] = field(default_factory=dict)
    """Path -> bytes of the files that were wanted."""


def list_tar(path: Path, wanted: Container[str] | None = None) -> Tar:
    """List a tar in one pass over its headers.

    Parameters
    ----------
    path : Path
    wanted : container of str, optional
        Names, without folders, of the files that are read on the way; without it, none is, and the archive must not be
        gzipped: its members are to be read in place.

    Raises
    ------
    SourceError
        It is no tar, is cut, or is damaged.
    """
    if not tarfile_like(path):
        raise SourceError(f"{path} is not a tar archive. Expected a .tar or .tar.gz as it was downloaded.")
    tar = Tar()
    with opened(path) as file:
        zipped = isinstance(file, gzip.GzipFile)
        if zipped and wanted is None:
            raise SourceError(
                f"{path} is gzipped; images are read in place, which a compressed archive does not allow (and JPEGs "
                f"do not shrink). Decompress it first: gunzip {path.name}"
            )
        most = MOST_BYTES if zipped else path.stat().st_size
        for member in tar_members(file):
            name, place = re.sub(r"^(\./)+", "", member.name), Place(member.offset_data, member.size)
            if zipped and place.offset + place.size > most:  # a header may say anything, which would be expanded
                raise SourceError(f"{path} expands to more than {most:,} bytes: it is not what its name says.")
            if member.isdir():
                continue
            if (problem := _problem(name, member)) is not None or name in tar.files:
                tar.notes.append((name, problem or "is in the archive twice: make it again, with one of them"))
                continue
            tar.files[name] = place
            if wanted is not None and name.rpartition("/")[2] in wanted:
                file.seek(place.offset)
                tar.contents[name] = file.read(place.size)
        end = file.seek(most)  # of a gzipped file the end is read here, where its checksums are compared
    if beyond := [name for name, place in tar.files.items() if place.offset + place.size > end]:
        raise SourceError(f"{path} is cut: {beyond[0]} in it ends beyond the archive's end. Download it again.")
    return tar


def tarfile_like(path: Path) -> bool:
    """Whether a file begins as tars do, gzipped or not."""
    with reading(path), open_regular(path) as file:
        header = file.read(tarfile.BLOCKSIZE)
    if header.startswith(b"\x1f\x8b"):
        return True
    try:
        tarfile.TarInfo.frombuf(header, "utf-8", "surrogateescape")
    except tarfile.HeaderError:
        return len(header) == tarfile.BLOCKSIZE and not header.strip(b"\0")
    return True


def _problem(name: str, member: tarfile.TarInfo) -> str | None:
    if name.startswith("/") or ".." in name.split("/"):
        return (
            "has a name that leads out of the archive: nothing is read under it; make the archive again with plain "
            "relative names"
        )
    if member.issym() or member.islnk():
        return f"is a link to {member.linkname!r}: links in an archive are not followed; put the file itself there"
    if not member.isreg() or member.sparse is not None:
        return "is a device, a pipe or another thing that is no plain file: make the archive again without it"
    if member.size > MAX_FILE_BYTES:
        return f"has {member.size:,} bytes, more than the {MAX_FILE_BYTES:,} that one file may have: leave it out"
    return None


def named_files(path: Path, wanted: Container[str], *places: str) -> tuple[list[str], dict[str, bytes | bytearray]]:
    """Return the paths of the files of a folder (where globs find them) or a tar, and the contents of those that are
    wanted by their names.
    """
    if path.is_dir():
        found = {p.relative_to(path).as_posix(): p for place in places for p in sorted(path.glob(place)) if p.is_file()}
        return list(found), {name: read_whole(p) for name, p in found.items() if p.name in wanted}
    tar = list_tar(path, wanted)
    if tar.notes:
        raise SourceError(f"{path} is not as it is published: {tar.notes[0][0]} in it {tar.notes[0][1]}.")
    return list(tar.files), dict(tar.contents)
