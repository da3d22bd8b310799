"""Estimate the size and the duration of a build by making a few images in memory."""

from __future__ import annotations

import json
import os
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from math import sqrt
from pathlib import Path
from statistics import fmean, stdev

import numpy as np
from numpy.typing import NDArray

from ..manifests.disk.jsonl import json_line
from ..progress import ProgressEvent
from ..workers import Workers
from .commit.finish import MAX_SHOWN, sample_record
from .pixels.metrics import measure
from .pixels.ms_ssim import ms_ssim
from .plan.build_plan import BuildPlan
from .plan.builds import CheckedBuild
from .plan.job import CheckedSample, Job, load_clean
from .plan.parts import BATCH_BYTES, Part, chunks
from .plan.sample_checks import refuse_several_shapes
from .sinks.sink import Chunk
from .sources.check import check
from .sources.selection import spread
from .sources.source import Note
from .work.warm_up import warm_up
from .work.worker import make_part

LOOKED_AT = 16
"""The largest number of source images on which the estimate is based."""
SECONDS = 10.0
"""The time after which no further images are made."""
MIN_TURNS = 4
"""The minimum number of times that each group of sets is made, if there is time. More turns measure short times more
reliably.
"""
SHARD_ROW_BYTES = 48
"""The size in bytes of the label, the index and the digest that a shard contains for each image."""

# These constants were measured on builds of the shipped recipes.
TEXT_BYTES, SET_BYTES, FILE_BYTES = 5_000, 1_000, 320
"""Sizes in bytes: README.md and LICENSE together, the record of a set, and the entries for one file in manifest.json
and SHA256SUMS.
"""
SHEET_SIDE, SHEET_BYTES, PAGE_BYTES = 128, 3_000_000, 2_400_000
"""The side of an image on the contact sheet in pixels, and the largest sizes of the contact sheet and of the page."""
START_SECONDS = 2.0
"""The processor time to start a worker."""
SHOWN_SECONDS = 0.02
"""The processor time to show a set on the contact sheet and on the page."""
IMAGE_FILE_SECONDS = 0.0001
"""The time to create an image file."""


@dataclass(frozen=True)
class Estimate:
    """The estimated cost of a build."""

    seconds: float
    """The duration with the build's number of workers, if other processes keep the machine equally busy."""
    bytes: int = 0
    """The sum of the sizes of all files."""
    alone: Mapping[str, int] = field(default_factory=dict)
    """For a build with the storage ``both``, the sizes that it would have with ``folder`` alone and ``hdf5`` alone."""
    looked_at: int = 0
    """The number of source images on which the estimate is based."""
    deviation: float = 0.0
    """The likely relative error of `bytes`, as two standard errors."""
    bad: Sequence[Note] = ()
    """The checked images that cannot be used, with reasons."""


def estimate(
    plan: BuildPlan,
    build: CheckedBuild,
    few: Sequence[CheckedSample],
    all_chunks: Sequence[Chunk],
    groups: Sequence[tuple[str, ...]],
    progress: Callable[[ProgressEvent], None] = lambda event: None,
) -> Estimate:
    """Return the estimated cost of a build.

    Images are made in memory from up to `LOOKED_AT` evenly spaced source images, by the same code as in a worker. The
    groups of sets are made in turn, each from different images. Kernels are compiled and loaded before times are
    measured.

    Parameters
    ----------
    plan : BuildPlan
    build : CheckedBuild
        The build with only a few images.
    few : sequence of CheckedSample
        Samples that can be read. They are used if the recipe has regions, or if none of the chosen images can be read.
    all_chunks : sequence of Chunk
        The chunks of the whole build.
    groups : sequence of tuples of str
        Groups of sets that are made together. Each group is a tuple of set ids.
    progress : callable, optional
        Called with a `ProgressEvent` of the phases ``preparing``, ``compiling`` and ``measuring``.
    """

    def on_compiled(ready: int, total: int) -> None:
        progress(ProgressEvent("compiling", parts_done=ready, parts_total=total))

    samples, bad, check_seconds = list(spread(few, LOOKED_AT)), list[Note](), 0.0
    if plan.pixels.cut_regions is None:
        chosen = spread(plan.selected, LOOKED_AT)
        began = time.perf_counter()
        checked = check(plan.source, chosen)
        check_seconds = (time.perf_counter() - began) / len(chosen)
        samples, bad = [CheckedSample(*entry) for entry in checked.good] or samples, list(checked.bad)
    refuse_several_shapes(build, [*few, *samples])
    with Workers(plan.workers) as workers, _threads_of_a_worker(plan.workers):
        progress(ProgressEvent("preparing"))
        warm_up(build.chosen(build.requested), build.maker, workers, on_progress=on_compiled)
        images = _Images(plan, build, samples, all_chunks, groups, progress)
    if plan.pixels.regions is not None:
        return Estimate(images.seconds(check_seconds))
    return replace(images.size(), seconds=images.seconds(check_seconds), bad=bad)


def image_bytes(plan: BuildPlan, sets: Sequence[str]) -> float:
    """Return the average number of bytes per image in a build of some sets."""
    few = [CheckedSample(*entry) for entry in check(plan.source, plan.selected[:1]).good]
    build = replace(plan.build_of(few), requested=tuple(sets))
    width, height = build.image_size
    all_chunks = chunks(len(plan.selected), width * height * 3)
    groups = build.groups(sets, all_chunks)
    size = estimate(plan, build, few, all_chunks, groups).bytes
    return (size - plan.source.other_bytes()) / (sum(chunk.count for chunk in all_chunks) * len(sets))


@contextmanager
def _threads_of_a_worker(workers: int) -> Iterator[None]:
    """Let OpenCV use only one thread in the ``with`` block, as in a worker, if the build has several workers."""
    import cv2

    before = cv2.getNumThreads()
    if workers > 1:
        cv2.setNumThreads(1)
    try:
        yield
    finally:
        cv2.setNumThreads(before)


@dataclass
class _Group:
    """The measurements of a group of sets."""

    seconds: list[float] = field(default_factory=list)
    """For each call, the time per sample."""
    bytes: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))
    """For each container (``folder``, ``hdf5``) and each sample, the size of the sample's images in all sets together.
    """
    records: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))
    """For each container and each sample, the size of the file records of these images."""
    rows: list[float] = field(default_factory=list)
    """For each call, the size per sample of the rows of all sets in bytes, without the file records."""
    shards: list[int] = field(default_factory=list)
    """For each call, the part of the shards' total size that does not depend on the number of images."""


class _Images:
    """Create sample images to estimate the time and size of a build, and store the measurements."""

    def __init__(
        self,
        plan: BuildPlan,
        build: CheckedBuild,
        samples: Sequence[CheckedSample],
        all_chunks: Sequence[Chunk],
        groups: Sequence[tuple[str, ...]],
        progress: Callable[[ProgressEvent], None],
    ) -> None:
        progress(ProgressEvent("measuring"))
        self.progress = progress
        self.plan, self.build, self.samples, self.all_chunks, self.groups = plan, build, samples, all_chunks, groups
        self.total = sum(chunk.count for chunk in all_chunks)
        self.sets = sum(map(len, groups))
        began = time.perf_counter()
        self.clean = [load_clean(build.source, sample, build.preprocessing) for sample in samples]
        self.load_seconds = (time.perf_counter() - began) / len(samples)
        # Small images are made in batches, as in a build.
        batch = max(1, BATCH_BYTES // max(image.nbytes for image in self.clean) // 8)
        self.count = min(batch, all_chunks[0].count)
        job = self._job()
        began = time.perf_counter()
        # To load all kernels, one set with each combination of corruptions is enough.
        firsts = {tuple(t.corruption for t in spec.stages): spec.id for spec in reversed(build.chosen(build.requested))}
        self._make(job, tuple(reversed(firsts.values())), 0, 1)
        self.load_kernels = time.perf_counter() - began
        self.measurements = [_Group() for _ in groups]
        self.looked_at: set[int] = set()
        self._measure(job)

    def _job(self) -> Job:
        repeated = [self.samples[i % len(self.samples)] for i in range(len(self.samples) + self.count)]
        job = self.build.with_samples(repeated).job(Path(), self.build.requested)
        return replace(job, in_memory=True, measured=frozenset(), multiscale=frozenset())

    def _make(self, job: Job, sets: tuple[str, ...], first: int, count: int) -> tuple[float, list[bytes], int]:
        """Make `count` samples in some sets. Return the time, the rows of each set, and the size of the shards."""
        images = [self.clean[i % len(self.clean)] for i in range(first, first + count)]
        began = time.perf_counter()
        sidecar = make_part(job, Part(Chunk(0, first, first + count), sets), clean=(images, [""] * count))
        seconds = time.perf_counter() - began
        shards = sum(entry.shard.bytes for entry in sidecar.sets.values() if entry.shard is not None)
        return seconds, [entry.lines for entry in sidecar.sets.values()], shards

    def _measure(self, job: Job) -> None:
        """Make the groups of sets in turn, with different images, as long as there is time."""
        began, cpu = time.perf_counter(), time.process_time()
        turns = max(MIN_TURNS, -(-len(self.samples) // self.count))
        for number in range(turns * len(self.groups)):
            if number and time.perf_counter() - began > SECONDS:
                break
            self.progress(ProgressEvent("measuring", parts_done=number, parts_total=turns * len(self.groups)))
            group, first = number % len(self.groups), number * self.count % len(self.samples)
            if number >= len(self.groups):  # the next turn begins with a different image
                first = (first + number // len(self.groups)) % len(self.samples)
            seconds, lines, shards = self._make(job, self.groups[group], first, self.count)
            self.looked_at |= {i % len(self.samples) for i in range(first, first + self.count)}
            self._add(self.measurements[group], seconds, lines, shards)
        wall, used = time.perf_counter() - began, time.process_time() - cpu
        self.slowdown = max(1.0, min(wall / max(used, 1e-3), _load()))
        """The ratio of elapsed time to processor time. It exceeds 1 if other processes use the processor.

        It is at most the load of the machine, because elapsed time may also be spent waiting for something else, such
        as a GPU.
        """

    def _add(self, group: _Group, seconds: float, lines: Sequence[bytes], shards: int) -> None:
        group.seconds.append(seconds / self.count)
        rows = [[json.loads(line) for line in text.splitlines()] for text in lines]
        stored = 0
        for of_sample in zip(*rows, strict=True):
            sizes, records = dict.fromkeys(("folder", "hdf5"), 0), dict.fromkeys(("folder", "hdf5"), 0)
            for file in (file for row in of_sample for file in row["files"]):
                container = "folder" if file["row"] is None else "hdf5"
                sizes[container] += file["bytes"]
                records[container] += len(json.dumps(file, ensure_ascii=False).encode()) + 2
            stored += sizes["hdf5"]
            for container in sizes:
                group.bytes[container].append(sizes[container])
                group.records[container].append(records[container])
        stored_records = sum(map(sum, group.records.values())) / len(group.records["folder"])
        group.rows.append(sum(map(len, lines)) / self.count - stored_records)
        group.shards.append(max(0, shards - stored - SHARD_ROW_BYTES * self.count * len(lines)) if shards else 0)

    def _sum(self, values: Sequence[float | None]) -> float:
        """Return the sum over all groups. Missing values are replaced by the other groups' mean per set."""
        known = [(value, len(group)) for value, group in zip(values, self.groups, strict=True) if value is not None]
        return sum(value for value, _ in known) * self.sets / sum(count for _, count in known)

    def seconds(self, check_seconds: float) -> float:
        """Return the estimated duration of the build. `check_seconds` is the time to check one image."""
        plan, total = self.plan, self.total
        jobs = max(1, min(plan.workers, len(self.groups) * len(self.all_chunks)))
        per_sample = self._sum([fmean(group.seconds) if group.seconds else None for group in self.measurements])
        if any(sink.kind == "files" for sink in plan.sinks):
            per_sample += self.sets * IMAGE_FILE_SECONDS
        fixed = self.load_kernels + START_SECONDS * self.slowdown * (jobs > 1)
        fixed += min(self.sets, MAX_SHOWN) * SHOWN_SECONDS * self.slowdown
        # If the groups of a chunk are made by several workers, each of these workers loads the images.
        loaded = total * self.load_seconds * min(jobs, len(self.groups)) + len(plan.selected) * check_seconds
        return fixed + (total * per_sample + loaded + self._metrics_seconds()) / jobs

    def _metrics_seconds(self) -> float:
        """Return the estimated time to measure the metrics of all sets."""
        images, image = self.plan.metrics_images(self.total), self.clean[0]
        if not images:
            return 0.0
        other = np.ascontiguousarray(image[::-1])
        measured, multiscale = (_seconds_of(function, image, other) for function in (measure, ms_ssim))
        return self.sets * (images * measured + min(images, 16) * multiscale)

    def size(self) -> Estimate:
        """Return the estimated size of the build. The duration in the result is 0."""
        build, total, groups = self.build, self.total, self.measurements
        images, records = (
            {
                container: total * self._sum([fmean(of[container]) if of[container] else None for of in values])
                for container in ("folder", "hdf5")
            }
            for values in ([group.bytes for group in groups], [group.records for group in groups])
        )
        rows = total * self._sum([fmean(group.rows) if group.rows else None for group in groups])
        shards = 0
        if "hdf5" in (sink.container for sink in build.sinks):
            shards = self.sets * len(self.all_chunks)
            overhead = self._sum([fmean(group.shards) if group.shards else None for group in groups]) / self.sets
            images["hdf5"] += shards * (overhead + FILE_BYTES) + total * self.sets * SHARD_ROW_BYTES
        lines = [
            json_line(sample_record(build.header.classes, i, s, "blake3:" + "0" * 64))
            for i, s in enumerate(self.samples)
        ]
        other = rows + total * fmean(map(len, lines)) + self._fixed_bytes() + self.plan.source.other_bytes()
        whole = {container: other + images[container] + records[container] for container in images}
        both = len(build.sinks) == 2
        return Estimate(
            0.0,
            round(sum(whole.values()) - other * (len(whole) - 1)),
            {container: round(size) for container, size in whole.items()} if both else {},
            len(self.looked_at),
            self._deviation(),
        )

    def _fixed_bytes(self) -> float:
        """Return the total size of files whose size does not depend on the number of images."""
        height, width = (int(side) for side in self.clean[0].shape[:2])
        shown: float = 1_500 + 2.2 * min(height, SHEET_SIDE) * min(width, SHEET_SIDE)
        sheet = min(SHEET_BYTES, 30_000 + (min(self.sets, MAX_SHOWN) + 1) * shown)
        page = min(PAGE_BYTES, 60_000 + 1.1 * sheet) if self.build.page else 0
        records = len(json.dumps(self.build.header.as_json(), indent=2)) + self.sets * (SET_BYTES + FILE_BYTES)
        return TEXT_BYTES + records + sheet + page

    def _deviation(self) -> float:
        """Return the likely relative error of the estimated size, derived from the spread of the clean images' sizes.

        It is 0 if no container encodes images, because raw pixels have a known size.
        """
        encoded = [sink for sink in self.build.sinks if sink.encodes]
        looked_at = len(self.looked_at)
        if not encoded:
            return 0.0
        if len(self.clean) < 2:
            return 1.0
        sizes = [
            len(self.build.encoding_of(sample.sample).encode(image))
            for sample, image in zip(self.samples, self.clean, strict=True)
        ]
        # Groups of sets may have been made from only some of these images.
        least = min(self.count * len(group.seconds) for group in self.measurements)
        unseen = 1 - min(least, looked_at) / self.total
        return float(2 * stdev(sizes) / fmean(sizes) * sqrt(unseen / looked_at))


def _load() -> float:
    """Return the load of the machine, as the number of runnable processes per processor."""
    try:
        return os.getloadavg()[0] / (os.cpu_count() or 1)
    except (AttributeError, OSError):  # Windows has no load average
        return 1.0


def _seconds_of(
    function: Callable[[NDArray[np.uint8], NDArray[np.uint8]], object],
    image: NDArray[np.uint8],
    other: NDArray[np.uint8],
) -> float:
    """Return the mean time of three calls. An extra first call, which loads the kernels, is not measured."""
    function(image, other)
    began = time.perf_counter()
    for _ in range(3):
        function(image, other)
    return (time.perf_counter() - began) / 3
