"""Kill builds at random moments, resume them, and compare every byte with a build that nobody stopped.

    python tests/faults/killing.py --moments 270           every sink and every way to stop, counts printed
    python tests/faults/killing.py --early 20              Ctrl-C while workers are being started

Real processes and real signals. The harness imports the package once and forks a child for each build, so that a moment
costs about a second: the child leads a process group of its own, makes the build, and is stopped at a moment drawn from
the whole length of such a build. With two jobs it has loky workers, which are processes of their own. Moments are drawn
from a seed; a moment that comes after a build's end is counted apart.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parent))

import layouts
from children import LIMIT_S, Child, Noting, committed, difference, wait_for_end, workers_of
from layouts import files_of

from corruptset.manifests.layout import FINISH

WAYS = ("main", "all", "worker", "term", "int")
"""SIGKILL of the process that was started, of its whole group, of one worker; SIGTERM to it; Ctrl-C, which goes to the
group.
"""
SINKS = ("folder", "hdf5", "view")
WITH_WORKERS = 0.08
"""Share of the moments of `main`, `all`, `term` and `int` with two jobs; `worker` always has them."""
BY_TIME = 0.25
"""Share of the moments that are at a time; the others are when so many parts are committed, and up to 50 ms later."""

RECIPE = """
name = "kill"
version = "1.0.0"
title = "To be killed"
calibration = "cifar"

[preprocessing]
kind = "none"
channels = "rgb"

[encoding]
format = "png"

[[sets]]
corruptions = ["contrast", "brightness", "gaussian_noise"]
"""


@dataclass(frozen=True)
class Stop:
    """How and when a build is stopped."""

    sink: str
    way: str
    jobs: int
    share: float
    """Of the length of a build that nobody stops, or of its parts."""
    by_time: bool
    later: float
    """Seconds after so many parts are committed, or after the build is in `phase`."""
    phase: str = ""


@dataclass
class Counts:
    """What became of the moments."""

    stops: Counter[str] = field(default_factory=Counter)
    done_before: int = 0
    during: Counter[str] = field(default_factory=Counter)
    committed_kept: int = 0
    files_compared: int = 0
    wrong: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        lines = [f"{name}: {count} moments" for name, count in sorted(self.stops.items())]
        lines.append(f"stopped while: {', '.join(f'{name} {count}' for name, count in self.during.most_common())}")
        lines.append(
            f"{sum(self.stops.values())} moments, {self.done_before} of them after the build's end; "
            f"{self.committed_kept} committed parts found again untouched, {self.files_compared} files compared, "
            f"{len(self.wrong)} moments wrong"
        )
        return "\n".join(lines + self.wrong)


class Harness:
    """Builds of one small source in forked children.

    Parameters
    ----------
    folder : Path
        Where everything goes.
    each : int
        Images of each of the ten classes.
    """

    def __init__(self, folder: Path, *, each: int = 3) -> None:
        from corruptset.generate.recipes.recipe import parse_recipe

        self.folder = folder
        self.source = layouts.write_crops(folder / "source", each=each)
        self.recipe = parse_recipe(RECIPE, "kill")
        self.whole: dict[str, dict[str, bytes]] = {}
        self.length: dict[tuple[str, int], float] = {}
        self.parts: dict[str, int] = {}
        self._number = 0

    def prepare(self, sink: str, jobs: Sequence[int] = (1, 2)) -> None:
        """Make the build that nobody stops, and measure how long it takes in each number of jobs."""
        if not self.whole:
            self.make("folder", self.folder / "warm", 1)  # kernels are loaded here once, and children inherit them
        for count in jobs:
            out = self.folder / f"whole-{sink}-{count}"
            started = time.monotonic()
            notes = self.folder / "notes"
            child = self.child(sink, out, count, notes=notes)
            assert child.wait() == 0, child.said()
            self.length[sink, count] = time.monotonic() - started
            self.parts[sink] = int(notes.read_text().split()[1])
            files = files_of(out)
            assert self.whole.setdefault(sink, files) == files, "one and two jobs differ"
            shutil.rmtree(out)

    def make(self, sink: str, out: Path, jobs: int, progress: Callable[[Any], None] | None = None) -> None:
        """Build in this process."""
        from corruptset.generate.build import build

        where: dict[str, Any] = {"view": "cifar-c"} if sink == "view" else {"format": sink}
        build(self.recipe, f"folder:{self.source}", out, jobs=jobs, metrics=8, progress=progress, **where)

    def child(self, sink: str, out: Path, jobs: int, *, notes: Path | None = None) -> Child:
        """Build in a process group of its own."""

        def work() -> int:
            from corruptset.errors import CorruptsetError

            try:
                self.make(sink, out, jobs, Noting(notes) if notes is not None else None)
            except CorruptsetError as e:
                print(e, file=sys.stderr)
                return e.exit_code
            return 0

        self._number += 1
        return Child(work, self.folder / f"said-{self._number}")

    def stop(self, stop: Stop, counts: Counts) -> None:
        """Stop a build, resume it, and compare."""
        out = self.folder / "out"
        shutil.rmtree(out, ignore_errors=True)
        notes = self.folder / "notes"
        notes.unlink(missing_ok=True)
        process = self.child(stop.sink, out, stop.jobs, notes=notes)
        # A moment in the first parent's life; for a worker from when there is one.
        began = time.monotonic()
        if stop.phase:
            while process.poll() is None and not (notes.exists() and notes.read_text().startswith(stop.phase)):
                time.sleep(0.001)
            time.sleep(stop.later)
        elif stop.by_time:
            while time.monotonic() < began + stop.share * self.length[stop.sink, stop.jobs] and process.poll() is None:
                time.sleep(0.002)
        else:
            wanted = round(stop.share * self.parts[stop.sink])
            while len(committed(out) or ()) < wanted and process.poll() is None and time.monotonic() < began + LIMIT_S:
                time.sleep(0.001)
            time.sleep(stop.later)
        hit = self._signal(process, stop)
        code = process.wait()
        phase = (notes.read_text() or "starting").split()[0] if notes.exists() else "starting"
        hit = hit and not (phase == "done" and code == 0)  # it was on its way out already
        name = f"{stop.sink}, {stop.way}, {stop.jobs} jobs"
        counts.stops[name] += 1
        where = f"{name}, at {stop.share:.3f} of the build ({phase})"
        if not hit:
            counts.done_before += 1
        else:
            counts.during[phase] += 1
            allowed = {"main": {-9}, "all": {-9}, "worker": {0, 3}, "term": {130, 0, -15}, "int": {130, 0, -2}}[
                stop.way
            ]
            if code not in allowed:
                counts.wrong.append(f"{where}: exit code {code}: {process.said()}")
            if code == 130 and "same command again to resume" not in process.said():
                counts.wrong.append(f"{where}: does not say how to resume: {process.said()}")
        # Python says "Exception ignored" where Ctrl-C comes in the middle of a destructor, and goes on; nothing can be
        # done there.
        if "Traceback" in process.said() and "Exception ignored" not in process.said():
            counts.wrong.append(f"{where}: a traceback: {process.said()}")
        # Its workers go by themselves; to read sidecars, they must have.
        if stop.way == "main" and not wait_for_end(process.group):
            counts.wrong.append(f"{where}: workers outlived their parent")
        before = committed(out)
        settled = any(out.glob(f"*/{FINISH}"))  # the last files only have to take their places
        seen = self.folder / "seen.json"
        seen.unlink(missing_ok=True)

        def look(event: Any) -> None:
            if event.phase == "finishing":
                seen.write_text(json.dumps(committed(out)))

        def resume() -> int:
            self.make(stop.sink, out, 1, look)
            return 0

        self._number += 1
        resumed = Child(resume, self.folder / f"said-{self._number}")
        if resumed.wait() != 0:
            counts.wrong.append(f"{where}: the resume failed: {resumed.said()}")
            return
        after = json.loads(seen.read_text()) if seen.exists() else None
        if after is None and not settled and not (before is not None and not before):
            counts.wrong.append(f"{where}: the resume had nothing to finish, with {before} committed")
        redone = [part for part, stamp in (before or {}).items() if after is not None and after.get(part) != stamp]
        if redone:
            counts.wrong.append(f"{where}: made again though committed: {redone}")
        counts.committed_kept += len(before or {}) - len(redone)
        files = files_of(out)
        counts.files_compared += len(files)
        if (problem := difference(files, self.whole[stop.sink])) is not None:
            counts.wrong.append(f"{where}: {problem}")

    def _signal(self, process: Child, stop: Stop) -> bool:
        """Send the signal; return whether there was somebody to get it."""
        if stop.way == "worker":
            victims: list[int] = []
            until = time.monotonic() + LIMIT_S
            while process.poll() is None and time.monotonic() < until and not victims:
                victims = workers_of(process.pid)
                time.sleep(0.002)
            if not victims or process.poll() is not None:
                return False
            with contextlib.suppress(ProcessLookupError):
                os.kill(random.Random(repr(stop)).choice(victims), signal.SIGKILL)
            return True
        if process.poll() is not None:
            return False
        number = {"main": signal.SIGKILL, "all": signal.SIGKILL, "term": signal.SIGTERM, "int": signal.SIGINT}[stop.way]
        if stop.way in ("all", "int"):
            os.killpg(process.group, number)
        else:
            os.kill(process.pid, number)
        return True


def planned(moments: int, seed: int, sinks: Sequence[str] = SINKS) -> list[Stop]:
    """Return moments over all sinks and ways, spread evenly over the build with a random step."""
    rng = random.Random(seed)
    stops = []
    # Workers take seconds to start, so fewer moments have them: a build's other moments are the same with one job.
    keys = [(sink, way) for way in (*WAYS[:2], *WAYS[3:], *WAYS[:2], *WAYS[3:], WAYS[2]) for sink in sinks]
    each: dict[tuple[str, str], list[int]] = {}
    for i in range(moments):
        each.setdefault(keys[i % len(keys)], []).append(i)
    for (sink, way), numbers in each.items():
        for k, _ in enumerate(numbers):
            jobs = 2 if way == "worker" or rng.random() < WITH_WORKERS else 1
            by_time = rng.random() < BY_TIME
            stops.append(Stop(sink, way, jobs, (k + rng.random()) / len(numbers) * 0.98, by_time, rng.random() * 0.05))
    rng.shuffle(stops)
    return stops


def early(moments: int, length: float) -> list[Stop]:
    """Return moments of Ctrl-C while the workers of a build are started: in the first half of its length."""
    return [Stop("folder", "int", 2, 0.0, False, (k + 0.5) / moments * length / 2, "building") for k in range(moments)]


def run_early(folder: Path, moments: int) -> Counts:
    """Interrupt builds while their workers start."""
    harness = Harness(folder)
    harness.prepare("folder", [2])
    counts = Counts()
    for stop in early(moments, harness.length["folder", 2]):
        harness.stop(stop, counts)
    return counts


def run(folder: Path, stops: Sequence[Stop], tell: Callable[[str], None] = lambda line: None) -> Counts:
    """Stop, resume and compare for each of the moments."""
    harness = Harness(folder)
    for sink in dict.fromkeys(s.sink for s in stops):
        harness.prepare(sink, sorted({s.jobs for s in stops if s.sink == sink}))
    tell(f"a build has: {', '.join(f'{sink} {n} parts' for sink, n in harness.parts.items())}")
    tell(
        "a build takes: "
        f"{', '.join(f'{sink} with {jobs} jobs {s:.2f} s' for (sink, jobs), s in harness.length.items())}"
    )
    counts = Counts()
    for stop in stops:
        known = len(counts.wrong)
        harness.stop(stop, counts)
        for line in counts.wrong[known:]:
            tell(line)
    return counts


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--moments", type=int, default=270)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--early", type=int, default=0, help="instead, so many moments of Ctrl-C while workers start")
    parser.add_argument("--sinks", default=",".join(SINKS))
    given = parser.parse_args(arguments)
    # In memory where the system has such a folder: what is tested is the order of writes, not the disk's speed.
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if os.access(memory, os.W_OK) else None) as folder:
        started = time.monotonic()
        if given.early:
            counts = run_early(Path(folder), given.early)
        else:
            stops = planned(given.moments, given.seed, given.sinks.split(","))
            counts = run(Path(folder), stops, lambda line: print(line, flush=True))
        print(counts)
        print(f"{time.monotonic() - started:.0f} s")
    return bool(counts.wrong)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
