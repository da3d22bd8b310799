"""Stop extensions of finished datasets at random moments. The finished dataset must not change, and the extension must
be resumed to the bytes of one build of all sets.

    python tests/faults/killing_extensions.py --moments 60

Real processes and real signals are used, as in killing.py. After each stop the finished dataset is compared with its
earlier bytes. Then the extension is resumed, or its folder is deleted. In half of the cases the finished dataset is
deleted at the end, and the new one is verified without it.
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

from children import SINKS, Builds, memory_folder, parse_arguments
from small_builds import read_files

WAYS = {"kill": signal.SIGKILL, "term": signal.SIGTERM, "int": signal.SIGINT}
NAME = "kill-1.0.0"


class Extensions(Builds):
    """A finished dataset for each way of storing images, and the bytes of its extension."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, each=2)
        self.length: dict[str, float] = {}
        self.base: dict[str, dict[str, bytes]] = {}
        for sink in SINKS:
            self.base[sink] = read_files(self.make(sink, folder / f"base-{sink}", sets=["contrast/*"]))
            started = time.monotonic()
            self.make(sink, folder / f"whole-{sink}")
            self.length[sink] = time.monotonic() - started
            self.whole[sink] = read_files(folder / f"whole-{sink}")

    def stop(self, rng: random.Random) -> None:
        """Stop an extension once, and resume it or delete its folder."""
        from corruptset.manifests.verify.directory import verify_directory

        sink, way = rng.choice(list(SINKS)), rng.choice(list(WAYS))
        shutil.rmtree(self.out, ignore_errors=True)
        self.notes.unlink(missing_ok=True)
        base = self.folder / "base" / NAME
        shutil.rmtree(base, ignore_errors=True)
        shutil.copytree(self.folder / f"base-{sink}" / NAME, base)
        child = self.child(sink, extend=base)
        if rng.random() < 0.5:
            child.wait(lambda: self.phase() == "finishing")
            time.sleep(rng.random() * 0.15)
        else:
            time.sleep(rng.random() * self.length[sink])
        if child.poll() is None:
            os.kill(child.pid, WAYS[way])
        code, phase = child.wait(), self.phase()
        location = f"{sink}, {way}, {phase}, exit code {code}"
        if code not in (0, 130, -WAYS[way]):
            self.wrong.append(f"{location}: {child.output()}")
        back, alone = rng.random() < 0.3, rng.random() < 0.5
        self.counts[f"stopped while {phase}, then {'deleted' if back else 'resumed'}"] += 1
        if back:
            shutil.rmtree(self.out, ignore_errors=True)
        elif (second := self.child(sink, extend=base)).wait() != 0:
            self.wrong.append(f"{location}: the resume failed: {second.output()}")
        if read_files(base) != self.base[sink]:
            self.wrong.append(f"{location}: the finished dataset changed")
        if not back:
            if alone:
                shutil.rmtree(base)
            self.compare(location, self.whole[sink])
            self.wrong += [f"{location}: {p}" for p in verify_directory(self.out / NAME).problems]


def main() -> int:
    arguments = parse_arguments(__doc__, 60)
    rng = random.Random(arguments.seed)
    with memory_folder() as folder:
        extensions = Extensions(folder)
        for _ in range(arguments.moments):
            extensions.stop(rng)
        return extensions.report("extensions stopped", arguments.moments)


if __name__ == "__main__":
    sys.exit(main())
