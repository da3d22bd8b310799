"""Kill builds at random moments, resume them, and compare every byte with a build that nobody stopped.

    python tests/faults/killing.py --moments 270           every sink and every way to stop, counts printed
    python tests/faults/killing.py --early 20              Ctrl-C while workers are being started

Real processes and real signals. The harness imports the package once and forks a child for each build, so that a moment
costs about a second: the child leads a process group of its own, makes the build, and is stopped at a moment drawn from
the whole length of such a build. With two jobs it has loky workers, which are processes of their own. Moments are drawn
from a seed; a moment that comes after a build's end is counted apart.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from children import Builds, Child, committed_parts, memory_folder, parse_arguments, wait_for_end, workers_of
from small_builds import read_files

WAYS = {
    "main": (signal.SIGKILL, {-9}),
    "all": (signal.SIGKILL, {-9}),
    "worker": (signal.SIGKILL, {0, 3}),
    "term": (signal.SIGTERM, {130, 0}),
    "int": (signal.SIGINT, {130, 0}),
}
"""Ways to stop a build, with the exit codes that may follow: SIGKILL of the first process, of its group or of one
worker, SIGTERM, and Ctrl-C to the group.
"""
SINKS = ("folder", "hdf5")
WITH_WORKERS = 0.08
"""The fraction of moments that use two jobs. `worker` always uses two."""
BY_TIME = 0.25
"""The fraction of moments at a given time. The others follow a number of committed parts by up to 50 ms."""


@dataclass(frozen=True)
class Stop:
    """How and when a build is stopped."""

    sink: str
    way: str
    jobs: int
    share: float
    """A fraction of the duration of an undisturbed build, or of its parts."""
    by_time: bool
    later: float
    """Seconds after this number of committed parts, or after the build has reached `phase`."""
    phase: str = ""


class Harness(Builds):
    """Builds that are stopped once, and resumed."""

    def prepare(self, sink: str, jobs: Sequence[int] = (1, 2)) -> None:
        """Run the undisturbed build, and measure its duration with each number of jobs."""
        if not self.whole:
            self.make("folder", self.folder / "warm")  # kernels are loaded once, and inherited by children
            self.length: dict[tuple[str, int], float] = {}
            self.parts: dict[str, int] = {}
        for count in jobs:
            shutil.rmtree(self.out, ignore_errors=True)
            started = time.monotonic()
            child = self.child(sink, jobs=count)
            assert child.wait() == 0, child.output()
            self.length[sink, count] = time.monotonic() - started
            self.parts[sink] = int(self.notes.read_text().split()[1])
            files = read_files(self.out)
            assert self.whole.setdefault(sink, files) == files, "one and two jobs differ"

    def stop(self, stop: Stop) -> None:
        """Stop a build, resume it, and compare the result."""
        shutil.rmtree(self.out, ignore_errors=True)
        self.notes.unlink(missing_ok=True)
        ends = time.monotonic() + stop.share * self.length[stop.sink, stop.jobs]
        expected = round(stop.share * self.parts[stop.sink])
        process = self.child(stop.sink, jobs=stop.jobs)
        if stop.phase:
            process.wait(lambda: self.phase() == stop.phase)
        elif stop.by_time:
            process.wait(lambda: time.monotonic() > ends)
        else:
            process.wait(lambda: len(committed_parts(self.out) or ()) >= expected)
        time.sleep(0 if stop.by_time else stop.later)
        hit = self._signal(process, stop)
        code, phase = process.wait(), self.phase()
        location = f"{stop.sink}, {stop.way}, {stop.jobs} jobs, at {stop.share:.3f} of the build ({phase})"
        self.counts[f"{stop.sink}, {stop.way}"] += 1
        if not hit or (phase == "done" and code == 0):  # it had already begun to end
            self.counts["after the build's end"] += 1
        else:
            self.counts[f"stopped while {phase}"] += 1
            if code not in WAYS[stop.way][1]:
                self.wrong.append(f"{location}: exit code {code}: {process.output()}")
            if code == 130 and "same command again to resume" not in process.output():
                self.wrong.append(f"{location}: does not say how to resume: {process.output()}")
        # Python prints "Exception ignored" if a signal arrives in a destructor, and continues
        if "Traceback" in process.output() and "Exception ignored" not in process.output():
            self.wrong.append(f"{location}: a traceback: {process.output()}")
        # its workers end without a signal, which must happen before sidecars are read
        if stop.way == "main" and not wait_for_end(process.pid):
            self.wrong.append(f"{location}: workers outlived their parent")
        self.resume(location, stop.sink)

    def _signal(self, process: Child, stop: Stop) -> bool:
        """Send the signal, and return whether a process received it."""
        number, victims = WAYS[stop.way][0], [process.pid]
        if stop.way == "worker":
            process.wait(lambda: workers_of(process.pid))
            victims = workers_of(process.pid)
        if process.poll() is not None or not victims:
            return False
        try:
            victim = random.Random(repr(stop)).choice(victims)
            os.killpg(victim, number) if stop.way in ("all", "int") else os.kill(victim, number)
        except ProcessLookupError:
            return stop.way == "worker"
        return True


def plan_stops(moments: int, seed: int, sinks: Sequence[str] = SINKS) -> list[Stop]:
    """Return moments over all sinks and ways, spread evenly over the build with a random step."""
    rng = random.Random(seed)
    stops = []
    # starting workers takes seconds, so fewer moments use them; otherwise builds with one job are the same
    others = [way for way in WAYS if way != "worker"]
    keys = [(sink, way) for way in (*others, "worker", *others) for sink in sinks]
    for sink, way in dict.fromkeys(keys):
        count = sum(keys[i % len(keys)] == (sink, way) for i in range(moments))
        for k in range(count):
            jobs = 2 if way == "worker" or rng.random() < WITH_WORKERS else 1
            by_time = rng.random() < BY_TIME
            stops.append(Stop(sink, way, jobs, (k + rng.random()) / count * 0.98, by_time, rng.random() * 0.05))
    rng.shuffle(stops)
    return stops


def main() -> int:
    arguments = parse_arguments(__doc__, 270, early=0, sinks=",".join(SINKS))
    with memory_folder() as folder:
        harness, sinks, moments = Harness(folder), arguments.sinks.split(","), arguments.early or arguments.moments
        stops = [] if arguments.early else plan_stops(arguments.moments, arguments.seed, sinks)
        for sink in sinks if stops else ["folder"]:
            harness.prepare(sink, sorted({s.jobs for s in stops if s.sink == sink}) or [2])
        for k in range(arguments.early):  # while workers start, in the first half of the duration
            later = (k + 0.5) / arguments.early * harness.length["folder", 2] / 2
            stops.append(Stop("folder", "int", 2, 0.0, False, later, "building"))
        for stop in stops:
            harness.stop(stop)
        return harness.report("moments", moments)


if __name__ == "__main__":
    sys.exit(main())
