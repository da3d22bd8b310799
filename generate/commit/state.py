"""The commit protocol: lock, what the build is, sidecars, resume, extension, refusal.

While a build is under way its directory holds `.corruptset/` with `lock`, `build.json` (what the build is and which sets
it is asked for) and `parts/<part>.json`, a sidecar for every part that exists. A finished build has manifest.json and
no `.corruptset/`. While a finished build is extended it has both: build.json names the manifest by its hash, and the sets
that the manifest names count as committed. Where build.json names another manifest, or none, `.corruptset/` is left over.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...manifests.disk.hashed import read_hashed, write_hashed
from ...manifests.layout import MANIFEST, PARTS_FOLDER, SETS, SHARDS, SOURCE, WORK_FOLDER, set_places
from ...manifests.records.digests import sha256_file
from ...manifests.records.models import Manifest
from ...manifests.unfinished import Unfinished, read_unfinished, write_unfinished
from ..plan.build_spec import Resources
from ..plan.checked_build import CheckedBuild
from ..plan.job import Origin
from ..sinks.containers import Sink, set_paths
from ..work.sidecars import sidecars as read_sidecars
from .identity import identity_of, refuse_other_resources
from .locks import extended, finished, locked, wait_for_workers
from .sweep import sweep


@dataclass(frozen=True)
class BuildState:
    """What a directory holds."""

    base: Manifest | None
    """Of the finished build."""
    unfinished: Unfinished | None
    """What is not finished: the build itself, or an extension of the finished one."""

    @property
    def sets(self) -> list[str]:
        """The sets that are finished or were started."""
        return self.unfinished.sets if self.unfinished is not None else self.base_sets

    @property
    def base_sets(self) -> list[str]:
        """The sets of the finished build."""
        return [s.id for s in self.base.sets] if self.base is not None else []

    def new(self, sets: Iterable[str]) -> list[str]:
        """Return those of `sets` that the finished build has not."""
        base = set(self.base_sets)
        return [s for s in sets if s not in base]

    @property
    def identity(self) -> dict[str, Any] | None:
        """What the build in the directory is; None where there is none."""
        if self.base is not None:
            return identity_of(self.base)
        return self.unfinished.identity if self.unfinished is not None else None


def read_state(directory: Path) -> BuildState:
    """Return what a directory holds, once no worker of a killed build is left; the lock must be held."""
    wait_for_workers(directory)
    return peek_state(directory)


def peek_state(directory: Path) -> BuildState:
    """Return what a directory holds, whoever may be working there."""
    base = finished(directory)
    return BuildState(base, extended(directory) if base is not None else read_unfinished(directory))


@dataclass(frozen=True)
class OpenBuild:
    """A build that may be written to; the lock is held."""

    sets: tuple[str, ...]
    """Everything that will be in it: what was asked for and what was there."""
    base: Manifest | None
    """The manifest of the finished build that is extended."""
    sidecars: dict[tuple[str, int], Path]
    """(set id, run) -> where it is committed."""
    origin: Origin
    """What its sidecars say that they belong to."""
    resources: Resources
    """What the manifest to be says of textures and surrogates."""


def begin(directory: Path, state: BuildState, build: CheckedBuild, sets: Sequence[str], sinks: Sequence[Sink]) -> OpenBuild:
    """Start, resume or extend a build that is the one asked for (`refuse_other_build`); the lock must be held.

    Parameters
    ----------
    directory : Path
    state : BuildState
        What the directory holds.
    build : CheckedBuild
    sets : sequence of str
        Everything that will be in it.
    sinks : sequence of Sink
        Where the images of those sets go.

    Raises
    ------
    BuildError
        The directory's build has other textures or another surrogate.
    """
    resources = build.resources(sets)
    if state.identity is not None:
        refuse_other_resources(directory, state.identity, resources)
    origin = Origin.of(build.identity, resources)
    places = set_paths(sinks, sets)
    sidecars, foreign = _committed(directory, origin, set(sets) - set(state.base_sets))
    # Images of foreign sidecars are still there, and so are those of a build whose build.json is missing.
    if foreign or (state.unfinished is None and (directory / PARTS_FOLDER).exists()):
        sweep(directory, state.base, sidecars, places)
    (directory / PARTS_FOLDER).mkdir(parents=True, exist_ok=True)
    made_of = json.dumps(build.made_of, ensure_ascii=False).encode()
    if read_hashed(directory / SOURCE) != made_of:
        write_hashed(directory / SOURCE, made_of)
    unfinished = Unfinished(
        base=sha256_file(directory / MANIFEST) if state.base is not None else None,
        sets=list(sets),
        places={s: list(paths) for s, paths in places.items()},
        identity={**build.identity, **resources},
    )
    write_unfinished(directory, unfinished)
    remove_strays(directory)
    return OpenBuild(tuple(sets), state.base, sidecars, origin, resources)


def _committed(directory: Path, origin: Origin, wanted: Collection[str]) -> tuple[dict[tuple[str, int], Path], bool]:
    """Return (set id, run) -> sidecar for the wanted sets, and whether there were other sidecars, which are removed."""
    committed: dict[tuple[str, int], Path] = {}
    foreign = False
    for path, sidecar in read_sidecars(directory):
        if sidecar is None or not sidecar.of(origin) or not any(s in wanted for s in sidecar.sets):
            path.unlink()
            foreign = True
        else:
            committed |= {(s, sidecar.run): path for s in sidecar.sets if s in wanted}
    return committed, foreign


def leave_finished(directory: Path, manifest: Manifest) -> None:
    """Remove what a build left that was killed between its manifest and its clean-up; an unfinished extension is left as it is."""
    if not (directory / WORK_FOLDER).exists() or extended(directory) is not None:
        return
    with locked(directory):
        if read_unfinished(directory) is None and (directory / PARTS_FOLDER).exists():
            sweep(directory, manifest, {}, set_places(manifest))


def remove_strays(directory: Path) -> None:
    """Remove temporary files that a killed build, or a killed worker of this one, left; single images have none.

    Nothing else may be writing. Beside shards and records they lie where views have their labels, at most two folders deep.
    """
    roots = [directory / SHARDS, directory / SETS, directory / WORK_FOLDER]
    shallow = [p for pattern in (".*.part", "*/.*.part", "*/*/.*.part") for p in directory.glob(pattern)]
    for path in [*shallow, *(p for root in roots for p in root.rglob(".*.part"))]:
        path.unlink(missing_ok=True)
