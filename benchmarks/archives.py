"""`pack` and `unpack` against sha256 alone and against plain `tar`, and the memory that they take: ``python -m benchmarks.archives``.

A build of many small images (64x64 PNG of noise, 12 kB each) is made in two sizes. Everything is read from the page cache; pack and
unpack write to the disk and wait for it, as they always do, tar does not. Each runs in a process of its own. Read the ratios.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import corruptset

RECIPE = """
name = "many"
version = "1.0.0"
title = "Many small images"
calibration = "tiny"
[preprocessing]
kind = "none"
channels = "rgb"
[encoding]
format = "png"
[[sets]]
corruptions = ["gaussian_noise"]
"""
IMAGE_BYTES = 12_000
SETS = 5

RUN = """
import json, sys, time
from pathlib import Path
from corruptset.manifests.release.pack import pack
from corruptset.manifests.release.unpack import unpack

def most():
    # not getrusage, which begins with what the process had that started this one
    with open("/proc/self/status") as f:
        return next(int(line.split()[1]) for line in f if line.startswith("VmHWM")) / 1024

what, source, out = sys.argv[1:]
before = most()
started = time.perf_counter()
if what == "pack":
    pack(source, out, family=lambda name: "noise")
else:
    unpack(sorted(Path(source, "data").glob("*.tar")), out)
seconds = time.perf_counter() - started
print(json.dumps([seconds, most(), before]))
"""


def write_build(folder: Path, megabytes: int) -> Path:
    """Build about so many megabytes of small images, and return the directory."""
    count = megabytes * 1_000_000 // (SETS * IMAGE_BYTES)
    rng = np.random.default_rng(0)
    np.save(folder / "images.npy", rng.integers(0, 256, (count, 64, 64, 3), np.uint8))
    np.save(folder / "labels.npy", np.arange(count) % 100)
    (folder / "many.toml").write_text(RECIPE)
    source = f"npy:{folder / 'images.npy'},{folder / 'labels.npy'}"
    return corruptset.build(str(folder / "many.toml"), source, folder / "out", format="folder", metrics=0).directory


def files_of(directory: Path) -> list[Path]:
    """Return every file of a build."""
    return sorted(p for p in directory.rglob("*") if p.is_file())


def hashed(files: list[Path]) -> float:
    """Return the seconds of reading and hashing files, and of nothing else."""
    started = time.perf_counter()
    for path in files:
        hashlib.sha256(path.read_bytes()).digest()
    return time.perf_counter() - started


def tarred(directory: Path, out: Path) -> float:
    """Return the seconds of ``tar cf``."""
    started = time.perf_counter()
    subprocess.run(["tar", "cf", str(out), "-C", str(directory.parent), directory.name], check=True)
    seconds = time.perf_counter() - started
    out.unlink()
    return seconds


def untarred(directory: Path, folder: Path) -> float:
    """Return the seconds of ``tar xf``."""
    subprocess.run(["tar", "cf", str(folder / "plain.tar"), "-C", str(directory.parent), directory.name], check=True)
    (folder / "plain").mkdir()
    started = time.perf_counter()
    subprocess.run(["tar", "xf", str(folder / "plain.tar"), "-C", str(folder / "plain")], check=True)
    seconds = time.perf_counter() - started
    shutil.rmtree(folder / "plain")
    (folder / "plain.tar").unlink()
    return seconds


def ran(what: str, source: Path, out: Path) -> tuple[float, float, float]:
    """Run pack or unpack; return seconds, the most memory in MiB, and what it had after its imports."""
    shutil.rmtree(out, ignore_errors=True)
    done = subprocess.run([sys.executable, "-c", RUN, what, str(source), str(out)], check=True, capture_output=True, text=True)
    seconds, most, before = json.loads(done.stdout)
    return seconds, most, before


def measure(folder: Path, megabytes: int, repeats: int) -> None:
    """Make a build, measure, and print."""
    build = write_build(folder, megabytes)
    files = files_of(build)
    size = sum(p.stat().st_size for p in files) / 1e6
    hashed(files)  # from the disk into the page cache
    memory: dict[str, tuple[float, float]] = {}

    def ours(what: str, source: Path, out: Path) -> float:
        seconds, most, before = ran(what, source, out)
        memory[what] = max(memory.get(what, (0.0, 0.0)), (most, before))
        return seconds

    steps: dict[str, Callable[[], float]] = {
        "sha256": lambda: hashed(files),
        "tar cf": lambda: tarred(build, folder / "plain.tar"),
        "pack": lambda: ours("pack", build, folder / "release"),
        "tar xf": lambda: untarred(build, folder),
        "unpack": lambda: ours("unpack", folder / "release", folder / "unpacked"),
    }
    print(f"{size:.0f} MB in {len(files)} files, medians of {repeats}", flush=True)
    alone = 0.0
    for what, step in steps.items():
        median = statistics.median(step() for _ in range(repeats))
        alone = alone or median
        said = f"{what:7} {size / median:6.0f} MB/s  {median / alone:5.2f} times sha256"
        if what in memory:
            said += f"  most memory {memory[what][0]:.0f} MiB, of which {memory[what][1]:.0f} before it began"
        print(said, flush=True)


def main() -> None:
    """Measure builds of two sizes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=int, nargs="+", default=[200, 800])
    parser.add_argument("--repeats", type=int, default=3, help="of the smallest; the others are measured once")
    parser.add_argument("--folder", type=Path, help="where the builds go; by default the system's folder for temporary files")
    given = parser.parse_args()
    for megabytes in given.megabytes:
        with tempfile.TemporaryDirectory(dir=given.folder) as name:
            measure(Path(name), megabytes, given.repeats if megabytes == min(given.megabytes) else 1)


if __name__ == "__main__":
    main()
