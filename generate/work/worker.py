"""What a worker does with a part: read, preprocess, corrupt, encode, digest, write, commit.

A worker receives the job once and after that only parts (ids, never pixels); it returns one small record for each.
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...manifests.disk.lock import shared_lock
from ...manifests.paths import WORKERS_LOCK
from ...pixels import pixel_digest
from ..plan.job import Job, load_clean
from ..plan.parts import Part, batches
from ..sinks.set_writer import SetWriter
from ..sinks.sink import Run
from .environment import environment
from .sidecars import PartSet, Sidecar, is_committed, write_sidecar


class PartDone(NamedTuple):
    """What a worker returns."""

    name: str
    images: int
    """Those that it made: none where the part was committed."""


Clean = tuple[list[NDArray[np.uint8]], list[str]]
_clean: dict[tuple[str, int], Clean] = {}
"""The clean images of the run that this process looked at last: the groups of one run share them."""


def process(job: Job, part: Part, made: Callable[[int], object] = lambda images: None) -> PartDone:
    """Make and commit a part; `made` gets the images of each batch.

    Two processes may make the same part: they write the same bytes, and no file is emptied or half renamed meanwhile.

    Raises
    ------
    SourceError
        A sample cannot be read any more, or is no longer the one that was checked.
    BuildError
        Images of different shapes were to go into one shard of raw pixels.
    OSError
        The disk is full or fails, or nobody waits for the part any more.
    """
    # A build that starts takes the lock alone for a moment: so it never writes beside what is left of a killed one.
    with shared_lock(job.directory / WORKERS_LOCK):
        check_wanted(job)
        if is_committed(job.directory, part.name, job.origin):
            return PartDone(part.name, 0)
        sidecar = make_part(job, part, made)
        check_wanted(job)
        write_sidecar(job.directory, part.name, sidecar)
    return PartDone(part.name, part.images)


def make_part(
    job: Job, part: Part, made: Callable[[int], object] = lambda images: None, *, clean: Clean | None = None
) -> Sidecar:
    """Make and write the images of a part, and return its sidecar.

    `clean` are the clean images of its run, if they are loaded already.
    """
    build, run = job.build, part.run
    images, digests = clean or clean_images(job, run)
    samples = [checked.sample for checked in build.samples[run.first : run.stop]]
    specs = [job.sets[s] for s in part.sets]
    tree = build.maker.tree(specs)
    writers = {
        set_id: SetWriter(
            set_id,
            run,
            job.sinks,
            directory=None if job.in_memory else job.directory,
            encoding=build.encoding,
            samples=samples,
            measured=job.measured,
            multiscale=job.multiscale,
        )
        for set_id in part.sets
    }
    finished: dict[str, Future[PartSet]] = {}
    with ExitStack() as stack:
        # While a set is hashed and written, the next one is made.
        thread = ThreadPoolExecutor(1, "writer")
        stack.callback(thread.shutdown, cancel_futures=True)
        for positions in batches(images):
            batch, chosen = np.stack([images[p] for p in positions]), [samples[p] for p in positions]
            for set_id, corrupted in build.maker.images(tree, batch, [s.id for s in chosen], [s.label for s in chosen]):
                check_wanted(job)
                writers[set_id].add(positions, corrupted, batch)
                made(len(positions))
                if writers[set_id].whole:
                    finished[set_id] = thread.submit(_finish, job, writers.pop(set_id))
        sets = {set_id: finished[set_id].result() for set_id in part.sets}
    fields = {field for spec in specs for field in spec.resource_fields}
    return Sidecar(
        build=job.origin.build,
        resources={field: sha256 for field, sha256 in job.origin.resources.items() if field in fields},
        run=run.number,
        first=run.first,
        stop=run.stop,
        clean=digests,
        sets=sets,
        environment=dict(environment()),
    )


def _finish(job: Job, writer: SetWriter) -> PartSet:
    """Finish a set and return what the sidecar says of it."""
    check_wanted(job)
    writer.finish()
    return PartSet(
        pixels="".join(writer.pixels),
        lines=writer.lines(),
        files=writer.file_count,
        bytes=writer.byte_count,
        shard=writer.shard,
        metrics=[[i, *m] for i, m in sorted(writer.metrics.items())],
    )


def check_wanted(job: Job) -> None:
    """Raise `FileNotFoundError` in a worker whose build has ended: its file is gone."""
    if job.file is not None:
        # to open it asks a file server again, where its status may be an old answer
        os.close(os.open(job.file, os.O_RDONLY))


@lru_cache(maxsize=1)
def job_of(file: Path) -> Job:
    """Return the job of a file, which this process keeps."""
    job: Job = pickle.loads(file.read_bytes())
    return job


def clean_images(job: Job, run: Run) -> Clean:
    """Return the clean images of a run and their digests, kept for its next part."""
    key = job.token, run.number
    if key not in _clean:
        forget()  # before the new ones are loaded
        build = job.build
        images = [load_clean(build.loader, c, build.preprocessing) for c in build.samples[run.first : run.stop]]
        _clean[key] = images, [pixel_digest(image) for image in images]
    return _clean[key]


def forget() -> None:
    """Free the clean images that this process keeps."""
    _clean.clear()
