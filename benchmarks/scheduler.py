"""What a Dask scheduler adds to a part: ``python -m benchmarks.scheduler``.

A worker is without work from the end of a part to the start of its next. That time is measured in two workers of a scheduler on this
machine, by the machine's one clock: between parts that sleep, which leave the processors to scheduler, client and workers (whose processor
time is then all overhead), and between real ones. Builds are stopped after some parts.
"""

from __future__ import annotations

import contextlib
import logging
import statistics
import tempfile
import time
from collections import defaultdict
from itertools import pairwise
from pathlib import Path
from typing import Any

from corruptset.errors import Interrupted
from corruptset.generate.build import build
from corruptset.progress import ProgressEvent

from . import sources
from .timing import options, save, show

NOTED = """
import os, time
import corruptset.generate.work.dask_tasks as tasks

process = tasks.real = getattr(tasks, "real", tasks.process)

def noted(*given):
    start = time.monotonic()
    {work}
    with open({log!r}, "a") as log:
        log.write(f"{{os.getpid()}} {{start}} {{time.monotonic()}}\\n")

tasks.process = noted
"""


class Measured:
    """Builds whose workers note when they begin and end a part."""

    def __init__(self, client: Any, folder: Path) -> None:
        self.client, self.folder = client, folder
        self.figures: dict[str, dict[str, float]] = {}

    def measure(self, kind: str, work: str, parts: int, recipe: str, source: str, **choice: Any) -> None:
        """Build so many parts."""
        log = self.folder / f"{kind}.log"
        self.client.run(exec, NOTED.format(work=work, log=str(log)), {})
        used: list[float] = []

        def look(event: ProgressEvent) -> None:
            if event.phase == "building" and event.parts_done in (2, parts):  # the first of each worker loads what it needs
                used.append(time.process_time() + sum(self.client.run(time.process_time).values()))
            if event.parts_done >= parts:
                raise KeyboardInterrupt

        with contextlib.suppress(Interrupted):
            build(recipe, source, self.folder / kind, scheduler=self.client, metrics=0, jobs=1, progress=look, **choice)
        spans: dict[str, list[tuple[float, float]]] = defaultdict(list)
        for line in log.read_text(encoding="utf-8").splitlines():
            pid, start, end = line.split()
            spans[pid].append((float(start), float(end)))
        part = statistics.mean(end - start for each in spans.values() for start, end in each)
        gaps = [1000 * (later[0] - earlier[1]) for each in spans.values() for earlier, later in pairwise(sorted(each))]
        self.figures[kind] = {
            "parts": parts, "part_s": part, "median_ms": statistics.median(gaps), "mean_ms": statistics.mean(gaps), "most_ms": max(gaps),
            "percent": statistics.mean(gaps) / part / 10, "cpu_ms": 1000 * (used[1] - used[0]) / (parts - 2),
        }  # fmt: skip


def main() -> None:
    arguments = options(__doc__).parse_args()
    from distributed import Client, LocalCluster

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        small = sources.cifar(folder / "cifar", 1000)
        photographs = {count: sources.photographs(folder / f"photographs-{count}", count) for count in (64, 640)}
        quiet: dict[str, Any] = {"dashboard_address": ":0", "silence_logs": logging.CRITICAL}
        with LocalCluster(n_workers=2, threads_per_worker=1, **quiet) as cluster, Client(cluster) as client:
            measured = Measured(client, folder)
            measured.measure("sleeping 1 s", "time.sleep(1)", 30, "cifar10-c", small)
            measured.measure("sleeping 10 s", "time.sleep(10)", 10, "cifar10-c", small)
            for kind, count, parts in (("real, short", 64, 16), ("real, long", 640, 8)):
                sets = ["defocus_blur/*", "snow/*", "contrast/*", "jpeg_compression/*"]
                measured.measure(kind, "process(*given)", parts, "imagenet-c", photographs[count], sets=sets)
    save(arguments.json, measured.figures)
    rows = [
        [
            kind,
            str(f["parts"]),
            f"{f['part_s']:.2f}",
            *(f"{f[name]:.1f}" for name in ("median_ms", "mean_ms", "most_ms", "percent", "cpu_ms")),
        ]
        for kind, f in measured.figures.items()
    ]
    show("Between two parts of a worker", ["parts", "made", "s each", "ms, median", "mean", "most", "mean, % of a part", "CPU ms"], rows)


if __name__ == "__main__":
    main()
