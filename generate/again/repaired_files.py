"""Files that a repair made aside, put in place where their bytes are the recorded ones."""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path

from ...manifests.disk.atomic import fsync_folder
from ...manifests.disk.listing import plain_file
from ...manifests.layout import SCRATCH
from ...manifests.records.digests import sha256_bytes, sha256_file
from ...manifests.records.models import Manifest
from ...manifests.records.report import Problem, printable


@dataclass
class Repaired:
    """What a repair did."""

    mended: list[str] = field(default_factory=list)
    unmended: list[Problem] = field(default_factory=list)
    """What it could not do, each with the reason."""

    def leave(self, path: str, reason: str) -> None:
        """Say why something cannot be mended."""
        self.unmended.append(Problem(printable(path), "unmended", reason))


class RepairedFiles:
    """The files of a data set under repair."""

    def __init__(self, root: Path, manifest: Manifest, outcome: Repaired, absent: Collection[str]) -> None:
        self.root = root
        self.manifest = manifest
        self.outcome = outcome
        self.sha256s = {f.path: f.sha256 for f in manifest.files}
        # a folder of its own, so that a worker left by a killed repair writes somewhere else
        self.scratch = root / SCRATCH / secrets.token_hex(4)
        self._absent = absent

    def sound(self, path: str) -> bool:
        """Whether a file has the bytes that the manifest lists."""
        return plain_file(self.root, path) and sha256_file(self.root / path) == self.sha256s[path]

    def sound_or_absent(self, path: str) -> bool:
        """Whether a file is sound, or of an archive that was not unpacked."""
        return path in self._absent or self.sound(path)

    def put(self, path: str, aside: Path, sha256: str, advice: str) -> None:
        """Put a file that was made aside in its place, if its bytes are the recorded ones."""
        actual = sha256_file(aside) if aside.exists() else None
        if actual != sha256:
            difference = "it does not appear" if actual is None else f"it is {actual}, recorded is {sha256}"
            return self.outcome.leave(path, f"made again, {difference}. {advice}")
        target = self.root / path
        try:
            if (obstacle := self._obstacle(path)) is not None:
                return self.outcome.leave(path, obstacle)
            target.parent.mkdir(parents=True, exist_ok=True)
            with aside.open("rb") as f:
                os.fsync(f.fileno())
            os.replace(aside, target)
            fsync_folder(target.parent)
        except (IsADirectoryError, NotADirectoryError, FileExistsError):
            return self.outcome.leave(path, "something that is no file stands in its place; take it away and repair again")
        self.outcome.mended.append(path)
        return None

    def put_bytes(self, path: str, data: bytes, advice: str) -> None:
        """Put bytes in their place."""
        aside = self.scratch / "text"
        aside.parent.mkdir(parents=True, exist_ok=True)
        aside.write_bytes(data)
        self.put(path, aside, self.sha256s.get(path, sha256_bytes(data)), advice)

    def _obstacle(self, path: str) -> str | None:
        """Return why a file cannot be put at a path: a link or a file stands where a folder should."""
        parts = path.split("/")
        for depth in range(1, len(parts)):
            above = "/".join(parts[:depth])
            try:
                mode = os.lstat(self.root / above).st_mode
            except FileNotFoundError:
                return None
            if not stat.S_ISDIR(mode):
                return f"{printable(above)} is {'a link' if stat.S_ISLNK(mode) else 'no folder'}; take it away and repair again"
        return None
