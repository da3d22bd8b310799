"""Kill the workers, the scheduler or the client of builds by Dask at random moments, resume them, and compare every
byte.

    python tests/faults/killing_clusters.py --moments 30

Real processes and SIGKILL, after a number of committed parts that is drawn from the whole build and up to 0.2 s later.
A scheduler and two workers (another is started for one that is killed) make a small build whose source takes its time.
What was committed must be found again untouched.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from children import RECIPE, Builds, committed_parts, memory_folder, parse_arguments
from clusters import Cluster, ScriptedSource
from small_builds import read_files

WAYS = {"worker": 0, "scheduler": 3, "client": -9, "worker and client": -9}
"""Killed process -> exit code of the client, unless the build ends before."""
PARTS = 32


class Clustered(Builds):
    """Builds with Dask, each in a forked child."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        import distributed  # noqa: F401  # children inherit it, and the kernels

        self.make("folder", folder / "whole")
        self.whole["folder"] = read_files(folder / "whole")
        (folder / "script").write_text("sleep 0.01")
        self.source = ScriptedSource(folder / "source", folder / "script")

    def moment(self, cluster: Cluster, way: str, parts: int, later: float) -> None:
        """Kill a process at one moment, resume the build, and compare the result."""
        shutil.rmtree(self.out, ignore_errors=True)
        cluster.kill(*[pid for pid in cluster.pids if pid != cluster.scheduler])
        workers = [cluster.add(), cluster.add()]
        child = self.child("folder", scheduler=cluster.address)
        child.wait(lambda: len(committed_parts(self.out) or ()) >= parts)
        time.sleep(later)
        if "worker" in way:
            cluster.kill(workers[parts % 2])
            cluster.add(wait=False)
        if way == "scheduler":
            cluster.kill(cluster.scheduler)
        if "client" in way and child.poll() is None:
            os.kill(child.pid, signal.SIGKILL)
        location, code = f"{way}, after {parts} parts and {later:.3f} s", child.wait()
        self.counts[f"{way}: exit code {code}"] += 1
        lost = "The connection to the scheduler was lost" not in child.output() and code == 3
        if code not in (WAYS[way], 0) or "Traceback" in child.output() or lost:
            self.wrong.append(f"{location}: exit code {code}: {child.output()}")
        if way == "scheduler":
            cluster.start_scheduler()
            cluster.add()
        # immediately, while workers of the killed build are still running
        self.resume(location, "folder", scheduler=cluster.address)


def main() -> int:
    arguments = parse_arguments(__doc__, 30)
    rng = random.Random(arguments.seed)
    with memory_folder() as folder:
        builds = Clustered(folder)
        (folder / "recipe.toml").write_text(RECIPE)
        startup_code = (
            "from corruptset.generate.build import build\n"
            f"build({str(folder / 'recipe.toml')!r}, 'folder:{folder}/source', {str(folder / 'first')!r}, jobs=1)"
        )
        with Cluster(folder / "cluster", startup_code) as cluster:
            for number in range(arguments.moments):
                parts = int(PARTS * (number + rng.random()) / arguments.moments)
                builds.moment(cluster, list(WAYS)[number % len(WAYS)], parts, rng.random() * 0.2)
        return builds.report("moments", arguments.moments)


if __name__ == "__main__":
    sys.exit(main())
