"""Tar archives, read in place: an index of what they hold, made once from their headers. Nothing is extracted."""

from __future__ import annotations

import tarfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from ...errors import SourceError
from ...files import open_regular
from ...manifests.disk.tar_members import tar_members
from .decoding import MAX_FILE_BYTES
from .places import PIECE, Place, is_zipped, open_bytes, reading

BLOCK = 512
MOST_CONTENTS = 512 << 20
"""Bytes of files that are read while an archive is listed: all of CIFAR has 190 million."""
MAX_EXPANDED = 8 << 30
"""Bytes that a gzipped archive may expand to: CIFAR and the devkit stay far below, a bomb does not."""


@dataclass
class Tar:
    """What a tar holds."""

    files: dict[str, Place] = field(default_factory=dict)
    """Path inside the tar, without a leading ``./`` -> where the file's bytes lie."""
    notes: list[tuple[str, str]] = field(default_factory=list)
    """(path, reason) of what will not be read: names that lead out of the archive, links, devices."""
    contents: dict[str, bytes] = field(default_factory=dict)
    """Path -> bytes of the files that were wanted."""


@contextmanager
def _reading_tar(path: Path) -> Iterator[None]:
    """Turn what goes wrong with a tar into a `SourceError`."""
    try:
        with reading(path):
            yield
    except SourceError:
        raise
    except (tarfile.TarError, ValueError, RecursionError) as e:
        raise SourceError(f"{path} is not a tar archive, or is cut or damaged: {e}. Download it again.") from None


def list_tar(path: Path, wanted: Callable[[str], bool] = lambda name: False) -> Tar:
    """List a tar, gzipped or not, in one pass over its headers.

    Parameters
    ----------
    path : Path
    wanted : callable, optional
        Whether the file of a path inside the tar is read on the way.

    Raises
    ------
    SourceError
        It is no tar, is cut, or is damaged.
    """
    zipped = is_zipped(path)
    if not zipped and not tarfile_like(path):
        raise SourceError(f"{path} is not a tar archive{_looks_like(path)}. Expected a .tar or .tar.gz as it was downloaded.")
    tar = Tar()
    held = 0
    with _reading_tar(path), open_bytes(path, zipped=zipped) as file:
        for member in tar_members(file):
            name = member.name
            while name.startswith("./"):
                name = name[2:]
            problem = _problem(name, member)
            if problem is not None:
                tar.notes.append((name, problem))
            elif member.isreg() and name in tar.files:
                tar.notes.append((name, "is in the archive twice: make the archive again, with one of them"))
            elif member.isreg():
                tar.files[name] = Place(path, member.offset_data, member.size)
                if zipped and member.offset_data + member.size > MAX_EXPANDED:
                    raise SourceError(f"{path} expands to more than {MAX_EXPANDED:,} bytes: it is not what its name says.")
                if wanted(name):
                    held += member.size
                    if held > MOST_CONTENTS:
                        raise SourceError(f"{path}: {name} and the files before it have {held:,} bytes, more than such files have.")
                    file.seek(member.offset_data)
                    tar.contents[name] = file.read(member.size)
        while zipped and file.read(PIECE):  # to its end, where checksums are compared
            if file.tell() > MAX_EXPANDED:
                raise SourceError(f"{path} expands to more than {MAX_EXPANDED:,} bytes: it is not what its name says.")
        end = file.tell() if zipped else path.stat().st_size
    beyond = next((name for name, place in tar.files.items() if place.offset + place.size > end), None)
    if beyond is not None:
        raise SourceError(f"{path} is cut: {beyond} in it ends beyond the archive's end. Download it again.")
    return tar


def tarfile_like(path: Path) -> bool:
    """Whether a file begins as tars do."""
    with reading(path), open_regular(path) as f:
        header = f.read(BLOCK)
    if len(header) < BLOCK:
        return False
    try:
        tarfile.TarInfo.frombuf(header, "utf-8", "surrogateescape")
    except tarfile.HeaderError:
        return not header.strip(b"\0")
    return True


def _looks_like(path: Path) -> str:
    with reading(path), open_regular(path) as f:
        head = f.read(4)
    kinds = {b"PK\x03\x04": "a zip archive", b"BZh": "compressed with bzip2", b"\xfd7zX": "compressed with xz", b"\x1f\x8b": "gzipped"}
    kind = next((kind for magic, kind in kinds.items() if head.startswith(magic)), None)
    return f" but {kind}" if kind else ""


def _problem(name: str, member: tarfile.TarInfo) -> str | None:
    if name.startswith("/") or ".." in name.split("/"):
        return "has a name that leads out of the archive: nothing is read under it; make the archive again with plain relative names"
    if member.issym() or member.islnk():
        return f"is a link to {member.linkname!r}: links in an archive are not followed; put the file itself there"
    if member.isdir():
        return None
    if not member.isreg():
        return "is a device, a pipe or another thing that is no file: make the archive again without it"
    if member.sparse is not None:
        return "is stored as a sparse file: make the archive again without --sparse"
    if member.size > MAX_FILE_BYTES:
        return f"has {member.size:,} bytes, more than the {MAX_FILE_BYTES:,} that one file may have: leave it out"
    return None


def image_tar(path: Path) -> Tar:
    """List a tar of images.

    Raises
    ------
    SourceError
        Also where it is gzipped: images could then not be reached in place.
    """
    if is_zipped(path):
        raise SourceError(
            f"{path} is gzipped; images are read in place, which a compressed archive does not allow (and JPEGs do not shrink). "
            f"Decompress it first: gunzip {path.name}"
        )
    return list_tar(path)
