"""Fuzz the readers: mutate valid files and demand right values or a listed error, within ten seconds and a gigabyte.

    python tests/faults/fuzzing.py run --count 5000        every target, counts printed
    python tests/faults/fuzzing.py show TARGET NUMBER      one mutation again, with the traceback

Mutations are tried in worker processes whose memory is limited and who are ended when one of them hangs, so that a
crash, a hang or a full memory is counted against the mutation that caused it. What is tried depends on (target, seed,
number) alone.
"""

from __future__ import annotations

import argparse
import contextlib
import faulthandler
import os
import resource
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

HANG_S = 10.0
MEMORY = 1 << 30
"""Bytes of address space beyond what the worker has after its imports."""
BATCH = 2500
"""Mutations of one worker: one leak in a C library must not be counted against a later file."""


@dataclass
class Counts:
    """What became of one target's mutations."""

    target: str
    right: int = 0
    refused: int = 0
    failed: list[tuple[int, str]] = field(default_factory=list)
    slowest: float = 0.0
    memory: int = 0

    @property
    def tried(self) -> int:
        return self.right + self.refused + len(self.failed)

    def __str__(self) -> str:
        worst = f"slowest {self.slowest:.2f} s, most memory {self.memory / 2**20:.0f} MiB"
        return (
            f"{self.target:14} {self.tried:6} mutations: {self.refused:5} refused, {self.right:5} right, "
            f"{len(self.failed)} failed; {worst}"
        )


def run(target: str, count: int, *, seed: int = 0, first: int = 0, hang: float = HANG_S) -> Counts:
    """Try mutations in worker processes, a new one after each that ends before it should."""
    counts = Counts(target)
    number, stop = first, first + count
    while number < stop:
        number = _one_worker(counts, seed, number, min(stop, number + BATCH), hang)
    return counts


def _one_worker(counts: Counts, seed: int, first: int, stop: int, hang: float) -> int:
    """Try mutations in one worker; return the number of the first that was not tried."""
    command = [
        sys.executable,
        __file__,
        "worker",
        counts.target,
        "--seed",
        str(seed),
        "--first",
        str(first),
        "--count",
        str(stop - first),
    ]
    command += ["--hang", str(hang)]
    number = first
    with tempfile.TemporaryFile("w+") as said:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=said, text=True)
        assert process.stdout is not None
        for line in process.stdout:
            kind, value = line.rstrip("\n").split(" ", 1)
            if kind == "memory":
                counts.memory = max(counts.memory, int(value))
                continue
            outcome, seconds, detail = value.split(" ", 2)
            number = int(kind) + 1
            counts.slowest = max(counts.slowest, float(seconds))
            if outcome == "failed":
                counts.failed.append((int(kind), detail))
            else:
                setattr(counts, outcome, getattr(counts, outcome) + 1)
        process.stdout.close()
        code = process.wait()
        if code != 0:
            said.seek(0)
            why = "hang" if "Timeout" in (text := said.read()) else f"worker ended with {code}"
            if number == first and "ready" not in text:
                raise RuntimeError(f"the worker of {counts.target} did not begin:\n{text}")
            counts.failed.append((number, f"{why}: {text[-2000:]}"))
            number += 1
    return number


def worker(target: str, seed: int, numbers: range, hang: float) -> None:
    """Try mutations; a line of standard output for each."""
    import targets  # here, for it imports the package

    from corruptset.errors import CorruptsetError
    from corruptset.generate.sources.source import BadSample

    with tempfile.TemporaryDirectory() as folder:
        subject = {**targets.TARGETS, **targets.SELF_TEST}[target](Path(folder))
        # everything that is imported or made on first use; a valid file must be accepted
        subject.try_one(subject.files[0])
        print("ready", file=sys.stderr, flush=True)
        limit = _virtual() + MEMORY
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        for number in numbers:
            data = subject.numbered(target, seed, number)
            faulthandler.dump_traceback_later(hang, exit=True)
            started = time.perf_counter()
            detail = ""
            try:
                with _quiet():
                    subject.try_one(data)
                outcome = "right"
            except (CorruptsetError, BadSample) as e:
                outcome = "refused" if "MemoryError" not in str(e) else "failed"
                detail = str(e)
            except BaseException as e:
                outcome, detail = "failed", "".join(traceback.format_exception(e))
            seconds = time.perf_counter() - started
            faulthandler.cancel_dump_traceback_later()
            # \n in a line of the protocol, and surrogates, would break it
            said = detail[-3000:].encode("unicode_escape").decode() if outcome == "failed" else ""
            print(number, outcome, f"{seconds:.3f}", said, flush=True)
        print("memory", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 - subject.floor)


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Pillow warns of odd metadata; that is neither right nor wrong."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _virtual() -> int:
    with open("/proc/self/statm") as f:
        return int(f.read().split()[0]) * resource.getpagesize()


def show(target: str, seed: int, number: int, save: str | None) -> None:
    """Try one mutation in this process."""
    import targets

    with tempfile.TemporaryDirectory() as folder:
        subject = {**targets.TARGETS, **targets.SELF_TEST}[target](Path(folder))
        data = subject.numbered(target, seed, number)
        if save:
            Path(save).write_bytes(data)
        subject.try_one(data)


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("run", "worker", "show"))
    parser.add_argument("target", nargs="?")
    parser.add_argument("number", nargs="?", type=int, default=0)
    parser.add_argument("--count", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--hang", type=float, default=HANG_S)
    parser.add_argument("--save")
    given = parser.parse_args(arguments)
    if given.what == "worker":
        worker(given.target, given.seed, range(given.first, given.first + given.count), given.hang)
        return 0
    if given.what == "show":
        show(given.target, given.seed, given.number, given.save)
        return 0
    import targets

    total: Counter[str] = Counter()
    bad = 0
    for name in given.target.split(",") if given.target else targets.TARGETS:
        counts = run(name, given.count, seed=given.seed, first=given.first)
        print(counts, flush=True)
        for number, detail in counts.failed[:5]:
            print(f"  failed: {name} {number}: ...{detail[-900:]}", flush=True)
        total.update(tried=counts.tried, refused=counts.refused, right=counts.right)
        bad += len(counts.failed)
    print(f"{total['tried']} mutations: {total['refused']} refused, {total['right']} right, {bad} failed")
    return bool(bad)


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    sys.exit(main(sys.argv[1:]))
