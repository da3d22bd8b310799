"""What a row of an HDF5 file costs as a source's sample: read by a process of its own, and hashed.

    python -m benchmarks.hdf5_source

The files lie in memory where the system has such a folder. In order rows are read ahead; every seventh is read alone.
"""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np

from corruptset.generate.sources.source import Sample, Source, open_source
from corruptset.manifests.records.digests import sha256_bytes

CASES = ((32, 5000, None), (32, 5000, "gzip"), (224, 400, None), (224, 100, "gzip"))
"""Side in pixels, images, compression (of random pixels, level 1)."""
REPEATS = 5


def microseconds(work: Callable[[], object], count: int) -> float:
    """Return the median time of one of `count` things that `work` does, in microseconds."""
    times = []
    for _ in range(REPEATS):
        started = time.perf_counter()
        work()
        times.append((time.perf_counter() - started) / count * 1e6)
    return statistics.median(times)


def load(source: Source, samples: tuple[Sample, ...]) -> None:
    """Load samples, and keep none."""
    for sample in samples:
        source.load(sample)


def main() -> None:
    """Measure and print."""
    memory = Path("/dev/shm")
    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory(dir=memory if os.access(memory, os.W_OK) else None) as folder:
        for side, count, compression in CASES:
            path = Path(folder, "x.h5")
            images = rng.integers(0, 256, (count, side, side, 3), np.uint8)
            with h5py.File(path, "w") as file:
                file.create_dataset("images", data=images, compression=compression, compression_opts=1 if compression else None)
                file["labels"] = np.arange(count) % 10
            source = open_source(f"hdf5:{path}")
            some = source.samples[::7]
            in_order = microseconds(lambda source=source: load(source, source.samples), count)  # type: ignore[misc]
            alone = microseconds(lambda source=source, some=some: load(source, some), len(some))  # type: ignore[misc]
            digest = microseconds(lambda images=images: [sha256_bytes(i.data) for i in images], count)  # type: ignore[misc]
            print(
                f"{side:3} pixels, {compression or 'plain':5}: {in_order:7.1f} us an image in order, {alone:7.1f} us every seventh; "
                f"{digest:5.1f} us of it its sha256",
                flush=True,
            )
            path.unlink()


if __name__ == "__main__":
    main()
