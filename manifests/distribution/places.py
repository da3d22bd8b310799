"""Where releases are put: a folder of this machine, a store of objects. What is there is compared before anything is sent."""

from __future__ import annotations

import os
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import IO, Protocol

from ...digests import digits
from ..disk.atomic import replacing
from ..disk.remote import Sent, Store, url_of
from ..disk.space import check_space
from ..records.digests import sha256_file
from ..release.archives import CHUNK
from .layouts import PublishedFile


class Recorded(Protocol):
    """A file whose size and hash are known."""

    @property
    def path(self) -> str: ...
    @property
    def bytes(self) -> int: ...
    @property
    def sha256(self) -> str: ...


class Place(Protocol):
    """Where a release goes."""

    def differing(self, files: Sequence[PublishedFile]) -> dict[str, bool]:
        """Return path -> whether it differs, of those files that are there."""

    def put(self, files: Sequence[PublishedFile], sent: Sent) -> None:
        """Send files in their order; each is there whole or not at all."""


class FolderPlace:
    """A folder of this machine."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def differing(self, files: Sequence[Recorded]) -> dict[str, bool]:
        """Return path -> whether it differs; hashes are compared where sizes are equal."""
        found = [(f, self.root / f.path) for f in files if os.path.lexists(self.root / f.path)]
        return {f.path: not p.is_file() or p.stat().st_size != f.bytes or sha256_file(p) != f.sha256 for f, p in found}

    def put(self, files: Sequence[PublishedFile], sent: Sent) -> None:
        """Copy files; each is renamed to its name when it is on the disk."""
        check_space(self.root, sum(f.bytes for f in files), "the release", "Free some space, or choose another --to.")
        done = 0
        for f in files:
            target = self.root / f.path
            target.parent.mkdir(parents=True, exist_ok=True)
            for stray in target.parent.glob(".*.part"):  # of a call that was killed
                stray.unlink()
            with replacing(target) as part, part.open("xb") as out, _opened(f) as content:
                while chunk := content.read(CHUNK):
                    out.write(chunk)
                    done += len(chunk)
                    sent(done)
                out.flush()
                os.fsync(out.fileno())


class ObjectStore:
    """A folder in an object store, such as ``s3://bucket/prefix``."""

    def __init__(self, url: str) -> None:
        self._store = Store(url_of(url) or url)

    def differing(self, files: Sequence[PublishedFile]) -> dict[str, bool]:
        """Return path -> whether it differs, by size and sha256; an object without a recorded digest is read."""
        there = self._store.files()
        found = [f for f in files if f.path in there]
        return {f.path: there[f.path] != f.bytes or self._store.sha256(f.path, f.bytes) != f.sha256 for f in found}

    def put(self, files: Sequence[PublishedFile], sent: Sent) -> None:
        """Send files, large ones in several parts that become one object at the end."""
        done = 0
        for f in files:

            def told(now: int, before: int = done) -> None:
                sent(before + now)

            self._store.put(f.path, f.content, sha256=digits(f.sha256), sent=told)
            done += f.bytes
            sent(done)


def _opened(file: PublishedFile) -> IO[bytes]:
    return BytesIO(file.content) if isinstance(file.content, bytes) else file.content.open("rb")
