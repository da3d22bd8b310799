"""Array jobs: several jobs that check the source of a build together, and then each make a share of its parts.

All jobs share the lock of the dataset, so no other command can write to it. The first job records the build. The other
jobs join the build one at a time, and are rejected if they describe a different build.
"""

from __future__ import annotations

import json
import math
import os
import socket
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from hashlib import sha256
from pathlib import Path

from ...canonical import canonical
from ...errors import BuildError, CorruptsetError, MissingParts
from ...manifests.disk.atomic import make_folder, open_unlinked
from ...manifests.disk.hashed import read_hashed, write_hashed
from ...manifests.disk.lock import Busy, hold_lock, shared_lock
from ...manifests.paths import ARRAYS_FOLDER, BEGIN_LOCK, CHECK_FOLDER, WORK_FOLDER, WORKERS_LOCK, is_begun
from ...workers import Workers
from ..plan.builds import CheckedBuild, UncheckedBuild
from ..plan.job import Job
from ..plan.parts import Part, job_shares, uncommitted_parts
from ..sources.check import Checked, OnChecked, check
from .identity import refuse_other_build
from .locks import WORKERS_WAIT_S, wait_for_workers
from .state import BuildState, committed_parts, read_state

RETRY_S = 1.0
"""The time between two attempts to begin a build. On a network file system, files written by other machines may appear
a few seconds late.
"""
BLOCK = 2048
"""The number of images in a block. A job checks one block at a time, in about ten seconds of processor time."""
NOTICE_S = 10.0
"""The time without progress after which a job reports what it is waiting for."""
WAIT_S = 0.2
"""The time between two attempts to get the results of blocks that other jobs are checking."""


def shared_check(
    build: UncheckedBuild,
    directory: Path,
    workers: Workers,
    *,
    share: float,
    on_checked: OnChecked,
    waiting: Callable[[str], object],
) -> CheckedBuild:
    """Check the selected samples together with other jobs, and return the build with its samples.

    The samples are divided into blocks. A job takes the next block that no job has checked or is checking, and records
    the result. If a job is killed, another job can take its block. If a file changes after it was checked, the job that
    makes its images notices the different hash.

    Parameters
    ----------
    build : UncheckedBuild
    directory : Path
        The folder of the unfinished build. The caller must hold the lock of the dataset, alone or with other jobs.
    workers : Workers
    share : float
        The position of the first block that this job tries, as a fraction of all blocks in [0, 1). Different values
        keep the jobs from trying the same block.
    on_checked : callable
        Called with the number of images that all jobs together have checked.
    waiting : callable
        Called repeatedly while the job is waiting, with a description of what it is waiting for.
    """
    make_folder(directory, WORK_FOLDER)
    key = sha256(canonical(build.header.as_json()))
    key.update(json.dumps([build.source.notes, [[s.id, s.label, s.path] for s in build.selected]]).encode())
    folder = directory / CHECK_FOLDER / key.hexdigest()[:32]
    blocks = [build.selected[start : start + BLOCK] for start in range(0, len(build.selected), BLOCK)]
    results: dict[int, Checked] = {}

    def check_block(number: int, before: int) -> Checked | None:
        """Return the result for a block, or None if another job is checking it."""
        path, samples = folder / f"{number:06d}.json", blocks[number]
        if (data := read_hashed(path)) is None:
            try:
                with hold_lock(lock := path.with_suffix(".lock"), ""):
                    lock.write_text(f"process {os.getpid()} on {socket.gethostname()}", "utf-8")
                    if (data := read_hashed(path)) is None:
                        block = check(
                            build.source,
                            samples,
                            workers=workers,
                            check_size=build.size_problem,
                            on_checked=lambda images: on_checked(before + images),
                        )
                        index = {sample.id: k for k, sample in enumerate(samples)}
                        rows = [[index[sample.id], *rest] for sample, *rest in block.good]
                        data = json.dumps([rows, block.bad, block.with_orientation], ensure_ascii=False).encode()
                        write_hashed(path, data)
            except Busy:
                return None
        good, bad, with_orientation = json.loads(data)
        return Checked(
            [(samples[k], *rest) for k, *rest in good], [(name, reason) for name, reason in bad], with_orientation
        )

    start, since = int(share * len(blocks)), time.monotonic()
    while len(results) < len(blocks):
        for number in (*range(start, len(blocks)), *range(start)):
            images = sum(len(blocks[n]) for n in results)
            if number not in results and (block := check_block(number, images)) is not None:
                results[number], since = block, time.monotonic()
                on_checked(images + len(blocks[number]))
        if len(results) < len(blocks):
            if time.monotonic() - since >= NOTICE_S:
                first = next(number for number in range(len(blocks)) if number not in results)
                job = (folder / f"{first:06d}.lock").read_text("utf-8")
                waiting(f"{job}, which checks {len(blocks[first])} images from {blocks[first][0].id} on")
            time.sleep(WAIT_S)
    checked = Checked.concatenated(results[number] for number in range(len(blocks)))
    try:
        return build.checked(checked)
    except CorruptsetError:
        if not is_begun(directory):  # the user will fix the source, so all results become outdated
            for path in folder.glob("*.json"):  # not the .lock files, which other jobs may hold
                path.unlink(missing_ok=True)
        raise


@contextmanager
def join_jobs(
    directory: Path, build: CheckedBuild, extend: Path | None, *, waiting: Callable[[str], object]
) -> Iterator[tuple[BuildState, Job]]:
    """Begin a build, or join the jobs that are making it, for the duration of the ``with`` block.

    The caller must hold the lock of the dataset, shared with the other jobs. The parameters are the folder of the
    unfinished build, the requested build, a finished dataset to extend (or None), and a callback as in `shared_check`.

    Raises
    ------
    BuildError
        The folder contains a different build, the textures or the surrogate model differ, or other jobs are making
        different sets.
    """
    deadline = time.monotonic() + WORKERS_WAIT_S
    with ExitStack() as stack:
        on_wait = partial(waiting, "another job of the array, which is starting the build")
        with hold_lock(directory / BEGIN_LOCK, "", wait_s=math.inf, on_wait=on_wait):
            while True:
                state = read_state(directory, extend)
                job = state.job(build)
                if state.unfinished is not None and set(job.sets) == set(state.unfinished.sets):
                    refuse_other_build(directory, state.unfinished.header, build, job.header)
                    break
                with suppress(Busy):
                    wait_for_workers(directory, wait_s=RETRY_S)
                    state = state.begin(job)
                    break
                if time.monotonic() >= deadline:
                    raise BuildError(
                        f"Other jobs of the array are building different sets in {directory}. Give every job the same "
                        "--sets, or wait until those jobs have ended and run this one again to add its sets."
                    )
            stack.enter_context(shared_lock(directory / WORKERS_LOCK))
        yield state, job


def assign_parts(job: Job, parts: Sequence[Part], number: int, jobs: int) -> tuple[list[Part], list[Part]]:
    """Divide parts among array jobs, and return the share of one job and the parts of this share that are missing.

    The number of jobs is recorded, so that `missing_parts` can name the jobs to run again.

    Parameters
    ----------
    job : Job
        The work of the build.
    parts : sequence of Part
        All parts of the build.
    number, jobs : int
        The index of the job in the array, from 0, and the number of jobs in the array.
    """
    folder = make_folder(job.directory, ARRAYS_FOLDER)
    os.close(open_unlinked(folder / str(jobs), os.O_WRONLY | os.O_CREAT))
    share = job_shares(parts, jobs)[number]
    return share, uncommitted_parts(
        share, committed_parts(job.directory, job.origin, job.sets, {part.chunk.number for part in share})
    )


def missing_parts(directory: Path, parts: Sequence[Part], existing: Collection[tuple[str, int]]) -> MissingParts:
    """Return the error for a build with missing parts, which lists the jobs that make these parts.

    If arrays of different sizes have worked on the build, the jobs are those of the largest array.

    Parameters
    ----------
    directory : Path
        The folder of the unfinished build.
    parts : sequence of Part
        All parts of the build.
    existing : collection of (set id, chunk number)
        The set ids and chunk numbers of the committed parts.
    """
    folder = directory / ARRAYS_FOLDER
    jobs = max((int(p.name) for p in folder.iterdir() if p.name.isdecimal()), default=1) if folder.is_dir() else 1
    unfinished = [job for job, share in enumerate(job_shares(parts, jobs)) if uncommitted_parts(share, existing)]
    remaining = uncommitted_parts(parts, existing)
    images = sum(p.images for p in remaining)
    return MissingParts(
        f"{directory} is not finished: {len(remaining)} of {len(parts)} parts ({images:,} images) are missing.",
        unfinished,
        jobs,
    )
