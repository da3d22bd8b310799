"""The real build of cifar10-c and its export: ``python -m benchmarks.cifar``.

From an archive shaped as CIFAR-10's python version, filled with crops of the sample photographs, all 95 sets are built by one process and
by two, and exported as ``cifar-c``. Every step runs once, in a process of its own; 10,000 images need 6 GB of temporary space.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TypedDict

import numpy as np
from rich.console import Console
from rich.table import Table

import corruptset

from .photographs import cifar


class Step(TypedDict):
    """What a step took; process start and imports are left out."""

    seconds: float
    cpu_seconds: float
    """User and system time of the process and its workers."""
    peak: int
    """Resident memory of the process that was started, at most, bytes."""
    worker_peak: int | None
    """Of the largest of its workers; None without workers, and where the system is not Linux."""
    images: int
    digest: str


# Workers are watched while they live. getrusage(RUSAGE_CHILDREN).ru_maxrss would be simpler and wrong: Linux keeps it across exec, so a
# worker's begins at what its parent held when it was started. Their processor time is counted once they have ended, which they do by
# themselves a moment after a build.
MEASURED = """
import glob, json, multiprocessing, re, resource, sys, threading, time
from joblib.externals.loky import get_reusable_executor

import corruptset
from corruptset.generate.views.export import export

peaks, ended = {}, threading.Event()

def text(path):
    try:
        with open(path) as file:
            return file.read()
    except OSError:  # it has ended
        return ""

def watch():
    while not ended.wait(0.1):
        for pid in " ".join(map(text, glob.glob("/proc/self/task/*/children"))).split():
            found = re.search(r"VmHWM:\\s+(\\d+) kB", text(f"/proc/{pid}/status"))
            if found:  # the latest: before exec, it is the parent's
                peaks[pid] = int(found[1]) * 1024

def cpu():
    return sum(r.ru_utime + r.ru_stime for r in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)))

task = json.loads(sys.argv[1])
workers = task.get("jobs", 1) > 1
if workers:
    threading.Thread(target=watch, daemon=True).start()
cpu_before, start = cpu(), time.perf_counter()
if "view" in task:
    done = export(task["view"], task["directory"], task["out"])
else:
    done = corruptset.build("cifar10-c", **task)
seconds = time.perf_counter() - start
get_reusable_executor().shutdown(wait=True)  # joblib would keep the workers of the source's check for five minutes
for worker in multiprocessing.active_children():
    worker.join()
ended.set()
print(json.dumps({
    "seconds": seconds, "cpu_seconds": cpu() - cpu_before,
    "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024),
    "worker_peak": max(peaks.values(), default=None), "images": done.images, "digest": done.digest,
}))
"""


def measured(**task: object) -> Step:
    """Run a build or an export in a process of its own."""
    done = subprocess.run([sys.executable, "-c", MEASURED, json.dumps(task)], check=True, stdout=subprocess.PIPE, text=True, env=os.environ)
    step: Step = json.loads(done.stdout.splitlines()[-1])
    return step


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--images", type=int, default=10_000)
    parser.add_argument("--sets", nargs="+", metavar="GLOB", help="only these of the 95 sets, all five severities of each: contrast/*")
    parser.add_argument("--json", type=Path, help="write the figures to this file as well")
    arguments = parser.parse_args()
    console = Console(width=130)
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        source = cifar(work / "cifar-10-python.tar.gz", arguments.images)
        # HDF5 is what the default is for CIFAR's 10,000 images; few of them would go into a folder as well.
        task = {"source": source, "sets": arguments.sets, "format": "hdf5"}
        # what comes first compiles kernels and makes tables, once on a machine
        measured(**task, out=str(work / "warm"), jobs=1, first=8)
        steps: dict[str, Step] = {}
        for jobs in (1, 2):
            # one build at a time, for the space
            shutil.rmtree(work / "out", ignore_errors=True)
            steps[f"build, --jobs {jobs}"] = measured(**task, out=str(work / "out"), jobs=jobs)
        (built,) = (work / "out").iterdir()
        steps["export cifar-c"] = measured(view="cifar-c", directory=str(built), out=str(work / "exported"))
        exported = sum(p.stat().st_size for p in (work / "exported").rglob("*.npy"))
    (count,) = {step["images"] for step in steps.values()}
    (digest,) = {step["digest"] for step in steps.values()}
    table = Table(
        title=f"cifar10-c, {count // arguments.images} sets of {arguments.images} images, HDF5, one run; us are of one image of one set",
        title_justify="left",
    )
    for heading in ("what", "s", "CPU s", "us", "CPU us", "peak MB", "a worker's peak MB"):
        table.add_column(heading, justify="left" if heading == "what" else "right")
    for name, step in steps.items():
        table.add_row(
            name,
            f"{step['seconds']:.1f}",
            f"{step['cpu_seconds']:.1f}",
            f"{step['seconds'] / count * 1e6:.1f}",
            f"{step['cpu_seconds'] / count * 1e6:.1f}",
            f"{step['peak'] / 1e6:.0f}",
            f"{step['worker_peak'] / 1e6:.0f}" if step["worker_peak"] else "-",
        )
    console.print(table)
    one, two = (steps[f"build, --jobs {jobs}"]["seconds"] for jobs in (1, 2))
    console.print(f"two processes are {one / two:.2f} times as fast as one; both builds have one digest:\n{digest}")
    console.print(f"exported: {exported / 1e9:.2f} GB (corruptset {corruptset.__version__}, numpy {np.__version__})")
    if arguments.json:
        arguments.json.write_text(json.dumps(steps, indent=1) + "\n")


if __name__ == "__main__":
    sys.exit(main())
