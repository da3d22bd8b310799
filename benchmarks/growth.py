"""How time and memory grow with images, sets and workers, and how long a start takes: ``python -m benchmarks.growth``.

Every build runs in a process of its own. A row's cost is what more work costs: the difference of two builds' seconds by the difference of
their outputs, so that what a start costs is left out; starts have rows of their own.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import Any

from PIL import Image
from rich.console import Console
from rich.table import Table

import corruptset
from corruptset.generate.sources.source import open_source

from . import photographs
from .pipeline import as_installed, child

SMALL = (
    "gaussian_noise", "impulse_noise", "defocus_blur", "motion_blur", "snow", "fog", "contrast", "elastic_transform", "jpeg_compression",
)  # fmt: skip
COMPILE = """
import json, sys, time, corruptset
at = []
def tell(event):
    at.append((event.phase, time.perf_counter()))
task = json.loads(sys.argv[1])
corruptset.build(**task, progress=tell)
first = next(t for phase, t in at if phase == "compiling")
print(json.dumps(next(t for phase, t in at if phase == "building") - first))
"""


class Growth:
    """Runs the rows and keeps what they gave."""

    def __init__(self, work: Path, repeats: int) -> None:
        self.work = work
        self.repeats = repeats
        self.rows: list[tuple[str, str]] = []
        self.figures: dict[str, Any] = {}
        self._outs = 0

    def build(self, **task: Any) -> dict[str, Any]:
        """Return the fastest of several builds: what disturbs one makes it slower, never faster."""
        found = []
        for _ in range(self.repeats):
            self._outs += 1
            out = self.work / f"out {self._outs}"
            found.append(child("stages", **{"jobs": 1, **task}, out=str(out), stages=False))
            if task["format"] != "folder":  # those stay: files are dear to make where many were deleted, see pipeline.py
                shutil.rmtree(out)
        return min(found, key=lambda b: b["seconds"])

    def at_once(self, task: dict[str, Any]) -> float:
        """Return the seconds that two builds take side by side, the slower of them: what this machine's two cores can do."""
        with ThreadPoolExecutor(2) as threads:
            apart = [Growth(self.work / f"apart {i}", self.repeats) for i in range(2)]
            return max(b["seconds"] for b in threads.map(lambda growth: growth.build(**task), apart))

    def row(self, name: str, value: str, **figures: Any) -> None:
        """Keep a row, and print it at once."""
        self.rows.append((name, value))
        self.figures[name] = figures
        print(f"{name}: {value}", file=sys.stderr)

    def grow(self, what: str, sizes: list[int], make: Callable[[int], dict[str, Any]]) -> None:
        """Time builds of several sizes, and what the larger ones cost more."""
        builds = [self.build(**make(size)) for size in sizes]
        costs = []
        for small, large in pairwise(builds):
            costs.append((large["seconds"] - small["seconds"]) / (large["images"] - small["images"]) * 1e6)
        names = [f"{size:,}" for size in sizes]
        for (small_name, large_name), cost in zip(pairwise(names), costs, strict=True):
            self.row(f"{what}: {small_name} to {large_name}", f"{cost:.1f} us an output", us=cost)
        self.row(f"{what}: largest step against the first", f"{costs[-1] / costs[0]:.3f}", ratio=costs[-1] / costs[0])
        peaks = [f"{b['peak'] / 1e6:.0f}" for b in builds]
        self.row(f"{what}: peak memory at {', '.join(names)}", f"{', '.join(peaks)} MB", peaks=[b["peak"] for b in builds])


def many_sets(path: Path, count: int) -> str:
    """Write a recipe of `count` sets of one kind of work."""
    lines = ['name = "many"', 'version = "1"', 'calibration = "cifar"', "[preprocessing]", 'kind = "none"', "[encoding]", 'format = "png"']
    for i in range(count):
        stage = f'{{ corruption = "gaussian_noise", parameters = {{ sigma = {0.02 + i / 10_000:.4f} }} }}'
        lines += ["[[sets]]", f'id = "noise-{i:04d}"', f"chain = [{stage}]"]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return str(path)


def first_part(source: str, out: Path, jobs: int) -> float:
    """Return the seconds from the command to its first committed part; it is let go on to its end."""
    program = str(Path(sys.executable).with_name("corruptset"))
    command = [program, "build", "imagenet-c", "--source", source, "--out", str(out), "--jobs", str(jobs)]
    start = time.perf_counter()
    process = subprocess.Popen([*command, "--json"], stdout=subprocess.DEVNULL, env=as_installed())
    parts = out / "imagenet-c-1.0.0" / ".corruptset" / "parts"
    while not any(parts.glob("*.json")):
        if process.poll() not in (None, 0):
            raise SystemExit(f"the build ended with {process.returncode}")
        time.sleep(0.002)
    found = time.perf_counter() - start
    process.wait()
    return found


def compile_seconds(source: str, out: Path, jobs: int) -> float:
    """Return the seconds that a first build spends compiling, its caches empty."""
    with tempfile.TemporaryDirectory() as cache:
        task = {"recipe": "imagenet-c-all", "source": source, "out": str(out), "jobs": jobs}
        environment = {**as_installed(), "CORRUPTSET_CACHE": cache}
        done = subprocess.run([sys.executable, "-c", COMPILE, json.dumps(task)], check=True, stdout=subprocess.PIPE, env=environment)
    return float(json.loads(done.stdout))


def large_photographs(folder: Path, count: int) -> str:
    """Write JPEGs of 6000x4000."""
    source = open_source("sample")
    (folder / "all").mkdir(parents=True)
    for i, sample in enumerate(source.samples[:count]):
        Image.fromarray(source.load(sample).image).resize((6000, 4000)).save(folder / "all" / f"{i}.jpg", quality=90)
    return f"folder:{folder}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--only", nargs="+", choices=("start", "compile", "images", "sets", "workers", "memory"))
    parser.add_argument("--json", type=Path, help="write the figures to this file as well")
    arguments = parser.parse_args()

    def wanted(name: str) -> bool:
        return arguments.only is None or name in arguments.only

    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        growth = Growth(work, arguments.repeats)
        child("stages", recipe="imagenet-c-all", source="sample", out=str(work / "warm"), jobs=2, stages=False)
        if wanted("start"):
            for jobs in (1, 2):
                times = [first_part("sample", work / f"start {jobs} {i}", jobs) for i in range(5)]
                growth.row(f"start to the first committed part, --jobs {jobs}", f"{statistics.median(times):.2f} s", seconds=times)
        if wanted("compile"):
            for jobs in (2, 1):
                seconds = compile_seconds("sample", work / f"compile {jobs}", jobs)
                growth.row(f"cold compile of imagenet-c-all, --jobs {jobs}", f"{seconds:.1f} s", seconds=seconds)
        if wanted("images"):
            small = {"recipe": "cifar10-c", "format": "hdf5", "sets": [f"{name}/3" for name in SMALL]}
            growth.grow(
                "images of 32x32, 9 sets",
                [1_000, 5_000, 20_000, 50_000],
                lambda n: {**small, "source": photographs.cifar(work / f"cifar-{n}.tar.gz", n)},
            )
            large = {"recipe": "imagenet-c", "format": "folder", "sets": [f"{name}/3" for name in SMALL], "metrics": 0}
            growth.grow(
                "JPEGs of 500x375 to 224x224, 9 sets",
                [100, 500, 2_000],
                lambda n: {**large, "source": photographs.photographs(work / f"photographs-{n}", n)},
            )
        if wanted("sets"):
            source = photographs.cifar(work / "cifar-sets.tar.gz", 2_000)
            growth.grow(
                "sets of 2,000 images of 32x32",
                [5, 75, 500],
                lambda n: {"recipe": many_sets(work / f"many-{n}.toml", n), "source": source, "format": "hdf5"},
            )
        if wanted("workers"):
            for recipe, source, format in (
                ("imagenet-c", photographs.photographs(work / "photographs-w", 512), "folder"),
                ("cifar10-c", photographs.cifar(work / "cifar-w.tar.gz", 10_000), "hdf5"),
            ):
                task = {"recipe": recipe, "source": source, "format": format}
                one, two = (growth.build(**task, jobs=jobs)["seconds"] for jobs in (1, 2))
                growth.row(f"{recipe}: two workers against one", f"{one / two:.2f} times as fast", one=one, two=two)
                both = growth.at_once(task)
                growth.row(f"{recipe}: two separate builds at once, which nothing holds together", f"{2 * one / both:.2f} times", both=both)
        if wanted("memory"):
            source = large_photographs(work / "large", 8)
            plan = corruptset.plan("imagenet-c", source)
            done = growth.build(recipe="imagenet-c", source=source, format="folder")
            value = f"{done['peak'] / 1e6:.0f} MB; plan says {plan.memory_per_worker / 1e6:.0f} MB"
            growth.row("peak memory with inputs of 6000x4000", value, peak=done["peak"], planned=plan.memory_per_worker)
    table = Table(title=f"growth; the faster of {arguments.repeats} builds, medians of 5 starts", title_justify="left")
    table.add_column("what")
    table.add_column("measured", justify="right")
    for name, value in growth.rows:
        table.add_row(name, value)
    Console(width=130).print(table)
    if arguments.json:
        arguments.json.write_text(json.dumps(growth.figures, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
