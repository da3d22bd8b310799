"""What a build takes, counted on a small one in a temporary folder."""

from __future__ import annotations

import copy
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf, sqrt
from pathlib import Path
from statistics import fmean, stdev
from tempfile import TemporaryDirectory

from ..manifests.paths import (
    CONTACT,
    IMAGES,
    LICENSE,
    MANIFEST,
    PAGE,
    README,
    REGIONS,
    SAMPLES,
    SETS,
    SHA256SUMS,
    SHARDS,
    WORK_FOLDER,
)
from .commit.finish import MOST_SHOWN, finish
from .commit.state import BuildState, committed
from .page.page_of_build import page_of
from .plan.builds import Build
from .plan.final_samples import refuse_several_shapes
from .plan.job import CheckedSample
from .plan.parts import parts, runs_of
from .recipes.set_spec import SetSpec
from .sources.check import Checked, check
from .sources.selection import spread
from .sources.source import Note
from .work.worker import forget, process

MOST_PIXELS = 24_000_000
"""Of all images that are made: five photographs at 224x224 under a hundred sets, a second or two."""
MOST_SAMPLES = 64
MOST_SECONDS = 30
"""Of samples after the first: a model or a plugin may be slow."""


@dataclass(frozen=True)
class Estimate:
    """What a build takes."""

    seconds: float
    """Of one sample in all sets, the least that was seen."""
    bytes: int = 0
    """On the disk: the sum of the sizes of its files."""
    alone: Mapping[str, int] = field(default_factory=dict)
    """``folder`` and ``hdf5`` -> what the build takes in that form alone, where every image is stored in both."""
    looked_at: int = 0
    """Images of the source that were made under the sets."""
    deviation: float = 0.0
    """How far off the bytes may be as the others were not: two standard errors, as a fraction."""
    bad: Sequence[Note] = ()
    """What cannot be used, among the images that were checked for it."""


def estimate(spec: Build, sets: Sequence[SetSpec], few: Sequence[CheckedSample], length: int) -> Estimate:
    """Return what a build of sets takes, in runs of a `length`.

    Of regions, the time alone. `few` are samples that can be read.
    """
    pixels = spec.image_size[0] * spec.image_size[1]
    chosen = spread(sets, max(1, MOST_PIXELS // (2 * pixels)))
    most = min(MOST_SAMPLES, max(1, MOST_PIXELS // (pixels * len(chosen))))
    samples, checked = spread(few, most), Checked()
    if spec.region_table is None:
        checked = check(spec.source, spread(spec.selected, most))
        samples = [CheckedSample(*entry) for entry in checked.good] or samples
    refuse_several_shapes(spec, [*few, *samples])
    source = copy.copy(spec.source)
    source.other_files = {}  # which are only copied
    small = replace(spec, source=source, asked=tuple(one.id for one in chosen), metrics=1)
    seconds = inf
    with TemporaryDirectory(prefix="corruptset-plan-") as folder:
        # the first time kernels are loaded, so it is the longest and seldom counts
        for number, count in enumerate((1, 1, len(samples))):
            if number == 2 and (count == 1 or count * seconds > MOST_SECONDS):
                break
            small, state = replace(small, samples=samples[:count]), BuildState(Path(folder, str(number)), None)
            digest = {"source": {**spec.identity["source"], "digest": small.source_digest}}
            small = replace(small, identity={**spec.identity, **digest})
            job, all_runs = state.job(small), runs_of(len(small.samples), length)
            state = state.begin(job)
            began = time.perf_counter()
            for part in parts(all_runs, small.groups(small.asked, all_runs)):
                process(job, part)
            seconds = min(seconds, (time.perf_counter() - began) / count * len(sets) / len(chosen))
        forget()
        if spec.regions is not None:
            return Estimate(seconds)
        finish(job, replace(state, sidecars=committed(state.directory, job.origin, small.asked)), page_of(small))
        return replace(_counted(spec, small, state.directory, seconds, len(sets)), bad=checked.bad)


def _counted(spec: Build, small: Build, root: Path, seconds: float, sets: int) -> Estimate:
    """Return what a build takes, from the files of a small one."""
    count, total = len(small.samples), len(spec.selected)
    more, shown = sets / len(small.asked), min(sets, MOST_SHOWN) / min(len(small.asked), MOST_SHOWN)
    times = {SAMPLES: total / count, REGIONS: total / count, README: 1.0, LICENSE: 1.0}
    times |= {CONTACT: shown, PAGE: shown, MANIFEST: more, SHA256SUMS: more}
    of_images = more * total / count
    files = {}
    for path in (path for path in root.rglob("*") if path.is_file()):
        name = path.relative_to(root).as_posix()
        if not name.startswith(WORK_FOLDER):
            files[name] = path.stat().st_size * times.get(name, of_images)
    by_sample = [0.0] * count
    records = {"folder": 0, "hdf5": 0}
    for path in root.glob(f"{SETS}**/*.jsonl"):
        for row in map(json.loads, path.read_text("utf-8").splitlines()):
            for file in row["files"]:
                record = len(json.dumps(file, ensure_ascii=False).encode()) + len(", ")
                by_sample[row["index"]] += file["bytes"] + record
                records["folder" if file["row"] is None else "hdf5"] += record
    whole = sum(files.values()) + spec.source.other_bytes()
    alone = {}
    if len(small.sinks) > 1:
        for form, folder, other in (("folder", SHARDS, "hdf5"), ("hdf5", IMAGES, "folder")):
            less = sum(size for path, size in files.items() if path.startswith(folder))
            alone[form] = round(whole - less - records[other] * of_images)
    deviation = 0.0
    if 1 < count < total:
        deviation = 2 * stdev(by_sample) / fmean(by_sample) * sqrt((1 - count / total) / count)
    return Estimate(seconds, round(whole), alone, count, deviation)
