"""Stop extensions of finished builds at random moments; what was finished is open and verifies, and nothing is lost
either way.

    python tests/faults/killing_extensions.py --moments 60

Real processes and real signals, as in killing.py. After each stop the data set is opened and verified as a reader
would; then the extension is taken to its end, which must equal one build of all sets, or taken back, which must leave
the bytes that were there before.
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
from collections import Counter
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parent))

import layouts
from children import Child, Noting, difference
from killing import RECIPE
from layouts import files_of

WAYS = {"kill": signal.SIGKILL, "term": signal.SIGTERM, "int": signal.SIGINT}
SINKS: dict[str, dict[str, Any]] = {
    "both": {"format": "both"},
    "arrays": {"view": "cifar-c"},
    "files": {"view": "imagefolder"},
}
BASE = ["contrast/*"]


class Extensions:
    """A finished build in each sink, and what it and its extension must look like."""

    def __init__(self, folder: Path) -> None:
        from corruptset.generate.recipes.recipe import parse_recipe

        self.folder = folder
        self.source = layouts.write_crops(folder / "source", each=2)
        self.recipe = parse_recipe(RECIPE, "kill")
        self.before: dict[str, dict[str, bytes]] = {}
        self.after: dict[str, dict[str, bytes]] = {}
        self.length: dict[str, float] = {}
        self.number = 0
        for sink in SINKS:
            base = folder / f"base-{sink}"
            self.make(sink, base, BASE)
            self.before[sink] = files_of(base)
            started = time.monotonic()
            self.make(sink, folder / f"whole-{sink}", ["*"])
            self.length[sink] = time.monotonic() - started
            self.after[sink] = files_of(folder / f"whole-{sink}")

    def make(self, sink: str, out: Path, sets: list[str], progress: Any = None) -> None:
        from corruptset.generate.build import build

        build(self.recipe, f"folder:{self.source}", out, jobs=1, metrics=8, sets=sets, progress=progress, **SINKS[sink])

    def child(self, work: Any) -> Child:
        self.number += 1

        def run() -> int:
            from corruptset.errors import CorruptsetError

            try:
                work()
            except CorruptsetError as e:
                print(e, file=sys.stderr)
                return e.exit_code
            return 0

        return Child(run, self.folder / f"said-{self.number}")

    def stop(self, rng: random.Random) -> tuple[str, list[str]]:
        """Stop an extension once; return the phase that it was in, and what is wrong."""
        import corruptset
        from corruptset.manifests.verify.ladder import verify_directory

        sink, way = rng.choice(list(SINKS)), rng.choice(list(WAYS))
        out, notes = self.folder / "out", self.folder / "notes"
        shutil.rmtree(out, ignore_errors=True)
        notes.unlink(missing_ok=True)
        shutil.copytree(self.folder / f"base-{sink}", out)
        root = next(out.iterdir())
        child = self.child(lambda: self.make(sink, out, ["*"], Noting(notes)))
        if rng.random() < 0.5:  # the end is short, and what the protocol is for
            while child.poll() is None and not (notes.exists() and notes.read_text().startswith("finishing")):
                time.sleep(0.0005)
            time.sleep(rng.random() * 0.15)
        else:
            time.sleep(rng.random() * self.length[sink])
        if child.poll() is None:
            os.kill(child.pid, WAYS[way])
        code = child.wait()
        phase = notes.read_text().split()[0] if notes.exists() and notes.read_text() else "starting"
        where, wrong = f"{sink}, {way}, {phase}, exit code {code}", []
        if code not in (0, 130, -WAYS[way]):
            wrong.append(f"{where}: {child.said()}")
        try:
            data = corruptset.open(root)
            if len(data["contrast/3"].array()) != len(data.samples):
                wrong.append(f"{where}: images are missing")
            problems = verify_directory(root).problems
            if {p.path for p in problems} - {".corruptset"} and not (root / ".corruptset/finish.json").exists():
                wrong.append(f"{where}: {problems[:5]}")
        except corruptset.errors.CorruptsetError as e:  # type: ignore[attr-defined]
            wrong.append(f"{where}: {e}")
        back = rng.random() < 0.4
        manifest = (root / "manifest.json").read_bytes()
        decided = (root / ".corruptset/finish.json").exists() or manifest == self.after[sink][
            f"{root.name}/manifest.json"
        ]
        second = self.child(lambda: corruptset.abandon(root) if back else self.make(sink, out, ["*"]))
        if second.wait() != 0:
            wrong.append(f"{where}: {'abandoning' if back else 'the resume'} failed: {second.said()}")
        wanted = self.before if back and not decided else self.after
        if (problem := difference(files_of(out), wanted[sink])) is not None:
            wrong.append(f"{where}, {'back' if back else 'on'}: {problem}")
        return f"{phase}, {'back' if back else 'on'}", wrong


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--moments", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args(arguments)
    rng, counts, wrong = random.Random(given.seed), Counter[str](), list[str]()
    folder = Path(tempfile.mkdtemp(prefix="corruptset-extensions-"))
    try:
        extensions = Extensions(folder)
        for _ in range(given.moments):
            phase, problems = extensions.stop(rng)
            counts[phase] += 1
            wrong += problems
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print(f"stopped while: {', '.join(f'{name} {count}' for name, count in counts.most_common())}")
    print("\n".join([f"{given.moments} extensions stopped, {len(wrong)} wrong", *wrong]))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
