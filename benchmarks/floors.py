"""Measure the floor of a build: ``python -m benchmarks.floors '{"source": ..., "like": ..., "out": ...}'``.

The floor is the time for the work that every generator must do to make the finished build `like`. This work consists of
reading, decoding and resizing the images, encoding the corrupted pixels, and writing the files. The time for
corruptions, digests and records is not included. Instead of shards, files of the same sizes are written and
synchronised with the disk. The seconds are printed as JSON.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

import cv2
import numpy as np

import corruptset
from corruptset.generate.pixels.encoding import parse_encoding
from corruptset.generate.pixels.preprocessing import parse_preprocessing, preprocess
from corruptset.generate.sources.source import open_source


def floor(source: str, like: str, out: Path) -> float:
    """Return the floor of the build `like` in seconds."""
    manifest = corruptset.open(like).manifest
    folders = [c.folder for c in manifest.classes]
    images = open_source(source)
    preprocessing = parse_preprocessing(manifest.preprocessing)
    encoding = parse_encoding(manifest.encoding)
    in_shards = manifest.storage.container == "hdf5"
    for record in manifest.sets:
        for folder in folders:
            (out / record.id / folder).mkdir(parents=True, exist_ok=True)
    total = 0.0
    for number, sample in enumerate(images.samples):
        start = time.perf_counter()
        pixels = preprocess(images.load(sample).image, preprocessing)
        total += time.perf_counter() - start
        if in_shards:
            continue
        corrupted = [(s.id, corruptset.corrupt(pixels, s.id, key=sample.id)) for s in manifest.sets]
        start = time.perf_counter()
        for set_id, image in corrupted:
            (out / set_id / folders[sample.label] / f"{number}.{encoding.suffix}").write_bytes(encoding.encode(image))
        total += time.perf_counter() - start
    return total + (_shards(out, [f.bytes for f in manifest.files if f.path.startswith("hdf5/")]) if in_shards else 0)


def _shards(out: Path, sizes: list[int]) -> float:
    """Return the time to write files of the given sizes and to synchronise them with the disk."""
    data = np.random.default_rng(0).integers(0, 256, max(sizes), np.uint8)
    start = time.perf_counter()
    for number, size in enumerate(sizes):
        with open(out / f"{number}.raw", "wb") as f:
            f.write(data[:size].data)
            os.fsync(f.fileno())
    return time.perf_counter() - start


def main() -> None:
    cv2.setNumThreads(1)
    task = json.loads(sys.argv[1])
    print(json.dumps({"seconds": floor(**{**task, "out": Path(task["out"])})}))


if __name__ == "__main__":
    main()
