"""What a worker does with a part: read, decode, preprocess, walk the tree, encode once, digest, write, commit.

A worker receives the job once and after that only parts (ids, never pixels); it returns one small record for each.
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...manifests.disk.lock import shared_lock
from ...manifests.layout import WORKERS_LOCK
from ...pixels import pixel_digest
from ..plan.job import Job, load_clean
from ..plan.parts import Part, batches
from ..sinks.set_writer import SetWriter
from .sidecars import PartSet, Sidecar, is_committed, write_sidecar


class PartDone(NamedTuple):
    """What a worker returns."""

    name: str
    images: int
    """Those that it made: none where the part was committed."""


_job: tuple[Path, Job] | None = None
"""The file that this process has read a job from, and the job."""
Clean = tuple[list[NDArray[np.uint8]], list[str]]
_clean: dict[tuple[str, int], Clean] = {}
"""The clean images of the run that this process looked at last: the groups of one run share them."""


def process(job: Job, part: Part, made: Callable[[int], object] = lambda images: None) -> PartDone:
    """Make and commit one part, unless it is committed; `made` is told of each batch how many images it has.

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


def make_part(job: Job, part: Part, made: Callable[[int], object] = lambda images: None) -> Sidecar:
    """Make and write the images of a part; return what its sidecar will say."""
    images, digests = clean_images(job, part)
    follows = any(job.sets[s].needs_surrogate for s in part.sets)
    # PyTorch's settings are held over the whole part: to make them for each image costs more than a small network does.
    running: AbstractContextManager[Any] = job.maker.resources["surrogate"].running() if follows else nullcontext()
    # While a set is hashed and written, the next one is made.
    thread = ThreadPoolExecutor(1, "writer")
    try:
        with running:
            finished = _make(job, part, images, thread, made)
        sets = {set_id: finished[set_id].result() for set_id in part.sets}
    finally:
        thread.shutdown(wait=True, cancel_futures=True)
    fields = {field for s in part.sets for field in job.sets[s].resource_fields}
    return Sidecar(
        build=job.origin.build,
        resources={field: sha256 for field, sha256 in job.origin.resources.items() if field in fields},
        run=part.run.number,
        first=part.run.first,
        stop=part.run.stop,
        clean=digests,
        sets=sets,
    )


def check_wanted(job: Job) -> None:
    """Raise `FileNotFoundError` in a worker whose build has ended: its file is gone."""
    if job.file is not None:
        # to open it asks a file server again, where its status may be an old answer
        os.close(os.open(job.file, os.O_RDONLY))


def job_of(file: Path) -> Job:
    """Return the job of a file, which this process keeps."""
    global _job
    if _job is None or _job[0] != file:
        forget()
        _job = (file, pickle.loads(file.read_bytes()))
    return _job[1]


def clean_images(job: Job, part: Part) -> Clean:
    """Return the preprocessed images of a part's run and their pixel digests; kept for the next part of the
    same run.
    """
    key = (job.token, part.run.number)
    if key not in _clean:
        _clean.clear()  # before the new ones are loaded
        chosen = job.samples[part.run.first : part.run.stop]
        images = [load_clean(job.source, c, job.preprocessing) for c in chosen]
        _clean[key] = images, [pixel_digest(image) for image in images]
    return _clean[key]


def forget() -> None:
    """Free the clean images that this process keeps."""
    _clean.clear()


def _make(
    job: Job, part: Part, images: list[NDArray[np.uint8]], thread: ThreadPoolExecutor, made: Callable[[int], object]
) -> dict[str, Future[PartSet]]:
    """Make a part's images; `thread` finishes a set as soon as it is whole."""
    tree = job.maker.tree([job.sets[s] for s in part.sets])
    samples = [checked.sample for checked in job.samples[part.run.first : part.run.stop]]
    writers = {
        set_id: SetWriter(
            set_id,
            part.run,
            job.sinks,
            directory=job.directory,
            encoding=job.encoding,
            samples=samples,
            measured=job.measured,
            multiscale=job.multiscale,
        )
        for set_id in part.sets
    }
    finished = {}
    for positions in batches(images):
        batch = np.stack([images[p] for p in positions])
        chosen = [samples[p] for p in positions]
        for set_id, corrupted in job.maker.images(tree, batch, [s.id for s in chosen], [s.label for s in chosen]):
            check_wanted(job)
            writers[set_id].add(positions, corrupted, batch)
            made(len(positions))
            if writers[set_id].whole:
                finished[set_id] = thread.submit(_finish, job, writers.pop(set_id))
    return finished


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
