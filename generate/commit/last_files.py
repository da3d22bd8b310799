"""The last files of a build, written aside and put in place together, manifest.json last.

So a finished data set that is extended is what its manifest says until the last moment. Once `finish.json` stands,
whoever has the lock next puts the files in place, without the source.
"""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

from ...manifests.checksums import sha256sums_bytes
from ...manifests.disk.atomic import fsync_folder, make_folder, write_atomic
from ...manifests.disk.hashed import read_hashed, write_hashed
from ...manifests.manifest_file import manifest_bytes
from ...manifests.paths import FINISH, MANIFEST, NEXT, SHA256SUMS
from ...manifests.records.digests import sha256_bytes, sha256_file
from ...manifests.records.models import FileRecord, Manifest


class LastFiles:
    """The files that a build ends with; the lock is held."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._files: dict[str, str | None] = {}
        _forget(directory)
        (directory / NEXT).mkdir()

    def add(self, path: str, data: bytes) -> FileRecord:
        """Write a file aside; return its record."""
        sha256 = sha256_bytes(data)
        write_atomic(self._directory / NEXT / str(len(self._files)), data)
        self._files[path] = sha256
        return FileRecord(path=path, bytes=len(data), sha256=sha256)

    def copy(self, path: str, file: Path) -> FileRecord:
        """Copy a file aside; return its record."""
        aside = self._directory / NEXT / str(len(self._files))
        shutil.copyfile(file, aside)
        with aside.open("rb") as written:
            os.fsync(written.fileno())
        self._files[path] = sha256 = sha256_file(aside)
        return FileRecord(path=path, bytes=aside.stat().st_size, sha256=sha256)

    def remove(self, path: str) -> None:
        """Take a file away in the same step, if it is there."""
        self._files[path] = None

    @property
    def aside(self) -> dict[str, Path]:
        """Path -> where the file lies until then."""
        return {
            path: self._directory / NEXT / str(n)
            for n, (path, sha256) in enumerate(self._files.items())
            if sha256 is not None
        }

    def finish_with(self, manifest: Manifest) -> None:
        """Put the files in place, with SHA256SUMS, and at the end the manifest.

        A build without manifest.json is resumed; one without SHA256SUMS would not be.
        """
        data = manifest_bytes(manifest)
        own = FileRecord(path=MANIFEST, bytes=len(data), sha256=sha256_bytes(data))
        self.add(SHA256SUMS, sha256sums_bytes([*manifest.files, own]))
        self.add(MANIFEST, data)
        self.finish()

    def finish(self) -> None:
        """Put the files in place, the one that was added last at the end."""
        write_hashed(self._directory / FINISH, json.dumps(list(self._files.items()), ensure_ascii=False).encode())
        settle(self._directory)


def settle(directory: Path) -> None:
    """Put the last files of a build in place, once `finish.json` says so.

    It says that they are complete. The lock must be held.
    """
    data = read_hashed(directory / FINISH)
    files: list[tuple[str, str | None]] = [] if data is None else json.loads(data)
    for path in [path for path, sha256 in files if sha256 is None]:
        (directory / path).unlink(missing_ok=True)
    moves = [
        (aside, directory / path) for n, (path, _) in enumerate(files) if (aside := directory / NEXT / str(n)).exists()
    ]
    for some in (moves[:-1], moves[-1:]):
        for aside, target in some:
            make_folder(directory, target.parent.relative_to(directory).as_posix())
            os.replace(aside, target)
        for folder in {target.parent for _, target in some}:
            fsync_folder(folder)
    _forget(directory)


def _forget(directory: Path) -> None:
    (directory / FINISH).unlink(missing_ok=True)
    shutil.rmtree(directory / NEXT, ignore_errors=True)
