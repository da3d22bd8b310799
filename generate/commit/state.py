"""The state of an unfinished build, and how a build is begun or resumed.

A build works in ``<name>-<version>.partial/``. Its bookkeeping is in the folder `.corruptset/` there: build.json (what
the build is, and its sets) and ``parts/<part>.json``, a sidecar for every part that exists.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Container, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from ...errors import BuildError
from ...manifests.disk.atomic import make_folder
from ...manifests.disk.hashed import read_hashed, write_hashed
from ...manifests.paths import PARTS_FOLDER, SETS, SHARDS, SOURCE, WORK_FOLDER
from ...manifests.unfinished import Unfinished, read_unfinished, write_unfinished
from ..plan.builds import Build
from ..plan.job import Job, Origin
from ..work.sidecars import sidecars
from .identity import refuse_other_build


@dataclass(frozen=True)
class BuildState:
    """What the folder of an unfinished build holds."""

    folder: Path
    unfinished: Unfinished | None
    """The contents of build.json; None if the build has not begun."""
    sidecars: Mapping[tuple[str, int], Path] = field(default_factory=dict)
    """(set id, run) -> the sidecar of the committed part that has it; empty until the build has begun."""

    def job(self, build: Build) -> Job:
        """Return the job of the sets that are asked for or begun. Raise `BuildError` if the folder holds another build."""
        begun = self.unfinished.sets if self.unfinished is not None else []
        sets = list(dict.fromkeys([*build.asked, *begun]))
        if self.unfinished is not None:
            refuse_other_build(self.folder, self.unfinished.identity, build, sets)
        return replace(build.job(self.folder, sets), origin=Origin.of(build.identity, build.resources(sets)))

    def begin(self, job: Job) -> BuildState:
        """Begin or resume a build with the sets of a job, and return its state with the sidecars.

        The lock must be held.
        """
        folder, build, sets = self.folder, job.build, list(job.sets)
        if self.unfinished is None and any(
            sidecar is not None and not (sidecar.of(job.origin) and sidecar.sets.keys() <= set(sets))
            for _, sidecar in sidecars(folder)
        ):
            raise BuildError(
                f"{folder} holds parts of another build, and its build.json is damaged, missing, or of another "
                "release of corruptset. Choose another --out, or delete that directory."
            )
        existing = committed(folder, job.origin, sets)
        make_folder(folder, PARTS_FOLDER)
        made_of = json.dumps(build.made_of, ensure_ascii=False).encode()
        if read_hashed(folder / SOURCE) != made_of:
            write_hashed(folder / SOURCE, made_of)
        unfinished = Unfinished(sets=sets, identity={**build.identity, **build.resources(sets)})
        write_unfinished(folder, unfinished)
        remove_strays(folder)
        return replace(self, unfinished=unfinished, sidecars=existing)


def read_state(folder: Path) -> BuildState:
    """Return the state of the unfinished build in a folder."""
    return BuildState(folder, read_unfinished(folder))


def committed(
    folder: Path, origin: Origin, sets: Collection[str], runs: Container[int] | None = None
) -> dict[tuple[str, int], Path]:
    """Return (set id, run) -> sidecar for some sets, of all runs or some."""
    wanted, found = set(sets), sidecars(folder, runs)
    whole = ((path, sidecar) for path, sidecar in found if sidecar is not None and sidecar.of(origin))
    return {(s, sidecar.run): path for path, sidecar in whole for s in sidecar.sets if s in wanted}


def remove_strays(folder: Path) -> None:
    """Remove temporary files that a killed build or worker left. Nothing else may be writing to the folder.

    Single images have no temporary files. Those of records and shards are in their folders, and those of labels are at
    most two folders deep.
    """
    roots = [folder / SHARDS, folder / SETS, folder / WORK_FOLDER]
    shallow = [p for pattern in (".*.part", "*/.*.part", "*/*/.*.part") for p in folder.glob(pattern)]
    for path in [*shallow, *(p for root in roots for p in root.rglob(".*.part"))]:
        path.unlink(missing_ok=True)
