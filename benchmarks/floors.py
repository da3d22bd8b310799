"""What any generator must do, and nothing else: ``python -m benchmarks.floors '{"recipe": ..., "source": ..., ...}'`` prints seconds.

The same reads, decodes, resizes, encodes of the very same corrupted pixels, and writes as the build's, with no corruption, digest or
record. Corrupted pixels are made beforehand, untimed. Arrays are written as the same bytes in as many files, each waited for.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

import cv2
import numpy as np

from corruptset.corruptions.keys import sample_keys
from corruptset.corruptions.stages import check_images
from corruptset.generate.build import job_of
from corruptset.generate.pixels.preprocessing import preprocess
from corruptset.generate.plan.build_spec import BuildOptions, prepare
from corruptset.generate.plan.parts import runs
from corruptset.generate.plan.tree import grow, walk


def floor(recipe: str, source: str, out: Path, *, format: str, optimize: bool = False, sets: list[str] | None = None) -> float:
    """Return the floor's seconds."""
    prepared = prepare(recipe, source, BuildOptions(seed=0, jobs=1, sets=sets, format=format, optimize=optimize))
    job = job_of(prepared, out, (), prepared.asked)
    tree = grow([job.sets[s] for s in job.sets], job.seed, job.coupling)
    for set_id in job.sets:
        for record in prepared.classes:
            (out / set_id / record.folder).mkdir(parents=True, exist_ok=True)
    total = 0.0
    rows = 0
    for number, sample in enumerate(prepared.selected):
        start = time.perf_counter()
        pixels = preprocess(prepared.source.load(sample).image, prepared.recipe.preprocessing)
        total += time.perf_counter() - start
        if format == "hdf5":
            rows = max(rows, pixels.nbytes)
            continue
        batch, keys = check_images(pixels[None]), sample_keys([sample.id])
        made = [
            (s, images[0].copy())
            for s, images in walk(tree, batch, keys, side=job.side, scale=job.scale, resources=job.resources)
        ]  # fmt: skip
        folder = prepared.classes[sample.label].folder
        start = time.perf_counter()
        for set_id, image in made:
            (out / set_id / folder / f"{number}.{job.encoding.suffix}").write_bytes(job.encoding.encode(image))
        total += time.perf_counter() - start
    if format == "hdf5":
        total += _arrays(out, list(job.sets), [r.count for r in runs(len(prepared.selected), rows)], rows)
    return total


def _arrays(out: Path, sets: list[str], counts: list[int], row: int) -> float:
    """Write as many bytes as the pixels of every set have, one file for a run of a set, and wait for each."""
    data = np.random.default_rng(0).integers(0, 256, max(counts) * row, np.uint8)
    start = time.perf_counter()
    for number, count in enumerate(counts):
        for set_id in sets:
            with open(out / set_id / f"{number}.raw", "wb") as f:
                f.write(data[: count * row].data)
                os.fsync(f.fileno())
    return time.perf_counter() - start


def main() -> None:
    cv2.setNumThreads(1)
    task = json.loads(sys.argv[1])
    print(json.dumps({"seconds": floor(**{**task, "out": Path(task["out"])})}))


if __name__ == "__main__":
    sys.exit(main())
