"""The state of an unfinished build. It is read when a build begins or is resumed.

An unfinished build is in the folder ``<name>-<version>.partial/``, and its bookkeeping in the subfolder `.corruptset/`.
There, build.json describes the build and its sets, and each committed part has a sidecar, ``parts/<part>.json``.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Container, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from ...errors import BuildError
from ...manifests.disk.atomic import make_folder
from ...manifests.disk.hashed import read_hashed, write_hashed
from ...manifests.manifest_file import parse_manifest
from ...manifests.paths import BASE, MANIFEST, PARTS_FOLDER, SETS, SHARDS, SOURCE, WORK_FOLDER
from ...manifests.records.models import Manifest
from ...manifests.unfinished import Unfinished, read_unfinished, write_unfinished
from ..plan.builds import CheckedBuild, sample_rows
from ..plan.job import Job, Origin
from ..work.sidecars import sidecars
from .extension import link_sets, load_base
from .identity import refuse_other_build


@dataclass(frozen=True)
class BuildState:
    """The state of the folder of an unfinished build."""

    directory: Path
    unfinished: Unfinished | None
    """The contents of build.json, or None if the build has not begun."""
    base: Manifest | None = None
    """The manifest of the dataset that the build extends, if it extends one."""
    extend: Path | None = None
    """The directory of the dataset that the build extends, if the command names it."""
    sidecars: Mapping[tuple[str, int], Path] = field(default_factory=dict)
    """A mapping from (set id, chunk number) to the sidecar of the committed part. It is empty before `begin`."""

    def new(self, sets: Iterable[str]) -> list[str]:
        """Return the sets that are not in the extended dataset."""
        base = {s.id for s in self.base.sets} if self.base is not None else set()
        return [s for s in sets if s not in base]

    def job(self, build: CheckedBuild) -> Job:
        """Return the job with the requested sets, the sets of the unfinished build, and those of the extended dataset.

        Raise `BuildError` if the folder or the extended dataset contains a different build.
        """
        begun = self.unfinished.sets if self.unfinished is not None else []
        extended = [s.id for s in self.base.sets] if self.base is not None else []
        sets = list(dict.fromkeys([*build.requested, *begun, *extended]))
        job = build.job(self.directory, sets)
        if self.unfinished is not None:
            refuse_other_build(self.directory, self.unfinished.header, build, job.header)
        elif self.base is not None:
            refuse_other_build(self.extend or self.directory, self.base.header, build, job.header)
            if not self.new(sets):
                raise BuildError(f"{self.extend} already has all requested sets. Choose other sets with --sets.")
        return job

    def begin(self, job: Job) -> BuildState:
        """Begin or resume a build with the sets of a job, and return the new state, which includes the sidecars.

        The caller must hold the lock of the dataset.
        """
        directory, sets = self.directory, list(job.sets)
        if self.unfinished is None and any(
            sidecar is not None and not (sidecar.belongs_to(job.origin) and sidecar.sets.keys() <= set(sets))
            for _, sidecar in sidecars(directory)
        ):
            raise BuildError(
                f"{directory} contains parts of a different build, and its build.json is missing, damaged, or from "
                "another release of corruptset. Choose another --out, or delete that directory."
            )
        existing = committed_parts(directory, job.origin, self.new(sets))
        make_folder(directory, PARTS_FOLDER)
        if self.unfinished is None and self.extend is not None:
            link_sets(self.extend, directory)
        made_of = json.dumps(sample_rows(job.samples), ensure_ascii=False).encode()
        if read_hashed(directory / SOURCE) != made_of:
            write_hashed(directory / SOURCE, made_of)
        unfinished = Unfinished(sets=sets, header=job.header, extends=self.base is not None)
        write_unfinished(directory, unfinished)
        remove_strays(directory)
        return replace(self, unfinished=unfinished, sidecars=existing)


def read_state(directory: Path, extend: Path | None = None) -> BuildState:
    """Return the state of the unfinished build in a folder.

    Parameters
    ----------
    directory : Path
        The folder of the unfinished build.
    extend : Path, optional
        The finished dataset to extend, if the command names one.

    Raises
    ------
    BuildError
        The build was begun without `extend` or with a different dataset, or not all files of that dataset were linked.
    """
    unfinished, recorded = read_unfinished(directory), read_hashed(directory / BASE)
    if unfinished is not None and unfinished.extends and recorded is None:
        raise BuildError(f"{directory / BASE} is missing or damaged. Delete that directory and build it again.")
    if extend is None:
        if recorded is not None and unfinished is None:
            raise BuildError(
                f"{directory} does not have all files of the dataset that it extends. Run the command with --extend "
                "again, or delete that directory."
            )
        return BuildState(directory, unfinished, None if recorded is None else parse_manifest(recorded))
    base = load_base(extend)
    if recorded != (extend / MANIFEST).read_bytes() and (recorded is not None or unfinished is not None):
        how = "without --extend" if recorded is None else "with --extend and a different dataset"
        raise BuildError(
            f"{directory} was started {how}. Finish it with the command that started it, or delete that directory and "
            "run this command again."
        )
    return BuildState(directory, unfinished, base, extend)


def committed_parts(
    folder: Path, origin: Origin, sets: Collection[str], chunks: Container[int] | None = None
) -> dict[tuple[str, int], Path]:
    """Return a mapping from (set id, chunk number) to the sidecar of the committed part.

    Only sidecars that belong to `origin` are included, and only the given sets and chunks (by default all chunks).
    """
    wanted = set(sets)
    valid = ((path, s) for path, s in sidecars(folder, chunks) if s is not None and s.belongs_to(origin))
    return {(set_id, sidecar.run): path for path, sidecar in valid for set_id in sidecar.sets if set_id in wanted}


def remove_strays(folder: Path) -> None:
    """Remove temporary files left by killed builds and workers. No other process may be writing to the folder.

    Only records and shards have temporary files, which are in the same folders as the finished files. Image files have
    none.
    """
    roots = [folder / SHARDS, folder / SETS, folder / WORK_FOLDER]
    for path in [*folder.glob(".*.part"), *(p for root in roots for p in root.rglob(".*.part"))]:
        path.unlink(missing_ok=True)
