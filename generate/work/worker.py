"""What a worker does with a part: read, decode, preprocess, walk the tree, encode once, digest, write, commit.

A worker receives the job once and after that only parts (ids, never pixels); it returns one small record for each.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...corruptions.keys import sample_keys
from ...corruptions.stages import check_images
from ...errors import SourceError
from ...manifests.disk.large import write_large
from ...manifests.layout import WORK_FOLDER
from ..pixels.hashes import hashes
from ..pixels.preprocessing import Preprocessing, preprocess
from ..plan.job import CheckedSample, Job
from ..plan.parts import BATCH_BYTES, Part
from ..plan.tree import grow, walk
from ..sinks.arrays import write_rows
from ..sinks.files import FolderSink
from ..sinks.set_writer import SetWriter, Where, forget_blocks
from ..sinks.shards import shard_path, shard_pieces
from ..sources.source import BadSample, Source
from ..views.array_layout import ArrayLayout
from .sidecars import PartSet, Sidecar, write_sidecar

WORKERS_LOCK = f"{WORK_FOLDER}/workers"


@dataclass(frozen=True)
class PartDone:
    """What a worker returns."""

    name: str
    images: int
    bytes: int


Clean = tuple[list[NDArray[np.uint8]], list[str]]
_clean: tuple[tuple[str, int] | None, Clean] = (None, ([], []))
"""The clean images of the run that this process looked at last: the groups of one run share them."""


def process(job: Job, part: Part) -> PartDone:
    """Make and commit one part.

    Raises
    ------
    SourceError
        A sample cannot be read any more, or is no longer the one that was checked.
    BuildError
        Images of different shapes were to go into one shard of raw pixels.
    OSError
        The disk is full or fails.
    """
    with _alive(job):
        images, digests = clean_images(job, part)
        # While a set is written and waited for, the next is made.
        writer = ThreadPoolExecutor(1, "writer")
        try:
            written = _make(job, part, images, writer)
            sets = {set_id: written[set_id].result() for set_id in part.sets}
        finally:
            writer.shutdown(wait=True, cancel_futures=True)
        textures = job.origin.textures if any(job.sets[s].has_textures for s in part.sets) else None
        sidecar = Sidecar(job.origin.build, textures, part.run.number, part.run.first, part.run.stop, digests, sets)
        write_sidecar(job.directory, part.name, sidecar)
    return PartDone(part.name, part.images, sum(entry.bytes for entry in sets.values()))


class _alive:
    """Holds the workers' lock (shared) for as long as a part is worked on, and refuses to work for a dead parent.

    A build that starts takes the lock alone for a moment: so it never writes beside what is left of a killed one.
    """

    def __init__(self, job: Job) -> None:
        self._job = job
        self._fd = -1

    def __enter__(self) -> None:
        check_parent(self._job)
        self._fd = os.open(self._job.directory / WORKERS_LOCK, os.O_RDWR | os.O_CREAT, 0o666)
        fcntl.flock(self._fd, fcntl.LOCK_SH)
        check_parent(self._job)

    def __exit__(self, *_: object) -> None:
        os.close(self._fd)


def check_parent(job: Job) -> None:
    """End a worker whose parent is gone."""
    if job.parent is not None and os.getppid() != job.parent:
        os._exit(1)


def clean_images(job: Job, part: Part) -> Clean:
    """Return the preprocessed images of a part's run and their pixel digests; kept for the next part of the same run."""
    global _clean
    key = (job.token, part.run.number)
    if _clean[0] != key:
        _clean = (None, ([], []))  # let go of the old ones before the new ones come
        images = [load_clean(job.source, c, job.preprocessing) for c in job.samples[part.run.first : part.run.stop]]
        _clean = (key, (images, _digests(images)))
    return _clean[1]


def _digests(images: list[NDArray[np.uint8]]) -> list[str]:
    """Return the pixel digests of images; of small ones many at once."""
    found = [""] * len(images)
    for positions in batches(images):
        for position, digits in zip(positions, hashes(np.stack([images[p] for p in positions])), strict=True):
            found[position] = f"blake3:{digits}"
    return found


def forget() -> None:
    """Let go of the clean images and of the memory kept in this process."""
    global _clean
    _clean = (None, ([], []))
    forget_blocks()


def load_clean(source: Source, chosen: CheckedSample, preprocessing: Preprocessing) -> NDArray[np.uint8]:
    """Return a sample as the benchmark's clean image.

    Raises
    ------
    SourceError
        It cannot be read any more, or its bytes are not those that were checked.
    """
    name = chosen.sample.path or chosen.sample.id
    try:
        loaded = source.load(chosen.sample)
    except BadSample as e:
        raise SourceError(
            f"{name} was readable when the source was checked, and is no longer: {e}. Mend it and run the command again."
        ) from e
    if loaded.sha256 != chosen.sha256:
        raise SourceError(
            f"{name} has changed since the source was checked ({chosen.sha256} then, {loaded.sha256} now). "
            "Put the original back and run the command again, or start a new build in another --out."
        )
    return preprocess(loaded.image, preprocessing)


def batches(images: list[NDArray[np.uint8]]) -> Iterator[list[int]]:
    """Yield the positions of images of one shape, as many as a batch takes."""
    by_shape: dict[tuple[int, ...], list[int]] = {}
    for position, image in enumerate(images):
        by_shape.setdefault(image.shape, []).append(position)
    for shape, positions in by_shape.items():
        length = max(1, BATCH_BYTES // int(np.prod(shape)))
        for start in range(0, len(positions), length):
            yield positions[start : start + length]


def _make(job: Job, part: Part, images: list[NDArray[np.uint8]], writer: ThreadPoolExecutor) -> dict[str, Future[PartSet]]:
    """Make a part's images; files of single images are written on the way, what else there is of a set once it is whole."""
    tree = grow([job.sets[s] for s in part.sets], job.seed, job.coupling)
    folder = FolderSink(job.directory, job.encoding.suffix) if {"folder", "view"} & set(job.containers) else None
    folders = {c.index: c.folder for c in job.classes}
    ours = {i: job.samples[i].sample for i in range(part.run.first, part.run.stop)}
    where = Where(job.containers, job.encoding, folder, job.layout, {i: (folders[s.label], s.id) for i, s in ours.items()})
    made = {set_id: SetWriter(set_id, part.run, where, job.measured) for set_id in part.sets}
    written = {}
    for positions in batches(images):
        check_parent(job)
        batch = check_images(np.stack([images[p] for p in positions]))
        keys = sample_keys(ours[part.run.first + p].id for p in positions)
        for set_id, corrupted in walk(tree, batch, keys, side=job.side, scale=job.scale, resources=job.resources):
            made[set_id].add(positions, corrupted, batch)
            if made[set_id].whole:
                written[set_id] = writer.submit(_written, job, part, made.pop(set_id))
    return written


def _written(job: Job, part: Part, made: SetWriter) -> PartSet:
    """Write a set's shard or rows of arrays, if it has any, and return what the sidecar says of it."""
    made.describe_rows()
    shard = None
    if isinstance(job.layout, ArrayLayout):
        for path, (numbers, rows) in made.arrays().items():
            write_rows(job.directory / path, job.layout.rows_of(path), numbers, rows)
    if "hdf5" in job.containers:
        shard = _write_shard(job, part, made)
    made.let_go()
    metrics = [[i, *m] for i, m in sorted(made.metrics.items())]
    return PartSet("".join(made.pixels), made.lines(), made.files, made.bytes, shard, metrics)


def _write_shard(job: Job, part: Part, made: SetWriter) -> dict[str, Any]:
    lossless = job.encoding.lossless
    pieces = shard_pieces(
        made.rows if lossless else made.encoded,
        labels=[job.samples[i].sample.label for i in range(part.run.first, part.run.stop)],
        indices=range(part.run.first, part.run.stop),
        pixels=made.pixels,
        set_id=made.set_id,
        build=job.build,
        encoding="raw" if lossless else job.encoding.format,
    )
    path = shard_path(made.set_id, part.run.number)
    target = job.directory / path
    target.parent.mkdir(parents=True, exist_ok=True)
    size, sha256 = write_large(target, pieces)
    return {"path": path, "bytes": size, "sha256": sha256}
