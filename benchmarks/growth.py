"""How time and memory grow with images, sets and workers, and how long a start takes: ``python -m benchmarks.growth``.

Every build runs in a process of its own. A row's cost is what more work costs: the difference of two builds' seconds by the difference of
their outputs, without the cost of a start; starts have rows of their own.
"""

from __future__ import annotations

import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import count, pairwise
from pathlib import Path
from typing import Any

from PIL import Image

import corruptset
from corruptset.generate.sources.source import open_source

from . import sources
from .timing import as_installed, child, options, save

KINDS = "gaussian_noise impulse_noise defocus_blur motion_blur snow fog contrast elastic_transform jpeg_compression"
NINE = [f"{name}/3" for name in KINDS.split()]


class Growth:
    """Runs the builds, prints a row for each result and keeps its figures."""

    def __init__(self, work: Path, repeats: int) -> None:
        self.work, self.repeats = work, repeats
        self.figures: dict[str, Any] = {}
        self._numbers = count()

    def folder(self) -> Path:
        """Return a new folder's path."""
        return self.work / str(next(self._numbers))

    def build(self, **task: Any) -> dict[str, Any]:
        """Return the fastest of several builds: a disturbance makes a build slower, never faster."""
        builds = []
        for _ in range(self.repeats):
            out = self.folder()
            builds.append(child("job", {"jobs": 1, **task, "out": str(out)}))
            if task["format"] != "folder":  # those stay: files are dear to make where many were deleted, see pipeline.py
                shutil.rmtree(out)
        return min(builds, key=lambda b: b["seconds"])

    def row(self, name: str, value: str, **figures: Any) -> None:
        """Print a row and keep its figures."""
        print(f"{name}: {value}", flush=True)
        self.figures[name] = figures

    def grow(self, what: str, sizes: Sequence[int], task: Callable[[int], dict[str, Any]]) -> None:
        """Time builds of several sizes, and what the larger ones cost more."""
        builds = [self.build(**task(size)) for size in sizes]
        names = [f"{size:,}" for size in sizes]
        costs = [(b["seconds"] - a["seconds"]) / (b["images"] - a["images"]) * 1e6 for a, b in pairwise(builds)]
        for (small, large), cost in zip(pairwise(names), costs, strict=True):
            self.row(f"{what}: {small} to {large}", f"{cost:.1f} us an output", us=cost)
        self.row(f"{what}: largest step against the first", f"{costs[-1] / costs[0]:.3f}", ratio=costs[-1] / costs[0])
        peaks = ", ".join(f"{b['peak'] / 1e6:.0f}" for b in builds)
        self.row(f"{what}: peak memory at {', '.join(names)}", f"{peaks} MB", peaks=[b["peak"] for b in builds])


def start(growth: Growth) -> None:
    """Time from the command to its first committed part."""
    for jobs in (1, 2):
        times = [_first_part(growth.folder(), jobs) for _ in range(5)]
        growth.row(f"start to the first committed part, --jobs {jobs}", f"{statistics.median(times):.2f} s", seconds=times)


def _first_part(out: Path, jobs: int) -> float:
    program = str(Path(sys.executable).with_name("corruptset"))
    command = [program, "build", "imagenet-c", "--source", "sample", "--out", str(out), "--jobs", str(jobs), "--json"]
    begin = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, env=as_installed())
    parts = out / "imagenet-c-1.1.0" / ".corruptset" / "parts"
    while not any(parts.glob("*.json")):
        if process.poll() not in (None, 0):
            raise SystemExit(f"the build ended with {process.returncode}")
        time.sleep(0.002)
    seconds = time.perf_counter() - begin
    process.wait()
    return seconds


def compiling(growth: Growth) -> None:
    """Time how long a first build compiles, its caches empty."""
    for jobs in (2, 1):
        task = {"recipe": "imagenet-c-all", "source": "sample", "out": str(growth.folder()), "jobs": jobs, "phases": True}
        with tempfile.TemporaryDirectory() as cache:
            phases = child("job", task, CORRUPTSET_CACHE=cache)["phases"]
        seconds = phases["building"] - phases["compiling"]
        growth.row(f"cold compile of imagenet-c-all, --jobs {jobs}", f"{seconds:.1f} s", seconds=seconds)


def images(growth: Growth) -> None:
    """Time builds of more and more images."""
    small = {"recipe": "cifar10-c", "format": "hdf5", "sets": NINE}
    sizes = (1_000, 5_000, 20_000, 50_000)
    growth.grow("images of 32x32, 9 sets", sizes, lambda n: {**small, "source": sources.cifar(growth.folder(), n)})
    large = {"recipe": "imagenet-c", "format": "folder", "sets": NINE, "metrics": 0}
    sizes = (100, 500, 2_000)
    growth.grow("JPEGs of 500x375 to 224x224, 9 sets", sizes, lambda n: {**large, "source": sources.photographs(growth.folder(), n)})


def sets(growth: Growth) -> None:
    """Time builds of more and more sets of one kind of work."""
    source = sources.cifar(growth.folder(), 2_000)

    def recipe(size: int) -> dict[str, Any]:
        lines = ['name = "many"', 'version = "1"', 'calibration = "cifar"', '[preprocessing]\nkind = "none"', '[encoding]\nformat = "png"']
        for i in range(size):
            stage = f'{{ corruption = "gaussian_noise", parameters = {{ sigma = {0.02 + i / 10_000:.4f} }} }}'
            lines.append(f'[[sets]]\nid = "noise-{i:04d}"\nchain = [{stage}]')
        path = growth.folder().with_suffix(".toml")
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return {"recipe": str(path), "source": source, "format": "hdf5"}

    growth.grow("sets of 2,000 images of 32x32", (5, 75, 500), recipe)


def workers(growth: Growth) -> None:
    """Compare two workers with one, and with two builds side by side, the most that two cores of this machine can do."""
    for recipe, source, container in (
        ("imagenet-c", sources.photographs(growth.folder(), 512), "folder"),
        ("cifar10-c", sources.cifar(growth.folder(), 10_000), "hdf5"),
    ):
        task = {"recipe": recipe, "source": source, "format": container}
        one, two = (growth.build(**task, jobs=jobs)["seconds"] for jobs in (1, 2))
        growth.row(f"{recipe}: two workers against one", f"{one / two:.2f} times as fast", one=one, two=two)
        with ThreadPoolExecutor(2) as threads:
            apart = max(b["seconds"] for b in threads.map(lambda _, task=task: growth.build(**task), range(2)))  # type: ignore[misc]
        growth.row(f"{recipe}: two separate builds at once, which nothing holds together", f"{2 * one / apart:.2f} times", both=apart)


def memory(growth: Growth) -> None:
    """Measure a build's memory with inputs of 6000x4000."""
    pictures, folder = open_source("sample"), growth.folder()
    (folder / "all").mkdir(parents=True)
    for i, sample in enumerate(pictures.samples[:8]):
        Image.fromarray(pictures.load(sample).image).resize((6000, 4000)).save(folder / "all" / f"{i}.jpg", quality=90)
    source = f"folder:{folder}"
    planned = corruptset.plan("imagenet-c", source).memory_per_worker
    peak = growth.build(recipe="imagenet-c", source=source, format="folder")["peak"]
    value = f"{peak / 1e6:.0f} MB; plan says {planned / 1e6:.0f} MB"
    growth.row("peak memory with inputs of 6000x4000", value, peak=peak, planned=planned)


PARTS = {"start": start, "compile": compiling, "images": images, "sets": sets, "workers": workers, "memory": memory}


def main() -> None:
    parser = options(__doc__, repeats=2)
    parser.add_argument("--only", nargs="+", choices=tuple(PARTS))
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        growth = Growth(Path(folder), arguments.repeats)
        child("job", {"recipe": "imagenet-c-all", "source": "sample", "out": str(growth.folder()), "jobs": 2})
        for name, part in PARTS.items():
            if arguments.only is None or name in arguments.only:
                part(growth)
    save(arguments.json, growth.figures)


if __name__ == "__main__":
    main()
