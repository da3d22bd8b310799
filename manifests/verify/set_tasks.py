"""The tasks that check the sets of a data set, and the processes that work on them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from ...processes import loky_workers_starting
from ..disk.listing import Listing
from ..images.pictures import own_path
from ..layout import SHARDS, own_names, set_of_shard, set_path
from ..records.models import Manifest, SampleRecord, SetRecord
from ..records.report import LEVELS, Problem, VerificationReport
from .sets import Findings, SetTask, check_set

SLICE_BYTES = 1 << 20
"""Several processes share a set that has more bytes of rows."""


def set_tasks(
    root: Path,
    manifest: Manifest,
    samples: list[SampleRecord] | None,
    places: dict[str, list[str]],
    apart: frozenset[str],
    sound: set[str],
    level: int,
    report: VerificationReport,
) -> Iterator[SetTask]:
    """Yield the tasks that check sets up to `level`; without `samples`, labels are not checked. Shards of no set go to the report."""
    count = len(manifest.classes)
    trusted = samples is not None and count > 0 and all(s.label is not None and s.label < count for s in samples)
    labels = np.array([s.class_index for s in samples], dtype=np.int64) if samples is not None and trusted else None
    form, own = manifest.encoding["format"], own_names(manifest)
    names = tuple(own_path(s.path, s.id, form) for s in samples) if samples is not None and own else None
    listed = {f.path for f in manifest.files}
    for record, shards in _with_shards(manifest, report):
        if record.id in report.absent:
            continue
        place = frozenset(places[record.id])
        yield SetTask(
            directory=root.absolute(),  # workers of an earlier call keep the current directory of that time
            record=record,
            encoding=manifest.encoding["format"],
            build=f"{manifest.name} {manifest.version}",
            folder=places[record.id][0],
            arrays=frozenset(path for path in place if path.endswith(".npy")),
            containers=_containers(manifest, places[record.id]),
            labels=labels,
            folders=tuple(c.folder for c in manifest.classes),
            numbered=any(view.get("numbered") is True for view in manifest.views),
            names=names,
            prune=apart,
            shards=shards | (place & listed),
            sound=(shards | place) & sound,
            sizes=level >= LEVELS.index("sizes"),
            hashes=level >= LEVELS.index("hashes"),
            pixels=level >= LEVELS.index("pixels"),
        )


def _with_shards(manifest: Manifest, report: VerificationReport) -> Iterator[tuple[SetRecord, frozenset[str]]]:
    """Yield every set with its shards."""
    by_set: dict[str | None, set[str]] = defaultdict(set)
    for file in manifest.files:
        if file.path.startswith(SHARDS):
            by_set[set_of_shard(file.path)].add(file.path)
    for record in manifest.sets:
        yield record, frozenset(by_set.pop(record.id, ()))
    report.add(Problem(path, "unexpected", "a shard of no set") for paths in by_set.values() for path in paths)


def _containers(manifest: Manifest, places: list[str]) -> tuple[str, ...]:
    """Return the containers of a set as its rows show them: a view's images are single files or rows."""
    if manifest.encoding["containers"] != ["view"]:
        return tuple(manifest.encoding["containers"])
    return ("hdf5",) if places[0].endswith(".npy") else ("folder",)


def check_sets(tasks: list[SetTask], listing: Listing, jobs: int) -> Iterator[Findings]:
    """Yield the findings of each set, in order; one job works in this process, and so do more where joblib is not installed."""
    if jobs == 1 or not tasks or find_spec("joblib") is None:
        yield from map(check_set, tasks)
        return
    # imported here: one process needs no joblib, which comes with the extra `build`
    from joblib import Parallel, delayed

    slices = []
    for task in tasks:
        size = listing.files.get(set_path(task.record.id), 0)
        parts = max(1, min(jobs, 2 * jobs // len(tasks), size // SLICE_BYTES))
        slices += [replace(task, part=part, parts=parts) for part in range(parts)]
    with loky_workers_starting():  # it comes back when the workers are started
        results = Parallel(n_jobs=jobs, return_as="generator")(delayed(check_set)(t) for t in slices)
    whole = Findings()
    for task, findings in zip(slices, results, strict=True):
        whole.problems += findings.problems
        whole.checked += findings.checked
        if task.part == task.parts - 1:
            yield whole
            whole = Findings()
