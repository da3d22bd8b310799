"""The same data set by every way of building it: ``python tests/sameness/ways.py --images 200``.

imagenet-c of photographs that are made for it, by one process, by two, by the jobs of an array, and by Dask with three
workers of which two are killed. Prints the digest of each, and exits 1 where two differ, or two files of the builds.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from clusters import Cluster
from layouts import files_of

import corruptset
from benchmarks import sources

RECIPE = "imagenet-c"
SHARES = 7


def one_process(source: str, out: Path) -> str:
    return corruptset.build(RECIPE, source, out, jobs=1, progress=False).digest


def two_processes(source: str, out: Path) -> str:
    return corruptset.build(RECIPE, source, out, jobs=2, progress=False).digest


def array_jobs(source: str, out: Path) -> str:
    """Make seven shares, two at a time, the last first, then finish."""
    command = [
        sys.executable,
        "-m",
        "corruptset",
        "build",
        RECIPE,
        "--source",
        source,
        "--out",
        str(out),
        "--jobs",
        "1",
    ]
    for pair in ((6, 3), (0, 5), (1, 4), (2, 6)):
        shares = ([*command, "--part", f"{i}/{SHARES}"] for i in pair)
        jobs = [subprocess.Popen(share, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) for share in shares]
        assert [job.wait() for job in jobs] == [0] * len(jobs)
    return corruptset.build(RECIPE, source, out, finish=True, progress=False).digest


def dask(source: str, out: Path) -> str:
    """Kill two of three workers while they work, and start others."""
    with Cluster(out.parent / "cluster") as cluster:
        workers = [cluster.add() for _ in range(3)]

        def kill() -> None:
            for worker in workers[:2]:
                while len(list(out.glob("*/.corruptset/parts/*.json"))) < 4:
                    time.sleep(0.1)
                time.sleep(2)
                cluster.kill(worker)
                cluster.add(wait=False)

        killer = threading.Thread(target=kill)
        killer.start()
        digest = corruptset.build(RECIPE, source, out, scheduler=cluster.address, progress=False).digest
        killer.join()
    return digest


WAYS: dict[str, Callable[[str, Path], str]] = {
    "one process": one_process,
    "two processes": two_processes,
    f"array of {SHARES} jobs": array_jobs,
    "Dask, two of three workers killed": dask,
}


def main() -> int:
    """Build by every way, and compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--images", type=int, default=200)
    given = parser.parse_args()
    digests, files, first = set(), set(), None
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        source = sources.photographs(root / "source", given.images)
        for name, way in WAYS.items():
            started = time.monotonic()
            out = root / name.split(",")[0].replace(" ", "_")
            digest = way(source, out)
            digests.add(digest)
            found = files_of(out)
            first = first or found
            same = "every file equal to the first" if found == first else "FILES DIFFER"
            files.add(found == first)
            print(f"{name:36s} {digest}  {same}  {time.monotonic() - started:.0f} s", flush=True)
    return 0 if len(digests) == 1 and files == {True} else 1


if __name__ == "__main__":
    sys.exit(main())
