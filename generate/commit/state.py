"""What a build's directory holds, and how a build is begun or resumed there.

While a build is under way its directory holds `.corruptset/` with `lock`, `build.json` (what the build is and which
sets it is asked for) and `parts/<part>.json`, a sidecar for every part that exists. A finished build has manifest.json
and no `.corruptset/`. While a finished build is extended it has both: build.json names the manifest by its hash, and
the sets that the manifest names count as committed. Where build.json names another manifest, or none, `.corruptset/` is
left over.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Collection, Container, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from ...errors import BuildError
from ...manifests.disk.atomic import make_folder
from ...manifests.disk.hashed import read_hashed, write_hashed
from ...manifests.paths import MANIFEST, PARTS_FOLDER, SETS, SHARDS, SOURCE, WORK_FOLDER, image_folder
from ...manifests.records.digests import sha256_file
from ...manifests.records.models import Manifest
from ...manifests.unfinished import Unfinished, read_unfinished, write_unfinished
from ..plan.builds import Build
from ..plan.job import Job, Origin
from ..work.sidecars import sidecars
from .identity import identity_of, refuse_other_build
from .locks import extended, finished


@dataclass(frozen=True)
class BuildState:
    """What a directory holds."""

    directory: Path
    base: Manifest | None
    """Of the finished build."""
    unfinished: Unfinished | None
    """What is not finished: the build itself, or an extension of the finished one."""
    sidecars: Mapping[tuple[str, int], Path] = field(default_factory=dict)
    """(set id, run) -> where it is committed; of a build that is begun."""

    def new(self, sets: Iterable[str]) -> list[str]:
        """Return those of `sets` that the finished build has not."""
        base = {s.id for s in self.base.sets} if self.base is not None else set()
        return [s for s in sets if s not in base]

    def job(self, build: Build) -> Job:
        """Return the job of what is there and was asked for; refuse another build."""
        there, recorded = list[str](), None
        if self.base is not None:
            there, recorded = [s.id for s in self.base.sets], identity_of(self.base)
        if self.unfinished is not None:
            there, recorded = self.unfinished.sets, recorded or self.unfinished.identity
        sets = list(dict.fromkeys([*build.asked, *there]))
        if recorded is not None:
            refuse_other_build(self.directory, recorded, build, sets)
        return replace(build.job(self.directory, sets), origin=Origin.of(build.identity, build.resources(sets)))

    def begin(self, job: Job) -> BuildState:
        """Start, resume or extend a build with the sets of a job.

        Returns it with its sidecars. The lock is held.
        """
        directory, build, sets = self.directory, job.build, list(job.sets)
        new = set(self.new(sets))
        if self.unfinished is None and any(
            sidecar is not None and not (sidecar.of(job.origin) and sidecar.sets.keys() <= new)
            for _, sidecar in sidecars(directory)
        ):
            if self.base is None:
                raise BuildError(
                    f"{directory} holds parts of another build, and its build.json is damaged, missing, or of another "
                    "release of corruptset. Choose another --out, or delete that directory."
                )
            shutil.rmtree(directory / PARTS_FOLDER)  # of the build that the manifest is of
        there = committed(directory, job.origin, new)
        make_folder(directory, PARTS_FOLDER)
        made_of = json.dumps(build.made_of, ensure_ascii=False).encode()
        if read_hashed(directory / SOURCE) != made_of:
            write_hashed(directory / SOURCE, made_of)
        unfinished = Unfinished(
            base=sha256_file(directory / MANIFEST) if self.base is not None else None,
            sets=sets,
            places={s: [image_folder(s)] for s in sets if any(sink.kind == "files" for sink in job.sinks)},
            identity={**build.identity, **build.resources(sets)},
        )
        write_unfinished(directory, unfinished)
        remove_strays(directory)
        return replace(self, unfinished=unfinished, sidecars=there)


def read_state(directory: Path) -> BuildState:
    """Return what a directory holds, whoever may be working there."""
    base = finished(directory)
    return BuildState(directory, base, extended(directory) if base is not None else read_unfinished(directory))


def committed(
    directory: Path, origin: Origin, sets: Collection[str], runs: Container[int] | None = None
) -> dict[tuple[str, int], Path]:
    """Return (set id, run) -> sidecar for some sets, of all runs or some."""
    wanted, found = set(sets), sidecars(directory, runs)
    whole = ((path, sidecar) for path, sidecar in found if sidecar is not None and sidecar.of(origin))
    return {(s, sidecar.run): path for path, sidecar in whole for s in sidecar.sets if s in wanted}


def remove_strays(directory: Path) -> None:
    """Remove temporary files that a killed build or worker left; nothing else may be writing.

    Single images have none.
    """
    roots = [directory / SHARDS, directory / SETS, directory / WORK_FOLDER]
    for path in [*directory.glob(".*.part"), *(p for root in roots for p in root.rglob(".*.part"))]:
        path.unlink(missing_ok=True)
