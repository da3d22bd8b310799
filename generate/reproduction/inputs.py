"""The options that describe how to open the source of a dataset, and a function that finds the folder of a release."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from ...corruptions.cache import cache_root
from ...corruptions.plugins import load_plugins
from ...digests import digits
from ...manifests.paths import MANIFEST
from ...manifests.records.digests import sha256_file
from ...manifests.release.bag import PAYLOAD
from ...manifests.release.division import METADATA
from ...manifests.release.unpack import unpack
from ..plan.options import worker_count
from ..sources.source import Source

CONTENT = "content.json"
"""The name of a file in the cache folder of an unpacked release. It lists all files of the release."""


@dataclass(frozen=True, kw_only=True)
class RemakeOptions:
    """The common options of `verify`, `rebuild` and `page`, which describe a dataset's source and its resources."""

    source: str | Source | None = None
    labels: str | Path | None = None
    images: str | None = None
    groups: str | Path | None = None
    frost_textures: str | Path | None = None
    surrogate: str | Path | None = None
    device: str | None = None
    plugins: Sequence[str | Path] | None = None
    jobs: int | None = None

    def __post_init__(self) -> None:
        load_plugins(self.plugins or ())

    @property
    def workers(self) -> int:
        """The number of worker processes."""
        return worker_count(self.jobs)


def release_folder(place: str | Path) -> Path:
    """Return the folder that contains the manifest.json of a release.

    Parameters
    ----------
    place : path
        The folder itself, its manifest.json, a folder that `pack` wrote, or the archive of records in a folder that
        `pack` wrote. An archive is unpacked into the cache on first use.

    Raises
    ------
    BadArchive, VerificationError
        The archive is damaged or contradicts itself.
    """
    path = Path(place)
    if path.name == MANIFEST:
        return path.parent
    archives = [path] if path.is_file() else sorted(path.glob(f"{PAYLOAD}/[!.]*-{METADATA}.*"))
    if not archives or (path / MANIFEST).exists():
        return path
    folder = cache_root() / "releases" / digits(sha256_file(archives[0]))[:32]
    if not _is_complete(folder):
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent, ignore_cleanup_errors=True) as temporary:
            new, old = Path(temporary, "new"), Path(temporary, "old")
            unpack(archives[:1], new)
            files = [path.relative_to(new).as_posix() for path in new.rglob("*") if path.is_file()]
            (new / CONTENT).write_text(json.dumps(files), "utf-8")
            with suppress(OSError):  # another process may have replaced the folder in the meantime
                folder.rename(old)
            with suppress(OSError):
                new.rename(folder)
    return next(folder.glob(f"*/{MANIFEST}")).parent


def _is_complete(folder: Path) -> bool:
    """Return whether a cache folder has all its files. Cache cleaners may have deleted some of them."""
    try:
        files = json.loads((folder / CONTENT).read_text("utf-8"))
    except (OSError, ValueError):
        return False
    return all((folder / file).is_file() for file in files)
