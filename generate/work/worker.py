"""Make a part of a build: read, preprocess, corrupt, encode, hash, write and commit its images.

A worker receives the job once. After that, it receives only parts, which contain set ids and sample numbers but no
pixels. For each part, it returns a small record.
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
from ..sinks.sink import Chunk
from .environment import environment
from .sidecars import PartSet, Sidecar, is_committed, write_sidecar


class FinishedPart(NamedTuple):
    """The record of a finished part."""

    name: str
    images: int
    """The number of images made. It is 0 if the part was already committed."""


Clean = tuple[list[NDArray[np.uint8]], list[str]]
_clean: dict[tuple[str, int], Clean] = {}
"""A cache of the clean images of one chunk, because all parts of a chunk use the same images."""


def process(job: Job, part: Part, on_images: Callable[[int], object] = lambda images: None) -> FinishedPart:
    """Make and commit a part. `on_images` is called with the number of images in each finished batch.

    Two processes may safely make the same part at the same time, because they write the same bytes.

    Raises
    ------
    SourceError
        A sample cannot be read, or has changed since it was checked.
    BuildError
        A shard of raw pixels would contain images of different shapes.
    OSError
        The disk is full or fails, or the build has ended.
    """
    # A new build briefly takes this lock exclusively. It thereby waits for workers of a killed build.
    with shared_lock(job.directory / WORKERS_LOCK):
        check_wanted(job)
        if is_committed(job.directory, part.name, job.origin):
            return FinishedPart(part.name, 0)
        sidecar = make_part(job, part, on_images)
        check_wanted(job)
        write_sidecar(job.directory, part.name, sidecar)
    return FinishedPart(part.name, part.images)


def make_part(
    job: Job, part: Part, on_images: Callable[[int], object] = lambda images: None, *, clean: Clean | None = None
) -> Sidecar:
    """Make and store the images of a part, and return its sidecar. To commit the part, the caller writes the sidecar.

    Parameters
    ----------
    job : Job
    part : Part
    on_images : callable, optional
        Called with the number of images in each finished batch.
    clean : optional
        The clean images of the chunk and their digests, if they are already loaded.
    """
    chunk = part.chunk
    images, digests = clean or clean_images(job, chunk)
    samples = [checked.sample for checked in job.samples[chunk.first : chunk.stop]]
    specs = [job.sets[s] for s in part.sets]
    tree = job.maker.tree(specs)
    writers = {
        set_id: SetWriter(
            set_id,
            chunk,
            job.sinks,
            directory=None if job.in_memory else job.directory,
            encoding=job.encoding,
            samples=samples,
            measured=job.measured,
            multiscale=job.multiscale,
        )
        for set_id in part.sets
    }
    finished: dict[str, Future[PartSet]] = {}
    with ExitStack() as stack:
        # While one set is hashed and written in a second thread, the next set is made.
        thread = ThreadPoolExecutor(1, "writer")
        stack.callback(thread.shutdown, cancel_futures=True)
        for positions in batches(images):
            batch, chosen = np.stack([images[p] for p in positions]), [samples[p] for p in positions]
            for set_id, corrupted in job.maker.images(tree, batch, [s.id for s in chosen], [s.label for s in chosen]):
                check_wanted(job)
                writers[set_id].add(positions, corrupted, batch)
                on_images(len(positions))
                if writers[set_id].is_complete:
                    finished[set_id] = thread.submit(_finish, job, writers.pop(set_id))
        sets = {set_id: finished[set_id].result() for set_id in part.sets}
    fields = {field for spec in specs for field in spec.resource_fields}
    return Sidecar(
        build=job.origin.build,
        resources={field: sha256 for field, sha256 in job.origin.resources.items() if field in fields},
        run=chunk.number,
        first=chunk.first,
        stop=chunk.stop,
        clean=digests,
        sets=sets,
        environment=dict(environment()),
    )


def _finish(job: Job, writer: SetWriter) -> PartSet:
    """Finish a set of a part, and return its entry in the sidecar."""
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
    """Raise `FileNotFoundError` in a worker if the build has ended. The job file is deleted when a build ends."""
    if job.file is not None:
        # The file is opened, because a network file system may report the status of a file that no longer exists.
        os.close(os.open(job.file, os.O_RDONLY))


@lru_cache(maxsize=1)
def job_of(file: Path) -> Job:
    """Read a job from its file. The most recent job is cached."""
    job: Job = pickle.loads(file.read_bytes())
    return job


def clean_images(job: Job, chunk: Chunk) -> Clean:
    """Return the clean images of a chunk and their digests. Both are cached for the other parts of the chunk."""
    key = job.token, chunk.number
    if key not in _clean:
        forget()  # frees the memory before more images are loaded
        images = [load_clean(job.source, c, job.preprocessing) for c in job.samples[chunk.first : chunk.stop]]
        _clean[key] = images, [pixel_digest(image) for image in images]
    return _clean[key]


def forget() -> None:
    """Free the cached clean images."""
    _clean.clear()
