"""Let two commands meet at the end of a build, and compare every byte with a build that one command made.

    python tests/faults/meeting.py --moments 200

All parts of the build are committed, and its bookkeeping has many files, so that removing it takes a while. One command
finishes the build. At a random moment of that, another command begins: the same build, `--finish`, a job of an array,
or a build with another seed. The first must succeed, and the second must succeed or be refused with a sentence. At the
end the folder contains the finished dataset alone.
"""

from __future__ import annotations

import random
import shutil
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

from children import Builds, memory_folder, parse_arguments
from small_builds import read_files

FIRST: dict[str, dict[str, Any]] = {"build": {}, "finish": {"finish": True}}
SECOND: dict[str, dict[str, Any]] = {**FIRST, "job": {"part": (0, 2)}, "other seed": {"seed": 1}}
REFUSED = ("Another build or repair is writing", "requested 1", "contains no parts", "Jobs of an array")
FILES = 3000
"""Additional files of the bookkeeping."""


class Meetings(Builds):
    """A build whose parts are all committed, and that two commands finish."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, each=2)
        self.whole["both"] = read_files(self.make("both", folder / "whole").parent)
        for job in range(2):
            self.make_part(job)
        check = next((folder / "begun").glob("*.partial")) / ".corruptset/check/other"
        check.mkdir(parents=True)
        for number in range(FILES):
            (check / f"{number}.json").touch()
        shutil.copytree(self.folder / "begun", self.out)
        child = self.child("both")
        child.wait(lambda: self.phase() == "finishing")
        started = time.monotonic()
        assert child.wait() == 0, child.output()
        self.length = time.monotonic() - started
        """The seconds that the end of the build takes."""

    def make_part(self, job: int) -> None:
        """Build half of the parts in another process."""
        child = self.start(lambda: self.make("both", self.folder / "begun", part=(job, 2)))
        assert child.wait() == 0, child.output()

    def meet(self, first: str, second: str, later: float) -> None:
        """Start one command, and another one when the first finishes the build."""
        shutil.rmtree(self.out, ignore_errors=True)
        shutil.copytree(self.folder / "begun", self.out)
        self.notes.unlink(missing_ok=True)
        one = self.child("both", **FIRST[first])
        one.wait(lambda: self.phase() == "finishing")
        time.sleep(max(0.0, later))
        other = self.child("both", progress=False, **SECOND[second])
        codes = one.wait(), other.wait()
        location = f"{first} and {second}, {later:.3f} s later: exit codes {codes}"
        self.counts[f"{second}: exit code {codes[1]}"] += 1
        for child, code in zip((one, other), codes, strict=True):
            if code != 0 and not (code in (1, 2) and any(text in child.output() for text in REFUSED)):
                self.wrong.append(f"{location}: {child.output()}")
        if codes[0] != 0:
            self.wrong.append(f"{location}: the first command failed: {one.output()}")
        self.compare(location, self.whole["both"])


def main() -> int:
    arguments = parse_arguments(__doc__, 200)
    rng = random.Random(arguments.seed)
    with memory_folder() as folder:
        meetings = Meetings(folder)
        for number in range(arguments.moments):
            second = list(SECOND)[number % len(SECOND)]
            meetings.meet(rng.choice(list(FIRST)), second, rng.random() * 1.1 * meetings.length)
        return meetings.report("meetings", arguments.moments)


if __name__ == "__main__":
    sys.exit(main())
