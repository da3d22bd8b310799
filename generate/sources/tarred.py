"""Files that are read in place: whole ones, gzipped or not, and the members of tars by an index. Nothing is
extracted.
"""

from __future__ import annotations

import gzip
import re
import tarfile
import zlib
from collections.abc import Iterator
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
"""Bytes of a file that is read whole, or of the members of a tar that are: EMNIST's images have 547 million, all of
CIFAR 190.
"""
MAX_EXPANDED = 8 << 30
"""Bytes that a gzipped tar may expand to: CIFAR and the devkit stay far below, a bomb does not."""
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


def first_bytes(path: Path, count: int) -> bytes:
    """Return the first bytes of a regular file."""
    with reading(path), open_regular(path) as file:
        return file.read(count)


def _open(path: Path) -> tuple[BinaryIO, bool]:
    """Open a regular file, or what a gzipped one expands to, and say whether it is; checksums are compared at
    the end.
    """
    zipped = first_bytes(path, 2) == b"\x1f\x8b"
    file = open_regular(path)
    if not zipped:
        return file, False
    unpacked = gzip.GzipFile(fileobj=file, mode="rb")
    unpacked.myfileobj = file  # type: ignore[assignment]  # closed with it
    return cast(BinaryIO, unpacked), True


def read_whole(path: Path, most: int | None = None) -> bytearray:
    """Return the bytes of a file, or what it expands to; raise `SourceError` where it cannot be read or they are more
    than `most`.
    """
    most, data = MOST_BYTES if most is None else most, bytearray()
    with reading(path), _open(path)[0] as file:
        while len(data) <= most and (piece := file.read(PIECE)):
            data += piece
    if len(data) > most:
        raise SourceError(f"{path} has more than {most:,} bytes: it is not what its name says.")
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
        raise SourceError(
            f"{path} is cut: it ends {place.size - len(data):,} bytes before it should. Download it again."
        )
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


def list_tar(path: Path, wanted: re.Pattern[str] | None = None) -> Tar:
    """List a tar, gzipped or not, in one pass over its headers.

    Parameters
    ----------
    path : Path
    wanted : re.Pattern, optional
        What the whole name of a file, without its folders, matches if it is read on the way; without it, no file is,
        and the archive must not be gzipped: its members are to be read in place.

    Raises
    ------
    SourceError
        It is no tar, is cut, or is damaged.
    """
    if not tarfile_like(path):
        raise SourceError(f"{path} is not a tar archive. Expected a .tar or .tar.gz as it was downloaded.")
    tar, held = Tar(), 0
    file, zipped = _open(path)
    with reading(path), file:
        if zipped and wanted is None:
            raise SourceError(
                f"{path} is gzipped; images are read in place, which a compressed archive does not allow (and JPEGs "
                "do not shrink). "
                f"Decompress it first: gunzip {path.name}"
            )
        for member in tar_members(file):
            name = re.sub(r"^(\./)+", "", member.name)
            if member.isdir():
                continue
            if (problem := _problem(name, member)) is not None or name in tar.files:
                tar.notes.append((name, problem or "is in the archive twice: make it again, with one of them"))
                continue
            tar.files[name] = Place(member.offset_data, member.size)
            if wanted is not None and wanted.fullmatch(name.rpartition("/")[2]):
                held += member.size
                if held > MOST_BYTES:
                    raise SourceError(f"{path}: {name} and the files before it have more than {MOST_BYTES:,} bytes.")
                file.seek(member.offset_data)
                tar.contents[name] = file.read(member.size)
            if zipped and member.offset_data + member.size > MAX_EXPANDED:
                break
        while zipped and file.tell() <= MAX_EXPANDED and file.read(PIECE):
            pass  # to its end, where checksums are compared
        if zipped and file.tell() > MAX_EXPANDED:
            raise SourceError(f"{path} expands to more than {MAX_EXPANDED:,} bytes: it is not what its name says.")
        end = file.tell() if zipped else path.stat().st_size
    if beyond := [name for name, place in tar.files.items() if place.offset + place.size > end]:
        raise SourceError(f"{path} is cut: {beyond[0]} in it ends beyond the archive's end. Download it again.")
    return tar


def tarfile_like(path: Path) -> bool:
    """Whether a file begins as tars do, gzipped or not."""
    if (header := first_bytes(path, tarfile.BLOCKSIZE)).startswith(b"\x1f\x8b"):
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


def named_files(path: Path, wanted: re.Pattern[str], *places: str) -> tuple[list[str], dict[str, bytes | bytearray]]:
    """Return the paths of the files of a folder (where globs find them) or a tar, and the contents of those that are
    wanted.
    """
    if path.is_dir():
        found = {p.relative_to(path).as_posix(): p for place in places for p in sorted(path.glob(place)) if p.is_file()}
        return list(found), {name: read_whole(p) for name, p in found.items() if wanted.fullmatch(p.name)}
    tar = list_tar(path, wanted)
    if tar.notes:
        raise SourceError(f"{path} is not as it is published: {tar.notes[0][0]} in it {tar.notes[0][1]}.")
    return list(tar.files), dict(tar.contents)
