"""A part of a build in an object store: its objects are put, then its sidecar, which commits it."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping

from ...manifests.disk.mirror import Mirror
from ...manifests.layout import PARTS_FOLDER
from .sidecars import PartSet


def stored_files(sets: Mapping[str, PartSet]) -> dict[str, int]:
    """Return path -> bytes of the files that a part has written."""
    files: dict[str, int] = {}
    for made in sets.values():
        if made.shard is not None:
            files[made.shard["path"]] = made.shard["bytes"]
        for line in made.lines.splitlines():
            files |= {stored["path"]: stored["bytes"] for stored in json.loads(line)["files"] if stored["row"] is None}
    return files


def upload_part(mirror: Mirror, name: str, sets: Mapping[str, PartSet]) -> None:
    """Put what a part has written, then its sidecar; of the part, only that stays on this disk."""
    files = stored_files(sets)
    mirror.opened.put_all(files, os.fspath(mirror))
    mirror.opened.put(f"{PARTS_FOLDER}/{name}.json", mirror / PARTS_FOLDER / f"{name}.json")
    for path in files:
        os.unlink(f"{os.fspath(mirror)}/{path}")
