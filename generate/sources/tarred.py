"""Tar archives, read in place: an index of what they hold, made once from their headers. Nothing is ever unpacked."""

from __future__ import annotations

import os
import tarfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, cast

from ...errors import SourceError
from ...files import open_regular
from ...manifests.records.digests import sha256_bytes
from ...manifests.records.models import ClassRecord
from .decoding import MAX_FILE_BYTES, decode, probe
from .listing import DOCUMENT_NAMES, DOCUMENT_SUFFIXES, IMAGE_SUFFIXES, Listing, ignored
from .source import Loaded, Probe, Sample
from .streams import MAX_EXPANDED, Place, expanded_size, is_zipped, read_row, reading, unpacking, unpacking_anew

MAX_MEMBERS = 20_000_000
BLOCK = 512
MOST_HEADER = 16 << 20
"""Bytes of a header with a long name, at most, in a gzipped tar: a few hundred are usual, and a bomb may say any number."""

Look = Callable[[str, Place], None]
"""(path inside the tar, where the file's bytes lie) -> nothing: given a file while its bytes are the next to be read."""


@dataclass
class Tar:
    """What a tar holds."""

    files: dict[str, Place] = field(default_factory=dict)
    """Path inside the tar, without a leading ``./`` -> where the file's bytes lie in it."""
    notes: list[tuple[str, str]] = field(default_factory=list)
    """(path, reason) of what will not be read: names that lead out of the archive, links, devices."""


class _Unpacked:
    """What a gzipped file holds, as `tarfile` reads files. Nothing is held: whoever reads between goes on from where this stopped."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._at = 0
        unpacking_anew(path)

    def read(self, size: int) -> bytes:
        if not 0 <= size <= MOST_HEADER:
            raise SourceError(f"{self._path} has a header of {size:,} bytes: it is damaged, or not what its name says. Download it again.")
        data = unpacking(self._path).read(self._at, size)
        self._at += len(data)
        return data

    def seek(self, offset: int) -> int:
        if offset < 0:
            raise ValueError("a header leads before the beginning")
        self._at = offset
        return offset

    def tell(self) -> int:
        return self._at

    def close(self) -> None:
        pass


@contextmanager
def _opened(path: Path, zipped: bool) -> Iterator[tuple[tarfile.TarFile, IO[bytes]]]:
    try:
        with (
            reading(path),
            closing(cast(IO[bytes], _Unpacked(path)) if zipped else open_regular(path)) as file,
            tarfile.open(fileobj=file, mode="r:") as tar,
        ):
            yield tar, file
    except SourceError:
        raise
    except (tarfile.TarError, ValueError) as e:
        raise SourceError(f"{path} is not a tar archive, or a damaged one ({e}). Download it again.") from None


def list_tar(path: Path, look: Look | None = None) -> Tar:
    """List a tar, gzipped or not, without reading what its files hold.

    Parameters
    ----------
    path : Path
    look : callable, optional
        Given every file as it is come to: of a gzipped tar, what is read there need not be unpacked once more.

    Raises
    ------
    SourceError
        It is no tar, is cut, or is damaged.
    """
    zipped = is_zipped(path)
    if not zipped and not tarfile_like(path):
        raise SourceError(f"{path} is not a tar archive{_looks_like(path)}. Expected a .tar or .tar.gz as it was downloaded.")
    found = Tar()
    with _opened(path, zipped) as (tar, file):
        count = before = 0
        while (member := tar.next()) is not None:
            if tar.offset <= before:  # a size may be negative, and the listing would go round for ever
                raise SourceError(f"{path} is damaged: a header leads back to byte {tar.offset:,}. Download it again.")
            before = tar.offset
            tar.members.clear()  # type: ignore[attr-defined]  # tarfile would keep every header
            count += 1
            if count > MAX_MEMBERS:
                raise SourceError(f"{path} has more than {MAX_MEMBERS:,} members: it is not what its name says.")
            name = member.name
            while name.startswith("./"):
                name = name[2:]
            problem = _problem(name, member)
            if problem is not None:
                found.notes.append((name, problem))
            elif member.isreg() and name in found.files:
                found.notes.append((name, "is in the archive twice: make the archive anew, with one of them"))
            elif member.isreg():
                if zipped and member.offset_data + member.size > MAX_EXPANDED:
                    raise SourceError(f"{path} expands to more than {MAX_EXPANDED:,} bytes: it is not what its name says.")
                found.files[name] = Place(path, member.offset_data, member.size, zipped)
                if look is not None:
                    look(name, found.files[name])
        # tarfile takes a header that it cannot read for the end: only the end mark, a block of zeros, tells them apart.
        file.seek(tar.offset)
        mark = file.read(BLOCK)
        end = expanded_size(path) if zipped else path.stat().st_size
    if mark.strip(b"\0") or len(mark) < BLOCK:
        what = f"has no readable header at byte {tar.offset:,}" if mark else "ends without the mark that closes an archive"
        raise SourceError(f"{path} is cut or damaged: it {what}. Download it again.")
    beyond = next((name for name, place in found.files.items() if place.offset + place.size > end), None)
    if beyond is not None:
        raise SourceError(f"{path} is cut: {beyond} in it ends beyond the archive's end. Download it again.")
    return found


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
    found = next((kind for magic, kind in kinds.items() if head.startswith(magic)), None)
    return f" but {found}" if found else ""


def _problem(name: str, member: tarfile.TarInfo) -> str | None:
    if name.startswith("/") or ".." in name.split("/"):
        return "has a name that leads out of the archive: nothing is read under it; make the archive anew with plain relative names"
    if member.issym() or member.islnk():
        return f"is a link to {member.linkname!r}: links in an archive are not followed; put the file itself there"
    if member.isdir():
        return None
    if not member.isreg():
        return "is a device, a pipe or another thing that is no file: make the archive anew without it"
    if member.sparse is not None:
        return "is stored as a sparse file: make the archive anew without --sparse"
    if member.size > MAX_FILE_BYTES:
        return f"has {member.size:,} bytes, more than the {MAX_FILE_BYTES:,} that one file may have: leave it out"
    return None


def list_images(tar: Tar, root: str = "") -> Listing:
    """Return the images of a tar below one of its folders, as `list_folder` lists a folder on disk."""
    found = Listing(notes=list(tar.notes))
    folders = set()
    for name in sorted(tar.files):
        if not name.startswith(root) or any(ignored(part) for part in name[len(root) :].split("/")):
            continue
        path = name[len(root) :]
        base = path.rpartition("/")[2].lower()
        stem, _, suffix = base.rpartition(".")
        if stem and suffix in IMAGE_SUFFIXES:
            found.images.append(path)
            folders.add(path.partition("/")[0] if "/" in path else "")
        elif suffix not in DOCUMENT_SUFFIXES and base.split(".")[0] not in DOCUMENT_NAMES:
            found.notes.append((name, f"has no suffix of an image ({', '.join(IMAGE_SUFFIXES)}): make the archive anew without it"))
    found.folders = sorted(folders - {""})
    return found


def single_root(tar: Tar) -> str:
    """Return ``<folder>/`` if everything in a tar lies at least two folders deep in one folder, else an empty string.

    Tars of a folder of class folders are made from within it or from beside it; both name the same classes.
    """
    tops = {name.partition("/")[0] for name in tar.files if not ignored(name.partition("/")[0])}
    images = [name for name in tar.files if name.rpartition(".")[2].lower() in IMAGE_SUFFIXES]
    deep = bool(images) and all(name.count("/") >= 2 for name in images)
    return f"{tops.pop()}/" if len(tops) == 1 and deep else ""


_NOWHERE = Place(Path(), 0, 0)


@dataclass(frozen=True)
class Member(Sample):
    """A sample in a tar: where its bytes lie."""

    place: Place = _NOWHERE


class TarSource:
    """Images in a tar that is not compressed."""

    license: str | None = None

    def __init__(
        self, scheme: str, samples: tuple[Member, ...], classes: tuple[ClassRecord, ...], notes: tuple[tuple[str, str], ...]
    ) -> None:
        self.scheme = scheme
        self.samples: tuple[Sample, ...] = samples
        self.classes = classes
        self.notes = notes

    def load(self, sample: Sample) -> Loaded:
        """Read and decode an image."""
        data = self._read(sample)
        return Loaded(decode(data), sha256_bytes(data))

    def fingerprint(self, sample: Sample) -> str:
        """Return the sha256 of an image's file."""
        return sha256_bytes(self._read(sample))

    def probe(self, sample: Sample) -> Probe:
        """Read and decode an image and keep nothing."""
        data = self._read(sample)
        return Probe(sha256_bytes(data), *probe(data))

    def _read(self, sample: Sample) -> bytes:
        assert isinstance(sample, Member)
        return bytes(read_row(sample.place))


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
            f"Decompress it first: gunzip {os.path.basename(path)}"
        )
    return list_tar(path)


def with_places(samples: tuple[Sample, ...], tar: Tar, root: str) -> tuple[Member, ...]:
    """Return samples with where their files lie in a tar."""
    return tuple(Member(s.index, s.id, s.label, s.path, s.split, tar.files[f"{root}{s.path}"]) for s in samples)
