"""Stop extensions of finished builds at random moments; what was finished is open and verifies, and nothing is lost
either way.

    python tests/faults/killing_extensions.py --moments 60

Real processes and real signals, as in killing.py. After each stop the data set is opened and verified as a reader
would; then the extension is taken to its end, which must equal one build of all sets, or taken back, which must leave
the bytes that were there before.
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

from children import Builds, memory_folder, parsed
from layouts import files_of

WAYS = {"kill": signal.SIGKILL, "term": signal.SIGTERM, "int": signal.SIGINT}
SINKS = ("both", "folder", "hdf5")


class Extensions(Builds):
    """A finished build in each sink, and what its extension must look like."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, each=2)
        self.length: dict[str, float] = {}
        for sink in SINKS:
            self.make(sink, folder / f"base-{sink}", sets=["contrast/*"])
            started = time.monotonic()
            self.make(sink, folder / f"whole-{sink}")
            self.length[sink] = time.monotonic() - started
            self.whole[sink] = files_of(folder / f"whole-{sink}")

    def stop(self, rng: random.Random) -> None:
        """Stop an extension once, look at it, and go on or back."""
        import corruptset
        from corruptset.manifests.verify.ladder import verify_directory

        sink, way = rng.choice(SINKS), rng.choice(list(WAYS))
        base = self.folder / f"base-{sink}"
        shutil.rmtree(self.out, ignore_errors=True)
        self.notes.unlink(missing_ok=True)
        root = Path(shutil.copytree(base, self.out)) / "kill-1.0.0"
        child = self.child(sink)
        if rng.random() < 0.5:  # the end is short, and what the protocol is for
            child.wait(lambda: self.phase() == "finishing")
            time.sleep(rng.random() * 0.15)
        else:
            time.sleep(rng.random() * self.length[sink])
        if child.poll() is None:
            os.kill(child.pid, WAYS[way])
        code = child.wait()
        where = f"{sink}, {way}, {self.phase()}, exit code {code}"
        if code not in (0, 130, -WAYS[way]):
            self.wrong.append(f"{where}: {child.said()}")
        decided = (root / ".corruptset/finish.json").exists()
        try:
            data = corruptset.open(root)
            if len(data["contrast/3"].array()) != len(data.samples):
                self.wrong.append(f"{where}: images are missing")
            problems = verify_directory(root).problems
            if {p.path for p in problems} - {".corruptset"} and not decided:
                self.wrong.append(f"{where}: {problems[:5]}")
        except Exception as e:
            self.wrong.append(f"{where}: {e}")
        back = rng.random() < 0.4
        decided |= (root / "manifest.json").read_bytes() == self.whole[sink]["kill-1.0.0/manifest.json"]
        self.counts[f"stopped while {self.phase()}, {'back' if back else 'on'}"] += 1
        second = self.start(lambda: corruptset.abandon(root)) if back else self.child(sink)
        if second.wait() != 0:
            self.wrong.append(f"{where}: {'abandoning' if back else 'the resume'} failed: {second.said()}")
        self.compare(f"{where}, {back=}", files_of(base) if back and not decided else self.whole[sink])


def main() -> int:
    given = parsed(__doc__, 60)
    rng = random.Random(given.seed)
    with memory_folder() as folder:
        extensions = Extensions(folder)
        for _ in range(given.moments):
            extensions.stop(rng)
        return extensions.report("extensions stopped", given.moments)


if __name__ == "__main__":
    sys.exit(main())
