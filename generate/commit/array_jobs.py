"""The jobs of an array: each begins the build or joins those that have, and makes a share of its parts; what is missing in the end.

All hold the build's lock together, so no other command writes there. One at a time begins or joins: the first to come, when no worker is
left, writes down what the build is, and the others make the same one or are refused. A part has a lock of its own while it is made.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from ...errors import BuildError, MissingParts
from ...manifests.disk.lock import Busy, locked, shared_lock
from ...manifests.layout import ARRAYS_FOLDER, BEGIN_LOCK, WORKERS_LOCK
from ..plan.checked_build import CheckedBuild
from ..plan.job import Job, Origin
from ..plan.parts import Part
from ..plan.shares import shares
from ..work.sidecars import sidecars
from .identity import refuse_other_build, refuse_other_resources
from .locks import WORKERS_WAIT_S, wait_for_workers
from .state import BuildState, begin, peek_state

LOOK_AGAIN_S = 1.0
"""A network's file system may show a file that another machine wrote some seconds later."""


@contextmanager
def joined(directory: Path, build: CheckedBuild, job_of: Callable[[BuildState], Job]) -> Iterator[tuple[BuildState, Job, Origin]]:
    """Begin a build or join the array jobs that work on it; the build's lock must be held, together with theirs.

    Parameters
    ----------
    directory : Path
    build : CheckedBuild
    job_of : callable
        Returns the job for what the directory holds.

    Raises
    ------
    BuildError
        The directory has another build, other textures or another surrogate; or other jobs work on fewer sets.
    """
    with ExitStack() as held:
        with locked(directory / BEGIN_LOCK, "", wait_s=math.inf):
            deadline = time.monotonic() + WORKERS_WAIT_S
            while True:
                state = peek_state(directory)
                if state.identity is not None:
                    refuse_other_build(directory, state.identity, build)
                job = job_of(state)
                if state.unfinished is not None and set(job.sets) == set(state.unfinished.sets):
                    resources = build.resources(list(job.sets))
                    refuse_other_resources(directory, state.unfinished.identity, resources)
                    origin = Origin.of(build.identity, resources)
                    break
                try:
                    wait_for_workers(directory, wait_s=LOOK_AGAIN_S)
                except Busy:
                    if time.monotonic() < deadline:
                        continue
                    raise BuildError(
                        f"Jobs of an array are making other sets in {directory}. Give every job the same --sets; or wait until those jobs "
                        "have ended: the sets are then added."
                    ) from None
                origin = begin(directory, state, build, list(job.sets), job.sinks).origin
                break
            held.enter_context(shared_lock(directory / WORKERS_LOCK))
        yield state, job, origin


def deal(directory: Path, jobs: int) -> None:
    """Write down that parts were dealt to so many jobs."""
    folder = directory / ARRAYS_FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    (folder / str(jobs)).touch()


def missing_of(directory: Path, share: Sequence[Part], origin: Origin) -> list[Part]:
    """Return what is missing of a share."""
    committed: set[tuple[str, int]] = set()
    for _, sidecar in sidecars(directory, {p.run.number for p in share}):
        if sidecar is not None and sidecar.of(origin):
            committed |= {(s, sidecar.run) for s in sidecar.sets}
    left = (Part(p.run, tuple(s for s in p.sets if (s, p.run.number) not in committed)) for p in share)
    return [part for part in left if part.sets]


def missing_parts(directory: Path, parts: Sequence[Part], missing: Sequence[Part]) -> MissingParts:
    """Return the error that says which jobs make what is missing, of the largest array that parts were dealt to.

    Parameters
    ----------
    directory : Path
    parts, missing : sequence of Part
        All parts of the build; those that are not committed, perhaps with fewer sets.
    """
    folder = directory / ARRAYS_FOLDER
    jobs = max((int(p.name) for p in folder.iterdir() if p.name.isdecimal()), default=1) if folder.is_dir() else 1
    dealt = {(s, p.run.number): i for i, share in enumerate(shares(parts, jobs)) for p in share for s in p.sets}
    again = sorted({dealt[s, p.run.number] for p in missing for s in p.sets})
    images = sum(p.images for p in missing)
    return MissingParts(f"{directory} is not finished: {len(missing)} of {len(parts)} parts are missing, {images:,} images.", again, jobs)
