"""The commit protocol: lock, what the build is, sidecars, resume, extension, refusal.

While a build is under way its directory holds `.corruptset/` with `lock`, `build.json` (what the build is and which sets
it is asked for) and `parts/<part>.json`, a sidecar for every part that exists. A finished build has manifest.json and
no `.corruptset/`. While a finished build is extended it has both: build.json names the manifest by its hash, and the sets
that the manifest names count as committed. Where build.json names another manifest, or none, `.corruptset/` is left over.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Container, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ...manifests.disk.hashed import read_hashed, write_hashed
from ...manifests.layout import MANIFEST, PARTS_FOLDER, SETS, SHARDS, SOURCE, WORK_FOLDER, set_places
from ...manifests.records.digests import sha256_file
from ...manifests.records.models import Manifest
from ...manifests.unfinished import Unfinished, read_unfinished, write_unfinished
from ..plan.builds import Build
from ..plan.job import Job, Origin
from ..sinks.containers import set_paths
from ..work.sidecars import sidecars as read_sidecars
from .identity import identity_of, refuse_other_build, refuse_other_resources
from .locks import extended, finished, locked, wait_for_workers
from .sweep import sweep


@dataclass(frozen=True)
class BuildState:
    """What a directory holds."""

    base: Manifest | None
    """Of the finished build."""
    unfinished: Unfinished | None
    """What is not finished: the build itself, or an extension of the finished one."""
    sidecars: Mapping[tuple[str, int], Path] = field(default_factory=dict)
    """(set id, run) -> where it is committed; of a build that is begun."""

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

    def job(self, directory: Path, build: Build) -> Job:
        """Return the job that makes what is there and what was asked for; raise `BuildError` where the directory holds another build."""
        recorded: Mapping[str, Any] = {}
        if self.base is not None:
            recorded = identity_of(self.base)
        elif self.unfinished is not None:
            recorded = self.unfinished.identity
        if recorded:
            refuse_other_build(directory, recorded, build)
        sets = list(dict.fromkeys([*build.asked, *self.sets]))
        resources = build.resources(sets)
        refuse_other_resources(directory, recorded, resources)
        return replace(build.job(directory, sets), origin=Origin.of(build.identity, resources))


def read_state(directory: Path) -> BuildState:
    """Return what a directory holds, once no worker of a killed build is left; the lock must be held."""
    wait_for_workers(directory)
    return peek_state(directory)


def peek_state(directory: Path) -> BuildState:
    """Return what a directory holds, whoever may be working there."""
    base = finished(directory)
    return BuildState(base, extended(directory) if base is not None else read_unfinished(directory))


def begin(directory: Path, state: BuildState, build: Build, job: Job) -> BuildState:
    """Start, resume or extend a build with the sets of a job (`BuildState.job`); return the state with its sidecars. The lock is held."""
    sets = list(job.sets)
    places = set_paths(job.sinks, sets)
    sidecars, foreign = committed(directory, job.origin, state.new(sets))
    for path in foreign:
        path.unlink()
    # Images of foreign sidecars are still there, and so are those of a build whose build.json is missing.
    if foreign or (state.unfinished is None and (directory / PARTS_FOLDER).exists()):
        sweep(directory, state.base, sidecars, places)
    (directory / PARTS_FOLDER).mkdir(parents=True, exist_ok=True)
    made_of = json.dumps(build.made_of, ensure_ascii=False).encode()
    if read_hashed(directory / SOURCE) != made_of:
        write_hashed(directory / SOURCE, made_of)
    unfinished = Unfinished(
        base=sha256_file(directory / MANIFEST) if state.base is not None else None,
        sets=sets,
        places={s: list(paths) for s, paths in places.items()},
        identity={**build.identity, **build.resources(sets)},
    )
    write_unfinished(directory, unfinished)
    remove_strays(directory)
    return BuildState(state.base, unfinished, sidecars)


def committed(
    directory: Path, origin: Origin, sets: Collection[str], runs: Container[int] | None = None
) -> tuple[dict[tuple[str, int], Path], list[Path]]:
    """Return (set id, run) -> sidecar for some sets, of all runs or some, and the sidecars that are of no use for them."""
    wanted, there, foreign = set(sets), dict[tuple[str, int], Path](), list[Path]()
    for path, sidecar in read_sidecars(directory, runs):
        if sidecar is None or not sidecar.of(origin) or wanted.isdisjoint(sidecar.sets):
            foreign.append(path)
        else:
            there |= {(s, sidecar.run): path for s in sidecar.sets if s in wanted}
    return there, foreign


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
