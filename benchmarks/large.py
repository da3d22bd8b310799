"""What a build of many samples costs beside its images: ``python -m benchmarks.large --counts 100000,1000000 --folder DIR``.

A source of tiny images that needs no files (8x8 pixels, made from the sample's number) is planned, begun, built in parts and finished,
each step in a process of its own: its seconds of processor time, the most memory that it held, and the bytes that it left.
"""

from __future__ import annotations

import contextlib
import json
import resource
import subprocess
import sys
import time
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

import corruptset
from corruptset.errors import Interrupted
from corruptset.generate.sources.source import Loaded, Probe, Sample, Source
from corruptset.manifests.records.models import ClassRecord
from corruptset.progress import ProgressEvent

from .sources import recipe
from .timing import options, save, show

STEPS = ("plan", "first job", "another job", "all parts", "finish")


class Numbers(Source):
    """Images made from their numbers."""

    scheme = "folder"

    def __init__(self, count: int) -> None:
        self.classes = tuple(ClassRecord(index=c, name=f"c{c:04d}", folder=f"c{c:04d}") for c in range(1000))
        self.samples = tuple(
            Sample(i, f"c{i % 1000:04d}/image_{i:09d}", i % 1000, f"c{i % 1000:04d}/image_{i:09d}.png") for i in range(count)
        )

    def load(self, sample: Sample) -> Loaded:
        image = np.full((8, 8, 3), sample.index % 251, np.uint8)
        return Loaded(image, f"sha256:{sha256(sample.id.encode()).hexdigest()}")

    def probe(self, sample: Sample) -> Probe:
        return Probe(f"sha256:{sha256(sample.id.encode()).hexdigest()}", 8, 8, 3)


def step(name: str, count: int, sets: int, folder: Path) -> dict[str, float]:
    """Take one step; return its seconds of processor time and the MB that the process held at most."""
    made_of = recipe("cifar", "contrast", sets)
    choices: dict[str, Any] = {"jobs": 1, "metrics": 0, "format": "hdf5", "any_shape": True, "page": False}
    source = Numbers(count)
    started = time.process_time()

    def stop(event: ProgressEvent) -> None:
        if event.phase == "building":
            raise KeyboardInterrupt

    if name == "plan":
        corruptset.plan(made_of, source, **{k: v for k, v in choices.items() if k != "page"})
    elif name in ("first job", "another job"):
        with contextlib.suppress(Interrupted):
            corruptset.build(made_of, source, folder, part=(1, 10**5), progress=stop, **choices)
    elif name == "all parts":
        corruptset.build(made_of, source, folder, part=(0, 1), progress=False, **choices)
    else:
        corruptset.build(made_of, source, folder, finish=True, progress=False, **choices)
    seconds = time.process_time() - started
    return {"seconds": seconds, "MB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}


def sizes(folder: Path) -> dict[str, float]:
    """Return MB of the records of a finished build."""
    (root,) = folder.iterdir()
    return {
        "samples.jsonl": (root / "samples.jsonl").stat().st_size / 1e6,
        "rows of a set": max(p.stat().st_size for p in root.glob("sets/**/*.jsonl")) / 1e6,
        "manifest.json": (root / "manifest.json").stat().st_size / 1e6,
    }


def measure(count: int, sets: int, folder: Path) -> dict[str, Any]:
    """Take all steps, each in a process of its own."""
    rows: dict[str, Any] = {"count": count, "sets": sets}
    for name in STEPS:
        call = [sys.executable, "-m", "benchmarks.large", "--step", name, f"--counts={count}", f"--sets={sets}", f"--folder={folder}"]
        rows[name] = json.loads(subprocess.run(call, check=True, capture_output=True, text=True).stdout.splitlines()[-1])
        if name == "all parts":
            parts = list(folder.glob("*/.corruptset/parts/*.json"))
            rows["sidecars"] = len(parts)
            rows["sidecars MB"] = sum(p.stat().st_size for p in parts) / 1e6
    return rows | {"files": sizes(folder)}


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--counts", default="100000,1000000")
    parser.add_argument("--sets", type=int, default=1)
    parser.add_argument("--folder", type=Path, required=True, help="a new one; the builds stay there")
    parser.add_argument("--step", choices=STEPS, help="one step, in this process")
    arguments = parser.parse_args()
    counts = [int(count) for count in arguments.counts.split(",")]
    if arguments.step:
        print(json.dumps(step(arguments.step, counts[0], arguments.sets, arguments.folder)))
        return
    found = [measure(count, arguments.sets, arguments.folder / str(count)) for count in counts]
    table = [(f"{r['count']:,}", name, f"{r[name]['seconds']:.1f}", f"{r[name]['MB']:.0f}") for r in found for name in STEPS]
    show(f"beside the images, {arguments.sets} sets", ("samples", "step", "s of a processor", "MB at most"), table)
    files = [
        (f"{r['count']:,}", *(f"{v:.1f}" for v in r["files"].values()), f"{r['sidecars']:,}", f"{r['sidecars MB']:.1f}") for r in found
    ]
    show("what is written, MB", ("samples", *found[0]["files"], "sidecars", "MB of them"), files)
    save(arguments.json, found)


if __name__ == "__main__":
    main()
