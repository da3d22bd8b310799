"""What `pack` wrote, before it is published: checked, with the manifest and the page that its archives hold."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from ...errors import IncompleteBuild, ReleaseError, VerificationError, listed
from ...files import read_regular
from ..layout import MANIFEST, PAGE, SHA256SUMS, WORK_FOLDER
from ..records.digests import sha256_bytes
from ..records.models import Manifest
from ..release.archive_head import read_heads
from ..release.archives import read_members
from ..release.division import Contents
from ..release.release_index import INDEX, INDEX_CAP, ReleaseIndex, indexed_files, parse_index

_PAGE_CAP = 64 << 20
_TEXT_CAP = 1 << 30
"""Bytes of a small file; the table of a million samples has some 400 MB."""


@dataclass(frozen=True)
class ReleaseFolder:
    """A release on this disk.

    Attributes
    ----------
    path : Path
    index : ReleaseIndex
    manifest : Manifest
        That of the data set.
    texts : dict
        Path -> bytes of all files but archives and the index; with the data set's page, where it is in an archive.
    """

    path: Path
    index: ReleaseIndex
    manifest: Manifest
    texts: dict[str, bytes]

    def with_texts(self, texts: dict[str, bytes]) -> ReleaseFolder:
        """Return the release with other small files, which its index names."""
        return replace(self, texts=texts, index=self.index.model_copy(update={"files": indexed_files(texts)}))


def open_release_folder(directory: Path | str) -> ReleaseFolder:
    """Read a folder that `pack` wrote; the archives' sizes are compared, their bytes are not read.

    Raises
    ------
    ReleaseError
        The folder is a build, or something else that `pack` did not write.
    IncompleteBuild
        The pack was interrupted.
    VerificationError
        Files are missing or are not what the index says; names all of them.
    """
    root = Path(directory)
    if (root / MANIFEST).exists():
        packed = f"{str(root).rstrip('/')}-release"
        raise ReleaseError(f"{root} is a data set that was not packed. Pack it first:\n  corruptset pack {root} --out {packed}")
    if (root / WORK_FOLDER).exists() or ((root / INDEX).exists() and not (root / SHA256SUMS).exists()):
        raise IncompleteBuild(f"{root} holds an interrupted pack. Finish it with the same `corruptset pack` command.")
    if not (root / INDEX).is_file():
        raise ReleaseError(f"{root} has no {INDEX}, so it is not a folder that `corruptset pack` wrote. Name that folder, or pack again.")
    index = parse_index(read_regular(root / INDEX, INDEX_CAP), str(root / INDEX))
    problems, texts = [], {}
    for file in index.files:
        try:
            texts[file.path] = read_regular(root / file.path, _TEXT_CAP)
        except OSError as e:
            problems.append(f"{file.path}: {e.strerror}")
            continue
        if sha256_bytes(texts[file.path]) != file.sha256:
            problems.append(f"{file.path} was changed after the pack")
    for archive in index.archives:
        path = root / archive.path
        if not path.is_file():
            problems.append(f"{archive.path} is missing")
        elif path.stat().st_size != archive.bytes:
            problems.append(f"{archive.path} has {path.stat().st_size} bytes, recorded are {archive.bytes}")
    if problems:
        raise VerificationError(f"{root} is not what its {INDEX} says:\n{listed(problems)}\nPack the data set again, to another --out.")
    records = root / index.archives[-1].path
    _, contents = read_heads([records])
    if contents.manifest.digest != index.digest:
        raise VerificationError(f"{root / INDEX} names {index.digest}; the archives are of {contents.manifest.digest}. Pack again.")
    page = _page(records, contents)
    release = ReleaseFolder(root, index, contents.manifest, texts)
    return release.with_texts({**texts, PAGE: page}) if page is not None else release


def _page(archive: Path, contents: Contents) -> bytes | None:
    """Return the data set's page, which lies in the archive of records; None where the release has none."""
    sha256 = next((f.sha256 for f in contents.manifest.files if f.path == PAGE), None)
    for member in read_members(archive):
        if sha256 is not None and member.name.endswith(f"/{PAGE}") and member.name.count("/") == 1:
            data = member.read(_PAGE_CAP)
            return data if sha256_bytes(data) == sha256 else None
    return None
