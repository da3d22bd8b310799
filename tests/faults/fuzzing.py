"""Fuzz the readers: mutate valid files and demand right values or a listed error, within ten seconds and a gigabyte.

    python tests/faults/fuzzing.py run --count 5000        every target, counts printed
    python tests/faults/fuzzing.py show TARGET NUMBER      one mutation again, with the traceback

Mutations are tried in worker processes whose memory is limited and who are ended when one of them hangs, so that a
crash, a hang or a full memory is counted against the mutation that caused it. What is tried depends on (target, seed,
number) alone.
"""

from __future__ import annotations

import argparse
import faulthandler
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

HANG_S = 10.0
MEMORY = 1 << 30
"""Limit on the address space that a worker may use in addition to that after its imports, in bytes."""
BATCH = 2500
"""Number of mutations per worker, so that memory leaks of C libraries do not affect later files."""


@dataclass
class Counts:
    """The results of the mutations of one target."""

    target: str
    outcomes: Counter[str] = field(default_factory=Counter)
    """The numbers of ``right``, ``refused`` and ``failed`` results."""
    failed: list[tuple[int, str]] = field(default_factory=list)
    slowest: float = 0.0
    memory: int = 0

    def fail(self, number: int, detail: str) -> None:
        self.outcomes["failed"] += 1
        self.failed.append((number, detail))

    def __str__(self) -> str:
        return (
            f"{self.target:14} {self.outcomes.total():6} mutations: {self.outcomes['refused']:5} refused, "
            f"{self.outcomes['right']:5} right, {len(self.failed)} failed; slowest {self.slowest:.2f} s, most memory "
            f"{self.memory / 2**20:.0f} MiB"
        )


def run(target: str, count: int, *, seed: int = 0, first: int = 0, hang: float = HANG_S) -> Counts:
    """Try mutations in worker processes. A worker that ends early is replaced."""
    counts = Counts(target)
    number, stop = first, first + count
    while number < stop:
        number = _one_worker(counts, seed, number, min(stop, number + BATCH), hang)
    return counts


def _one_worker(counts: Counts, seed: int, first: int, stop: int, hang: float) -> int:
    """Try mutations in one worker, and return the number of the first one that was not tried."""
    options = {"seed": seed, "first": first, "count": stop - first, "hang": hang}
    command = [sys.executable, __file__, "worker", counts.target, *(f"--{k}={v}" for k, v in options.items())]
    number = first
    with tempfile.TemporaryFile("w+") as log:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True)
        assert process.stdout is not None
        for line in process.stdout:
            outcome, seconds, detail, counts.memory = json.loads(line)
            counts.slowest = max(counts.slowest, seconds)
            if outcome == "failed":
                counts.fail(number, detail)
            else:
                counts.outcomes[outcome] += 1
            number += 1
        process.stdout.close()
        if (code := process.wait()) != 0:
            log.seek(0)
            text = log.read()
            if number == first and "ready" not in text:
                raise RuntimeError(f"the worker of {counts.target} did not begin:\n{text}")
            reason = "hang" if "Timeout" in text else f"worker ended with {code}"
            counts.fail(number, f"{reason}: {text[-2000:]}")
            number += 1
    return number


def worker(target: str, seed: int, numbers: range, hang: float) -> None:
    """Try mutations, and print one line for each."""
    import targets  # imported here, because it imports the package

    from corruptset.errors import CorruptsetError
    from corruptset.generate.sources.source import BadSample

    warnings.simplefilter("ignore")  # Pillow warns of unusual metadata, which is neither right nor wrong
    with tempfile.TemporaryDirectory() as folder:
        subject = targets.TARGETS[target](Path(folder))
        # caches and lazy imports; the valid file must be accepted
        subject.try_one(subject.files[0])
        print("ready", file=sys.stderr, flush=True)
        limit = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize() + MEMORY
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        for number in numbers:
            data = subject.numbered(target, seed, number)
            faulthandler.dump_traceback_later(hang, exit=True)
            started = time.perf_counter()
            detail = ""
            try:
                subject.try_one(data)
                outcome = "right"
            except (CorruptsetError, BadSample) as e:
                outcome = "refused" if "MemoryError" not in str(e) else "failed"
                detail = str(e)
            except BaseException as e:
                outcome, detail = "failed", "".join(traceback.format_exception(e))
            seconds = time.perf_counter() - started
            faulthandler.cancel_dump_traceback_later()
            memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 - subject.floor
            print(json.dumps([outcome, seconds, detail[-3000:], memory]), flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("run", "worker", "show"))
    parser.add_argument("target", nargs="?")
    parser.add_argument("number", nargs="?", type=int, default=0)
    for name, default in (("count", 5000), ("seed", 0), ("first", 0), ("hang", HANG_S)):
        parser.add_argument(f"--{name}", type=type(default), default=default)
    parser.add_argument("--save")
    arguments = parser.parse_args()
    if arguments.what == "worker":
        worker(
            arguments.target, arguments.seed, range(arguments.first, arguments.first + arguments.count), arguments.hang
        )
        return 0
    import targets

    if arguments.what == "show":
        with tempfile.TemporaryDirectory() as folder:
            subject = targets.TARGETS[arguments.target](Path(folder))
            data = subject.numbered(arguments.target, arguments.seed, arguments.number)
            if arguments.save:
                Path(arguments.save).write_bytes(data)
            subject.try_one(data)
        return 0
    total: Counter[str] = Counter()
    for name in (
        arguments.target.split(",") if arguments.target else [name for name in targets.TARGETS if name != "broken"]
    ):
        counts = run(name, arguments.count, seed=arguments.seed, first=arguments.first)
        print(counts, flush=True)
        for number, detail in counts.failed[:5]:
            print(f"  failed: {name} {number}: ...{detail[-900:]}", flush=True)
        total += counts.outcomes
    print(f"{total.total()} mutations: {total['refused']} refused, {total['right']} right, {total['failed']} failed")
    return bool(total["failed"])


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    sys.exit(main())
