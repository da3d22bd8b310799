"""Kill the workers, the scheduler or the client of builds by Dask at random moments, resume them, and compare every
byte.

    python tests/faults/killing_clusters.py --moments 30

Real processes and SIGKILL, after a number of committed parts that is drawn from the whole build and up to 0.2 s later.
A scheduler and two workers (another is started for one that is killed) make a small build whose source takes its time.
What was committed must be found again untouched.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parent))

import layouts
from children import LIMIT_S, Child, committed, difference
from clusters import Cluster, LedSource
from killing import RECIPE
from layouts import files_of

WAYS = ("worker", "scheduler", "client", "worker and client")
PARTS = 32


class Harness:
    """Builds of one small source by Dask, each in a forked child."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.recipe = folder / "recipe.toml"
        self.recipe.write_text(RECIPE)
        self.script = folder / "script"
        self.script.write_text("sleep 0.01")
        layouts.write_crops(folder / "source", each=3)
        import distributed  # noqa: F401  # children inherit it, and the kernels

        assert self.make("whole", None) == 0
        self.whole = files_of(folder / "whole")
        self.counts: Counter[str] = Counter()
        self.wrong: list[str] = []

    def make(self, out: str, scheduler: str | None, seen: Path | None = None) -> int:
        """Build in this process; note what is committed before the end."""
        from corruptset.errors import CorruptsetError
        from corruptset.generate.build import build

        def look(event: Any) -> None:
            if event.phase == "finishing" and seen is not None:
                seen.write_text(json.dumps(committed(self.folder / out)))

        try:
            source = LedSource(self.folder / "source", self.script)
            build(self.recipe, source, self.folder / out, scheduler=scheduler, jobs=1, progress=look)
        except CorruptsetError as e:
            print(e, file=sys.stderr)
            return e.exit_code
        return 0

    def moment(self, cluster: Cluster, way: str, parts: int, later: float) -> None:
        """Kill at one moment, resume and compare."""
        out = self.folder / "out"
        shutil.rmtree(out, ignore_errors=True)
        cluster.kill(*[pid for pid in cluster.pids if pid != cluster.scheduler])
        workers = [cluster.add(), cluster.add()]
        child = Child(lambda: self.make("out", cluster.address), self.folder / "said")
        deadline = time.monotonic() + LIMIT_S
        while len(committed(out) or ()) < parts and child.poll() is None and time.monotonic() < deadline:
            time.sleep(0.001)
        time.sleep(later)
        if "worker" in way:
            cluster.kill(workers[parts % 2])
            cluster.add(wait=False)
        if way == "scheduler":
            cluster.kill(cluster.scheduler)
        if "client" in way and child.poll() is None:
            os.kill(child.pid, signal.SIGKILL)
        where = f"{way}, after {parts} parts and {later:.3f} s"
        code = child.wait()
        expected = {"worker": (0,), "scheduler": (3,)}.get(way, (-9,))
        self.counts[f"{way}: exit code {code}"] += 1
        if code not in (*expected, 0) or "Traceback" in child.said():
            self.wrong.append(f"{where}: exit code {code}: {child.said()}")
        if way == "scheduler":
            cluster.start_scheduler()
            cluster.add()
        self._resume(cluster, where)

    def _resume(self, cluster: Cluster, where: str) -> None:
        """Run the same again at once, beside what workers of the killed one still make."""
        out, seen = self.folder / "out", self.folder / "seen.json"
        seen.unlink(missing_ok=True)
        before = committed(out)
        child = Child(lambda: self.make("out", cluster.address, seen), self.folder / "said")
        if child.wait() != 0:
            self.wrong.append(f"{where}: the resume failed: {child.said()}")
            return
        after = json.loads(seen.read_text()) if seen.exists() else {}
        redone = [part for part, stamp in (before or {}).items() if after.get(part) != stamp]
        if redone:
            self.wrong.append(f"{where}: made again though committed: {redone}")
        self.counts["committed parts found again untouched"] += len(before or ()) - len(redone)
        files = files_of(out)
        self.counts["files compared"] += len(files)
        if (problem := difference(files, self.whole)) is not None:
            self.wrong.append(f"{where}: {problem}")


def run(folder: Path, moments: int, seed: int) -> Harness:
    """Kill at so many moments, spread evenly over the build."""
    rng = random.Random(seed)
    harness = Harness(folder)
    begin = (
        "from corruptset.generate.build import build\n"
        f"build({str(harness.recipe)!r}, 'folder:{folder}/source', {str(folder / 'first')!r}, jobs=1)"
    )
    with Cluster(folder / "cluster", begin) as cluster:
        for number in range(moments):
            parts = int(PARTS * (number + rng.random()) / moments)
            harness.moment(cluster, WAYS[number % len(WAYS)], parts, rng.random() * 0.2)
            print(f"{number + 1} moments, {len(harness.wrong)} wrong", *harness.wrong[-1:], flush=True)
    return harness


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--moments", type=int, default=30)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args(arguments)
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if os.access(memory, os.W_OK) else None) as folder:
        started = time.monotonic()
        harness = run(Path(folder), given.moments, given.seed)
        for name, count in sorted(harness.counts.items()):
            print(f"{name}: {count}")
        print(f"{given.moments} moments, {len(harness.wrong)} wrong, {time.monotonic() - started:.0f} s")
    return bool(harness.wrong)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
