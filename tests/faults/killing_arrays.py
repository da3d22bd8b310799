"""Kill jobs of arrays at random moments, run all jobs again, finish, and compare every byte with a build of one
process.

    python tests/faults/killing_arrays.py --moments 30

Each moment is a fresh directory: jobs of one or two arrays, two at a time and some of them twice, are forked, and
stopped by SIGKILL, by SIGTERM, or not at all. Then all jobs of another array run, in any order, and the build is
finished.
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

from children import committed_parts, memory_folder, parse_arguments, wait_for_end
from killing import SINKS, Harness


class Arrays(Harness):
    """Builds by jobs of arrays."""

    def moment(self, sink: str, rng: random.Random) -> None:
        """Stop jobs, run all jobs of an array, and finish the build."""
        shutil.rmtree(self.out, ignore_errors=True)
        job_count = rng.choice([2, 3, 7])
        jobs = [(i, job_count) for i in range(job_count)] + [
            (rng.randrange(3), 3),
            (rng.randrange(job_count), job_count),
        ]
        rng.shuffle(jobs)
        for pair in zip(jobs[::2], jobs[1::2], strict=False):
            running = [self.child(sink, part=part) for part in pair]
            time.sleep(rng.random() * 0.7 * self.length[sink, 1])
            for child in running:
                stop_signal = rng.choice([signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, None])
                if stop_signal is not None and child.poll() is None:
                    os.killpg(child.pid, stop_signal)
                    self.counts["jobs stopped"] += 1
                    wait_for_end(child.pid)
                if (code := child.wait()) not in (0, -9, -15, 130):
                    self.wrong.append(f"{sink}, {pair}: exit code {code}: {child.output()}")
        before = committed_parts(self.out) or {}
        job_count = rng.choice([1, 2, 5])
        for i in rng.sample(range(job_count), job_count):
            if (child := self.child(sink, part=(i, job_count))).wait() != 0:
                self.wrong.append(f"{sink}, job {i} of {job_count} after the kills: {child.output()}")
        after = committed_parts(self.out) or {}
        redone = [name for name, stamp in before.items() if after.get(name) != stamp]
        self.wrong += [f"{sink}: made again though committed: {redone}"] * bool(redone)
        self.counts["committed parts found again"] += len(before)
        if (child := self.child(sink, finish=True)).wait() != 0:
            self.wrong.append(f"{sink}: not finished: {child.output()}")
        self.compare(sink, self.whole[sink])


def main() -> int:
    arguments = parse_arguments(__doc__, 30)
    rng = random.Random(arguments.seed)
    with memory_folder() as folder:
        arrays = Arrays(folder)
        for number in range(arguments.moments):
            sink = SINKS[number % len(SINKS)]
            if sink not in arrays.whole:
                arrays.prepare(sink, [1])
            arrays.moment(sink, rng)
        return arrays.report("arrays", arguments.moments)


if __name__ == "__main__":
    sys.exit(main())
