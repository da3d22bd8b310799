"""An unfinished build, as `.corruptset/build.json` says it: identity, sets, places.

Beside build.json a finished data set has manifest.json, true for the sets that it names; the files of the others are an
extension's.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any

from .disk.hashed import read_hashed, write_hashed
from .manifest_file import MANIFEST_CAP
from .paths import BUILD, WORK_FOLDER, set_of_rows, set_of_shard
from .records.fields import SafePath, SetId, Sha256
from .records.models import Manifest, Record
from .records.parsing import record_or_mistakes

_TEMPORARY = re.compile(r"(.*/)?\.[^/]+\.part")


class Unfinished(Record):
    """build.json."""

    base: Sha256 | None
    """Of the manifest.json that is being extended; None for a build that has none yet."""
    sets: list[SetId]
    """All that will be in the build, those of the base too."""
    places: dict[SetId, list[SafePath]]
    """Set -> the folder or the arrays of its images; none where they are in shards alone."""
    identity: dict[str, Any]
    """What the build is: fields of its manifest."""


def write_unfinished(directory: Path, state: Unfinished) -> None:
    """Write build.json."""
    write_hashed(directory / BUILD, state.model_dump_json(indent=2).encode())


def read_unfinished(directory: Path) -> Unfinished | None:
    """Return what build.json says; None where it is missing or damaged.

    One of another version of corruptset is damaged, too.
    """
    data = read_hashed(directory / BUILD, MANIFEST_CAP)
    return None if data is None else record_or_mistakes(Unfinished, data)[0]


@dataclass(frozen=True)
class SetFiles:
    """The files of some sets of an unfinished build, and temporary files."""

    sets: frozenset[str]
    places: frozenset[str]
    """Folders and arrays of their images."""

    def __contains__(self, path: object) -> bool:
        """Return whether a relative path is one of these files."""
        path = str(path)
        if _TEMPORARY.fullmatch(path) or (set_of_rows(path) or set_of_shard(path)) in self.sets:
            return True
        return not self.places.isdisjoint(accumulate(path.split("/"), "{}/{}".format))


def set_files(state: Unfinished, sets: Iterable[str]) -> SetFiles:
    """Return the files of `sets`."""
    ids = frozenset(sets)
    return SetFiles(ids, frozenset(place for s in ids for place in state.places.get(s, ())))


def extension_files(directory: Path, manifest: Manifest, sha256: str) -> SetFiles | None:
    """Return the files of an unfinished extension; None where there is none.

    `sha256` is of manifest.json: a build that extends another manifest is no extension of this data set.
    """
    if (directory / WORK_FOLDER).is_symlink():
        return None
    with suppress(OSError):
        state = read_unfinished(directory)
        if state is not None and state.base == sha256:
            return set_files(state, set(state.sets) - {s.id for s in manifest.sets})
    return None
