"""One job, measured: ``python -m benchmarks.job '{"what": "build", "recipe": ..., "source": ..., "out": ...}'`` prints JSON.

The other benchmarks run it in a process of its own. `what` is build (the default), export, pack, unpack or fetch; with
``"stages": true`` the processor time is divided by stages, with ``"phases": true`` the seconds at which a build's phases begin are told.
Start and imports of the process are left out.
"""

from __future__ import annotations

import importlib
import json
import multiprocessing
import sys
import threading
import time
from pathlib import Path
from typing import Any

from .stages import Clock, instrument
from .timing import memory, processor_seconds


class WorkerMemory:
    """Watches the memory of the workers while they live: what the system says of them afterwards begins at their parent's."""

    def __init__(self) -> None:
        self.peaks: dict[str, int] = {}
        self._ended = threading.Event()
        threading.Thread(target=self._watch, daemon=True).start()

    def _watch(self) -> None:
        while not self._ended.wait(0.1):
            for children in Path("/proc/self/task").glob("*/children"):
                for pid in children.read_text().split():
                    self.peaks[pid] = memory(pid) or self.peaks.get(pid, 0)  # the latest: before exec, it is the parent's

    def end(self) -> int | None:
        """Wait for all workers to end, and return the most that one of them held."""
        from joblib.externals.loky import get_reusable_executor

        get_reusable_executor().shutdown(wait=True)  # joblib would keep the workers of the source's check for five minutes
        for worker in multiprocessing.active_children():
            worker.join()
        self._ended.set()
        return max(self.peaks.values(), default=None)


JOBS = {
    "build": "corruptset.generate.build",
    "export": "corruptset.generate.views.export",
    "fetch": "corruptset.manifests.distribution.fetch",
    "pack": "corruptset.manifests.release.pack",
    "unpack": "corruptset.manifests.release.unpack",
}
"""Job -> the module of the function of that name."""


def facts(done: Any) -> dict[str, Any]:
    """Return what is known of a finished job."""
    known = {name: getattr(done, name) for name in ("images", "digest", "bytes") if hasattr(done, name)}
    if not hasattr(done, "manifest"):
        return known
    sets, corruptions = done.manifest.sets, sorted(done.manifest.revisions)
    known |= {"sets": len(sets), "bytes": sum(s.bytes for s in sets)}
    return known | {"directory": str(done.directory), "corruptions": corruptions}


def main() -> None:
    task = json.loads(sys.argv[1])
    what = task.pop("what", "build")
    staged, phased = task.pop("stages", False), task.pop("phases", False)
    run = getattr(importlib.import_module(JOBS[what]), what)
    if what == "pack":
        task["family_of"] = lambda name: "noise"
    clock = Clock()
    if staged:
        instrument(clock)
    phases: dict[str, float] = {}
    workers = WorkerMemory() if task.get("jobs", 1) > 1 else None
    held, used, start = memory(), processor_seconds(), time.perf_counter()
    if phased:
        task["progress"] = lambda event: phases.setdefault(event.phase, time.perf_counter() - start)
    done = run(**task)
    figures: dict[str, Any] = {"seconds": time.perf_counter() - start}
    worker_peak = workers.end() if workers else None
    figures |= {"cpu": processor_seconds() - used, **facts(done), "held_before": held, "peak": memory(), "worker_peak": worker_peak}
    if staged:
        figures["stages"] = clock.seconds | {"other": figures["cpu"] - sum(clock.seconds.values())}
    if phased:
        figures["phases"] = phases
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
