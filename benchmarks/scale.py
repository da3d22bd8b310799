"""What the full sets would take: ``python -m benchmarks.scale FIGURES.json LARGE.json``. Nothing is built.

`FIGURES.json` is what ``python -m benchmarks.pipeline --json FIGURES.json`` wrote: an output's seconds and bytes, of the build with one
process. `LARGE.json` is what ``python -m benchmarks.large --json LARGE.json`` wrote: what samples cost beside their images. The tables:
hours of cores that nothing holds up; the same on simulated clusters (`benchmarks.cluster`), where a store, links and failures do; and what
one process of a build needs.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from corruptset.generate.plan.parts import groups, runs
from corruptset.generate.sinks.files import RECORD_BYTES
from corruptset.quantities import duration

from .cluster import Cluster, Outcome, Store, Work, simulate
from .timing import show

CORES = (16, 256, 4096)
SHARD = 1_000_000
"""Images of one build, where the source has more: a build each."""
NFS, PARALLEL, OBJECTS = Store("NFS", 1e9, 5_000), Store("parallel", 20e9, 50_000), Store("objects", 10e9, 3_500)
"""One server; a parallel file system; an object store, one prefix: assumed, not measured."""
PLACES = (("folder", NFS), ("folder", PARALLEL), ("hdf5", NFS), ("hdf5", PARALLEL), ("hdf5", OBJECTS))
SOURCE_BYTES = 110_000
"""Of one photograph of ImageNet."""


@dataclass(frozen=True)
class Full:
    """A set in full."""

    name: str
    measured: str
    """The build whose outputs are like its own."""
    images: int
    sets: int
    side: int = 224
    stages: float = 1.0
    """Stages applied an output, against the measured build's."""
    branches: int = 0
    """Sets that share a first stage, where a group of sets is best cut; 0 where each stands alone."""


FULL = (
    Full("imagenet-c, 50,000 images", "imagenet-c", 50_000, 75),
    Full("5,250 sets, 50,000 images", "imagenet-c", 50_000, 5_250, stages=5_325 / 5_250, branches=70),
    Full("imagenet-c, 400 million", "imagenet-c", 400_000_000, 75),
)
OTHERS = (
    Full("imagenet-c-all, 50,000 images", "imagenet-c-all", 50_000, 95),
    Full("5,250 sets, 1,000 images", "imagenet-c", 1_000, 5_250, stages=5_325 / 5_250, branches=70),
    Full("cifar10-c, 10,000 images", "cifar10-c", 10_000, 95, side=32),
)


def seconds_of(figures: dict[str, Any], full: Full) -> float:
    """Return the seconds of one process: corruption by stages applied, the rest by outputs."""
    build = figures["builds"][full.measured]
    corrupting = sum(seconds for name, seconds in build["stages"].items() if name.startswith("corrupt: "))
    share = corrupting / sum(build["stages"].values())
    one = build["seconds"] / build["images"]
    return full.images * full.sets * one * (1 - share + share * full.stages)


def bytes_of(figures: dict[str, Any], full: Full) -> float:
    """Return the bytes of all outputs."""
    build = figures["builds"][full.measured]
    return float(full.images * full.sets * build["bytes"] / build["images"])


def parts_of(full: Full, stored: float) -> tuple[int, int]:
    """Return the runs and the parts of a build of at most a million images; `stored` is what an image takes until its part is written."""
    all_runs = runs(min(full.images, SHARD), full.side**2 * 3)
    names = [str(i) for i in range(full.sets)]
    branches = range(0, full.sets, full.branches or 1)
    of_sets = groups(names, run_count=len(all_runs), run_length=all_runs[0].count, stored_bytes=int(stored), branches=branches)
    return len(all_runs), len(all_runs) * len(of_sets)


def work_of(figures: dict[str, Any], start: float, full: Full, form: str, cores: int) -> Work:
    """Return the units of a build (of all builds, where there are several): parts, or whole runs of the largest.

    A job reads the photographs of a run once, so a run is read again only where two jobs share it: before a job's first unit.
    """
    total = bytes_of(figures, full)
    image = total / full.images / full.sets
    all_runs, parts = parts_of(full, RECORD_BYTES if form == "folder" else image)
    builds = max(1, full.images // SHARD)
    units = builds * (all_runs if builds > 1 else parts)
    files = full.images * full.sets if form == "folder" else builds * all_runs * full.sets
    read = full.images * SOURCE_BYTES * (1 + min(cores, units) / (builds * all_runs))
    stages = figures["builds"][full.measured]["stages"]
    one = (stages["read, decode"] + stages["resize"]) / figures["builds"][full.measured]["samples"]
    start += one * min(full.images, SHARD) / all_runs
    return Work(units, builds * parts, seconds_of(figures, full) / units, (total + read) / units, (files + builds * parts) / units, start)


def time_of(seconds: float) -> str:
    """Return a time for people; large ones in days."""
    return duration(seconds) if seconds < 3 * 86400 else f"{seconds / 86400:.1f} days"


def limit(found: Outcome, work: Work, cluster: Cluster) -> str:
    """Return what holds the cluster up most."""
    if found.store_busy > 0.9:
        return "files a second" if found.files_busy else "bytes a second"
    if work.units < 4 * cluster.cores:
        return f"{work.units / cluster.cores:.2f} parts a core"
    return "cores" if found.computing > 0.8 else "the slowest cores"


def simulated(figures: dict[str, Any], start: float, cores: int, hours: float) -> list[tuple[str, ...]]:
    """Return the rows of the table of one number of cores."""
    rows = []
    for full in FULL:
        for form, store in PLACES:
            work = work_of(figures, start * min(full.images, SHARD) / 1e6, full, form, cores)
            cluster = Cluster(cores, node_hours=hours)
            found = simulate(work, cluster, store)
            rows.append(
                (
                    f"{full.name}, {form}",
                    store.name,
                    time_of(found.seconds),
                    f"{work.parts / found.seconds:.2f}",
                    f"{full.images * full.sets / found.seconds:,.0f}",
                    f"{work.units * work.bytes / found.seconds / 1e9:.2f}",
                    f"{found.computing:.2f}",
                    f"{found.failures}",
                    limit(found, work, cluster),
                )
            )
    return rows


def of_one_build(large: list[dict[str, Any]]) -> list[tuple[str, ...]]:
    """Return what single processes need, a line through the two largest numbers of samples that were measured."""
    small, big = sorted(large, key=lambda record: record["count"])[-2:]
    rows = []
    for name in ("plan", "first job", "another job", "finish"):
        row = [name]
        for count in (50_000, SHARD, 400_000_000):
            cells = []
            for unit, scale in (("seconds", 1.0), ("MB", 1e-3)):
                slope = (big[name][unit] - small[name][unit]) / (big["count"] - small["count"])
                cells.append((big[name][unit] + slope * (count - big["count"])) * scale)
            row.append(f"{time_of(cells[0])}, {cells[1]:,.1f} GB")
        rows.append(tuple(row))
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("figures", type=Path)
    parser.add_argument("large", type=Path)
    parser.add_argument("--efficiency", type=float, default=1.0, help="of each core where all work; `growth --only workers` measures two")
    parser.add_argument("--node-hours", type=float, default=Cluster(1).node_hours, help="between two failures of a node")
    arguments = parser.parse_args()
    figures = json.loads(arguments.figures.read_text(encoding="utf-8"))
    large = json.loads(arguments.large.read_text(encoding="utf-8"))
    rows = []
    for full in (*FULL, *OTHERS):
        outputs = full.images * full.sets
        image = bytes_of(figures, full) / outputs
        builds = max(1, full.images // SHARD)
        counts = [f"{builds * parts_of(full, stored)[1]:,}" for stored in (RECORD_BYTES, image)]
        hours = [seconds_of(figures, full) / n / arguments.efficiency / 3600 for n in CORES]
        rows.append((full.name, f"{outputs:,}", *(f"{h:,.2f}" for h in hours), f"{outputs * image / 1e12:,.3f}", *counts))
    show("hours, by cores", ("what", "outputs", *(f"{n} cores" for n in CORES), "TB", "parts, folder", "parts, hdf5"), rows)
    big = max(large, key=lambda record: record["count"])
    headings = ("what", "store", "time", "parts/s", "outputs/s", "GB/s", "computing", "failed nodes", "held up by")
    for cores in CORES:
        start = big["another job"]["seconds"] * 1e6 / big["count"]
        failures = cores / Cluster(cores).cores_a_node * 24 / arguments.node_hours
        show(
            f"simulated, {cores} cores, {failures:.2f} failures of nodes a day",
            headings,
            simulated(figures, start, cores, arguments.node_hours),
        )
    show("one process of one build", ("step", "50,000 samples", "a million", "400 million (a line drawn on)"), of_one_build(large))


if __name__ == "__main__":
    main()
