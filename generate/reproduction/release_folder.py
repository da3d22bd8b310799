"""The records of a release, wherever they are: unpacked, or in what `pack` wrote."""

from __future__ import annotations

import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

from ...corruptions.cache import cache_root
from ...digests import digits
from ...manifests.layout import MANIFEST
from ...manifests.records.digests import sha256_file
from ...manifests.release.bag import PAYLOAD
from ...manifests.release.division import METADATA
from ...manifests.release.unpack import unpack


def release_folder(place: str | Path) -> Path:
    """Return the folder that holds a release's manifest.json.

    Parameters
    ----------
    place : path
        That folder, or its manifest.json; or the folder that `pack` wrote, or the archive of records in it, which is
        unpacked once, into the cache.

    Raises
    ------
    BadArchive, VerificationError
        The archive is damaged, or contradicts itself.
    """
    path = Path(place)
    if path.name == MANIFEST:
        return path.parent
    archives = [path] if path.is_file() else sorted(path.glob(f"{PAYLOAD}/*-{METADATA}.*"))
    if not archives or (path / MANIFEST).exists():
        return path
    folder = cache_root() / "releases" / digits(sha256_file(archives[0]))[:32]
    if not folder.exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        aside = Path(tempfile.mkdtemp(dir=folder.parent))
        try:
            unpack(archives[:1], aside)
            with suppress(OSError):  # another process was first
                aside.rename(folder)
        finally:
            shutil.rmtree(aside, ignore_errors=True)
    return next(folder.glob(f"*/{MANIFEST}")).parent
