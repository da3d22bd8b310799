"""What a worker does with a part: read, decode, preprocess, walk the tree, encode once, digest, write, commit.

A worker receives the job once and after that only parts (ids, never pixels); it returns one small record for each.
"""

from __future__ import annotations

import fcntl
import json
import os
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..corruptions.keys import sample_keys
from ..corruptions.registry import Images
from ..corruptions.stages import Coupling, Scale, check_images
from ..errors import BuildError, SourceError
from ..manifests.digests import pixel_digest, sha256_bytes
from ..manifests.files import WORK_FOLDER, write_atomic
from ..manifests.models import ClassRecord
from .encoding import Encoding
from .entries import SetSpec
from .metrics import Measured, measure
from .parts import Part
from .preprocessing import Preprocessing, preprocess
from .sinks.arrays import write_rows
from .sinks.folder import FolderSink
from .sinks.hdf5 import shard_bytes, shard_path
from .sources.base import BadSample, Sample, Source
from .tree import grow, walk
from .views.arrays import ArrayLayout
from .views.base import Layout

BATCH_BYTES = 2 << 20
"""Clean pixels of one batch: at 224x224 thirteen images, at 32x32 hundreds, so that its buffers stay near the caches."""
PARTS_FOLDER = f"{WORK_FOLDER}/parts"
WORKERS_LOCK = f"{WORK_FOLDER}/workers"
PARENT_EVERY_S = 1.0
"""How often a worker looks whether its parent is still there."""


@dataclass(frozen=True)
class Chosen:
    """A sample that a build is made of, as the check saw it."""

    sample: Sample
    sha256: str
    width: int
    height: int


@dataclass(frozen=True)
class Job:
    """Everything that workers need to know; parts refer to it by ids."""

    directory: Path
    build: str
    """``<name> <version>``, written into shards."""
    source: Source
    samples: tuple[Chosen, ...]
    classes: tuple[ClassRecord, ...]
    sets: Mapping[str, SetSpec]
    """In the order of the recipe."""
    preprocessing: Preprocessing
    encoding: Encoding
    containers: tuple[str, ...]
    seed: int
    coupling: Coupling
    scale: Scale
    side: int
    measured: frozenset[int]
    resources: Mapping[str, Any] = field(default_factory=dict)
    token: str = ""
    """Tells one call of `build` from another in the same process."""
    layout: Layout | None = None
    """Where images go in place of a container, for ``build --view``."""
    parent: int | None = None
    """The process that the workers belong to; None in process. A worker that outlives it stops."""


@dataclass(frozen=True)
class PartDone:
    """What a worker returns."""

    name: str
    images: int
    bytes: int


@dataclass
class _Made:
    """One image, as it was stored."""

    pixels: str
    stored: list[dict[str, Any]]
    row: NDArray[np.uint8] | bytes | None
    metrics: Measured | None


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
        made = _make(job, part, images)
        lines: dict[str, dict[str, Any]] = {}
        for set_id in part.sets:
            rows = [made[set_id].pop(i) for i in range(part.run.first, part.run.stop)]
            lines[set_id] = _write_set(job, part, set_id, rows)
        _commit(job, part, digests, lines)
    total = sum(sum(entry["sizes"]) for entry in lines.values())
    return PartDone(part.name, part.images, total)


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


def end_with_parent(parent: int) -> None:
    """End this worker soon after its parent is gone, also while it waits for work that nobody will hand it any more."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(PARENT_EVERY_S)
        os._exit(1)

    threading.Thread(target=watch, name="parent", daemon=True).start()


def clean_images(job: Job, part: Part) -> Clean:
    """Return the preprocessed images of a part's run and their pixel digests; kept for the next part of the same run."""
    global _clean
    key = (job.token, part.run.number)
    if _clean[0] != key:
        _clean = (None, ([], []))  # let go of the old ones before the new ones come
        images = [load_clean(job.source, c, job.preprocessing) for c in job.samples[part.run.first : part.run.stop]]
        _clean = (key, (images, [pixel_digest(i) for i in images]))
    return _clean[1]


def forget() -> None:
    """Let go of the clean images kept in this process."""
    global _clean
    _clean = (None, ([], []))


def load_clean(source: Source, chosen: Chosen, preprocessing: Preprocessing) -> NDArray[np.uint8]:
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


def _make(job: Job, part: Part, images: list[NDArray[np.uint8]]) -> dict[str, dict[int, _Made]]:
    """Return set id -> sample index -> what was made; files are written on the way."""
    tree = grow([job.sets[s] for s in part.sets], job.seed, job.coupling)
    folder = FolderSink(job.directory, job.encoding.suffix) if {"folder", "view"} & set(job.containers) else None
    folders = {c.index: c.folder for c in job.classes}
    made: dict[str, dict[int, _Made]] = {s: {} for s in part.sets}
    for positions in batches(images):
        check_parent(job)
        batch = check_images(np.stack([images[p] for p in positions]))
        indices = [part.run.first + p for p in positions]
        keys = sample_keys(job.samples[i].sample.id for i in indices)
        for set_id, corrupted in walk(tree, batch, keys, side=job.side, scale=job.scale, resources=job.resources):
            for k, index in enumerate(indices):
                made[set_id][index] = _store(job, folder, folders, set_id, index, corrupted[k], batch[k])
    return made


def _store(job: Job, folder: FolderSink | None, folders: Mapping[int, str], set_id: str, index: int, image: Images, clean: Images) -> _Made:
    if job.layout is not None:
        return _store_in_view(job, job.layout, folder, set_id, index, image, clean)
    stored: list[dict[str, Any]] = []
    row: NDArray[np.uint8] | bytes | None = None
    lossless = job.encoding.format == "png"
    data = job.encoding.encode(image) if folder is not None or not lossless else b""
    if folder is not None:
        sample = job.samples[index].sample
        path = folder.path(set_id, folders[sample.label], sample.id)
        folder.write(path, data)
        stored.append({"path": path, "row": None, "bytes": len(data), "sha256": sha256_bytes(data)})
    if "hdf5" in job.containers:
        row = np.ascontiguousarray(image).copy() if lossless else data
        size = row.nbytes if isinstance(row, np.ndarray) else len(row)
        same = stored and not lossless
        digest = stored[0]["sha256"] if same else sha256_bytes(row.data if isinstance(row, np.ndarray) else row)
        stored.append({"path": None, "row": None, "bytes": size, "sha256": digest})
    return _Made(pixel_digest(image), stored, row, measure(clean, image) if index in job.measured else None)


def _store_in_view(
    job: Job, layout: Layout, folder: FolderSink | None, set_id: str, index: int, image: Images, clean: Images
) -> _Made:  # fmt: skip
    path, number = layout.in_build(set_id, index)
    row: NDArray[np.uint8] | None = None
    if number is None:
        assert folder is not None
        data = job.encoding.encode(image)
        folder.write(path, data)
        size, digest = len(data), sha256_bytes(data)
    else:
        row = np.ascontiguousarray(image).copy()
        size, digest = row.nbytes, sha256_bytes(row.data)
    stored = [{"path": path, "row": number, "bytes": size, "sha256": digest}]
    return _Made(pixel_digest(image), stored, row, measure(clean, image) if index in job.measured else None)


def _write_arrays(job: Job, layout: ArrayLayout, rows: list[_Made]) -> None:
    by_path: dict[str, list[tuple[int, NDArray[np.uint8]]]] = {}
    for made in rows:
        assert isinstance(made.row, np.ndarray)
        by_path.setdefault(made.stored[0]["path"], []).append((made.stored[0]["row"], made.row))
        made.row = None
    for path, own in by_path.items():
        write_rows(job.directory / path, layout.rows_of(path), own)


def _write_set(job: Job, part: Part, set_id: str, rows: list[_Made]) -> dict[str, Any]:
    """Write a set's shard of the part, if it has one, and return what its sidecar says of the set."""
    shard = None
    if isinstance(job.layout, ArrayLayout):
        _write_arrays(job, job.layout, rows)
    if "hdf5" in job.containers:
        shard = _write_shard(job, part, set_id, rows)
        for number, made in enumerate(rows):
            made.row = None
            made.stored[-1] |= {"path": shard["path"], "row": number}
    indices = range(part.run.first, part.run.stop)
    records = [{"index": i, "pixels": m.pixels, "files": m.stored} for i, m in zip(indices, rows, strict=True)]
    return {
        "lines": "".join(json.dumps(r, ensure_ascii=False) + "\n" for r in records),
        "pixels": [m.pixels for m in rows],
        "sizes": [s["bytes"] for m in rows for s in m.stored],
        "shard": shard,
        "metrics": [[i, *m.metrics] for i, m in zip(indices, rows, strict=True) if m.metrics is not None],
    }


def _write_shard(job: Job, part: Part, set_id: str, rows: list[_Made]) -> dict[str, Any]:
    lossless = job.encoding.format == "png"
    values = [m.row for m in rows if m.row is not None]
    shapes = {v.shape for v in values if isinstance(v, np.ndarray)}
    if len(shapes) > 1:
        raise BuildError(
            f"Set {set_id}, samples {part.run.first} to {part.run.stop - 1}: images of {len(shapes)} shapes "
            f"({sorted(shapes)[:4]} ...) do not fit into one HDF5 array of pixels. Use --format folder, or a recipe whose "
            "preprocessing makes all images equal."
        )
    data = shard_bytes(
        values,
        labels=[job.samples[i].sample.label for i in range(part.run.first, part.run.stop)],
        indices=range(part.run.first, part.run.stop),
        pixels=[m.pixels for m in rows],
        set_id=set_id,
        build=job.build,
        encoding="raw" if lossless else job.encoding.format,
    )
    path = shard_path(set_id, part.run.number)
    target = job.directory / path
    target.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(target, data)
    return {"path": path, "bytes": len(data), "sha256": sha256_bytes(data)}


def _commit(job: Job, part: Part, clean: list[str], sets: Mapping[str, Any]) -> None:
    """Write the sidecar: from here on the part exists."""
    header = {"run": part.run.number, "first": part.run.first, "stop": part.run.stop, "names": list(part.sets)}
    # The header has a line of its own, so that a resume need not parse the rest.
    text = json.dumps(header)[:-1] + ",\n" + json.dumps({"clean": clean, "sets": sets}, ensure_ascii=False)[1:] + "\n"
    write_atomic(job.directory / PARTS_FOLDER / f"{part.name}.json", text.encode())
