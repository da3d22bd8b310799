"""Kill jobs of arrays at random moments, run all jobs again, finish, and compare every byte with a build of one
process.

    python tests/faults/killing_arrays.py --moments 30

Each moment is a fresh directory: jobs of one or two arrays, two at a time and some of them twice, are forked, and
stopped by SIGKILL, by SIGTERM, or not at all. Then all jobs of another array run, in any order, and the build is
finished.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parent))

import killing
from children import Child, committed, difference, wait_for_end
from layouts import files_of


class Arrays(killing.Harness):
    """Builds of the harness, made by jobs of arrays."""

    def job(self, sink: str, out: Path, **part: Any) -> Child:
        """Fork one job."""

        def work() -> int:
            from corruptset.errors import CorruptsetError
            from corruptset.generate.build import build

            where: dict[str, Any] = {"view": "cifar-c"} if sink == "view" else {"format": sink}
            try:
                build(self.recipe, f"folder:{self.source}", out, jobs=1, metrics=8, progress=False, **where, **part)
            except CorruptsetError as e:
                print(e, file=sys.stderr)
                return e.exit_code
            return 0

        self._number += 1
        return Child(work, self.folder / f"said-{self._number}")

    def moment(self, sink: str, rng: random.Random) -> tuple[int, int, list[str]]:
        """Return how many jobs were stopped, how many parts were found again, and what was wrong."""
        out = self.folder / "out"
        shutil.rmtree(out, ignore_errors=True)
        wrong: list[str] = []
        of = rng.choice([2, 3, 7])
        jobs = [(i, of) for i in range(of)] + [(rng.randrange(3), 3), (rng.randrange(of), of)]
        rng.shuffle(jobs)
        stopped = 0
        for pair in zip(jobs[::2], jobs[1::2], strict=False):
            running = [self.job(sink, out, part=part) for part in pair]
            time.sleep(rng.random() * 0.7 * self.length[sink, 1])
            for child in running:
                how = rng.choice([signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, None])
                if how is not None and child.poll() is None:
                    os.killpg(child.group, how)
                    stopped += 1
                    wait_for_end(child.group)
                code = child.wait()
                if code not in (0, -9, -15, 130):
                    wrong.append(f"{sink}, {pair}: exit code {code}: {child.said()}")
        before = committed(out) or {}
        of = rng.choice([1, 2, 5])
        for i in rng.sample(range(of), of):
            child = self.job(sink, out, part=(i, of))
            if child.wait() != 0:
                wrong.append(f"{sink}, job {i} of {of} after the kills: {child.said()}")
        after = committed(out) or {}
        redone = [name for name, stamp in before.items() if after.get(name) != stamp]
        if redone:
            wrong.append(f"{sink}: made again though committed: {redone}")
        child = self.job(sink, out, finish=True)
        if child.wait() != 0:
            wrong.append(f"{sink}: not finished: {child.said()}")
        elif (problem := difference(files_of(out), self.whole[sink])) is not None:
            wrong.append(f"{sink}: {problem}")
        return stopped, len(before), wrong


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--moments", type=int, default=30)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    rng = random.Random(arguments.seed)
    with tempfile.TemporaryDirectory() as folder:
        harness = Arrays(Path(folder))
        stopped, kept, wrong = 0, 0, []
        for number in range(arguments.moments):
            sink = killing.SINKS[number % len(killing.SINKS)]
            if sink not in harness.whole:
                harness.prepare(sink, [1])
            more, found, problems = harness.moment(sink, rng)
            stopped, kept, wrong = stopped + more, kept + found, wrong + problems
        print(
            f"{arguments.moments} arrays, {stopped} jobs stopped, {kept} committed parts found again, {len(wrong)} "
            "moments wrong"
        )
        print("\n".join(wrong))
        sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
