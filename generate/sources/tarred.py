"""Files read in place: whole ones, gzipped or not, and tars by an index."""

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
from .source import MemberPlace, Note

PIECE = 1 << 20
"""Bytes that are read at once: what a file says of its size is not believed."""
MOST_BYTES = 1 << 30
"""Bytes of a file that is read whole, and of what a gzipped tar expands to: EMNIST's images have 547 million, all of
CIFAR 190.
"""
MAX_PADDING = 16 << 20
"""Bytes of zeros after an archive. GNU tar fills up to 10 kB, and a tape's blocks have at most some megabytes. More are
what a download leaves that reserved its space and was interrupted.
"""
MAX_JOINED = 8
"""Archives that may follow each other in a gzipped file, where seeking back means to expand it from its beginning."""
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


class TarListing(NamedTuple):
    """What a tar holds. Names are without ``.`` and empty components."""

    files: dict[str, MemberPlace]
    """Path in the tar -> where the file's bytes lie."""
    notes: list[Note]
    """What will not be read: names that lead out of the archive, links, devices."""
    folders: set[str]
    """Folders of the first two levels, whether the tar has entries for them or only for what is in them."""
    links: set[str]
    """Symbolic links, which may have been made for a file or for a folder."""


def list_tar(path: Path) -> TarListing:
    """List a tar whose members are read in place, in one pass over its headers.

    Raises
    ------
    SourceError
        It is no tar, is cut, is damaged, or is gzipped.
    """
    found = TarListing({}, [], set(), set())
    for member, _ in _members(path, zipped=False):
        parts = [part for part in member.name.split("/") if part not in ("", ".")]
        name = "/" * member.name.startswith("/") + "/".join(parts)
        problem = OUTSIDE if leads_out(name) else TWICE if name in found.files else _problem(member)
        if not leads_out(name):
            above = parts if member.isdir() else parts[:-1]
            found.folders.update("/".join(above[:depth]) for depth in range(1, min(len(above), 2) + 1))
        if problem is not None:
            found.notes.append((name, problem))
            if member.issym():
                found.links.add(name)
        elif not member.isdir():
            found.files[name] = MemberPlace(member.offset_data, member.size)
    return found


def leads_out(name: str) -> bool:
    """Whether a member's name leads out of the folder that an archive is unpacked into."""
    return name.startswith("/") or ".." in name.split("/")


TWICE = "is in the archive twice: make it again, with one of them"


OUTSIDE = (
    "has a name that leads out of the archive: nothing is read under it; make the archive again with plain relative "
    "names"
)


def _problem(member: tarfile.TarInfo) -> str | None:
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
    """Yield the headers of a tar, with the archive, which may be read in between.

    Archives that follow the first one (``cat a.tar b.tar``) are read too, as ``tar --ignore-zeros`` reads them.
    """
    if not tarfile_like(path):
        raise SourceError(f"{path} is not a tar archive. Expected a .tar or .tar.gz as it was downloaded.")
    with _opened(path) as (archive, is_zipped):
        if is_zipped and not zipped:
            raise SourceError(
                f"{path} is gzipped; images are read in place, which a compressed archive does not allow (and JPEGs "
                f"do not shrink). Decompress it first: gunzip {path.name}"
            )
        most = MOST_BYTES if is_zipped else path.stat().st_size
        start: int | None = 0
        for joined in count():
            if start is None:
                break
            if is_zipped and joined >= MAX_JOINED:
                raise SourceError(f"{path} is made of more than {MAX_JOINED} archives. Unpack it, and give its folder.")
            archive.seek(start)
            for member in tar_members(archive):
                if member.offset_data + member.size > most:  # which would be expanded, or held in memory
                    lie = (
                        f"expands to more than {most:,} bytes" if is_zipped else f"is cut: {member.name} ends beyond it"
                    )
                    raise SourceError(f"{path} {lie}. Download it again.")
                yield member, archive
            start = _next_archive(archive, path)
        archive.seek(most)  # of a gzipped file the end is read here, where its checksums are compared


def _next_archive(archive: BinaryIO, path: Path) -> int | None:
    """Return where the archive after an end mark begins, or None where only zeros follow the mark."""
    end = archive.tell()
    for start in range(end, end + MAX_PADDING, tarfile.BLOCKSIZE):
        block = archive.read(tarfile.BLOCKSIZE)  # no more, because to seek back in a gzipped file is to begin again
        if block.strip(b"\0"):
            try:
                tarfile.TarInfo.frombuf(block, "utf-8", "surrogateescape")
            except tarfile.HeaderError:
                raise SourceError(
                    f"{path} has bytes after its end, from byte {start:,} on, which are not another archive. It may be "
                    f"damaged: download it again. If it is whole, cut it off: head -c {end} FILE > NEW."
                ) from None
            return start
        if len(block) < tarfile.BLOCKSIZE:
            return None
    raise SourceError(
        f"{path} has more than {MAX_PADDING >> 20} MiB of zeros after byte {end:,}, as an interrupted download has. "
        "Download it again."
    )


def tarfile_like(path: Path) -> bool:
    """Whether a file begins as tars do, gzipped or not, or as an empty one."""
    with reading(path), open_regular(path) as file:
        header = file.read(tarfile.BLOCKSIZE)
    return header.startswith(GZIP) or header[257:262] == b"ustar" or (header != b"" and not header.strip(b"\0"))
