"""Images of a virtual data set in a DataLoader against the kernels and the codec alone: ``python -m benchmarks.virtual``.

The floor is a plain loop in as many processes: each reads its share of the samples (decoded and preprocessed), applies the set's kernels,
encodes and decodes a JPEG set, and drops the image. The DataLoader begins its workers anew for each measurement, as the floor begins its
processes, so no image is kept from one to the next. Both take turns in one run; read the ratio, on a machine that does nothing else.
"""

from __future__ import annotations

import statistics
import tempfile
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

import corruptset
from corruptset.generate.again.remake_options import RemakeOptions
from corruptset.generate.again.virtual import VirtualImages
from corruptset.generate.plan.job import CheckedSample
from corruptset.generate.work.worker import batches, load_clean
from corruptset.manifests.images.pictures import decode
from corruptset.manifests.reading.image_set import ImageSet

from . import sources
from .timing import clocked, options, save, show

CASES = (
    ("imagenet-c", "fog/3", sources.photographs, 1, 64),
    ("imagenet-c", "gaussian_noise/3", sources.photographs, 1, 64),
    ("imagenet-c", "glass_blur/3", sources.photographs, 1, 64),
    ("two-factor-imagenet-c", "fog-3+gaussian_noise-3", sources.photographs, 1, 64),
    ("cifar10-c", "fog/3", sources.cifar, 5, 64),
    ("cifar10-c", "fog/3", sources.cifar, 5, 256),
)
"""Recipe, set, source, how many times ``--images`` it has of them, images a batch: to hand one over costs a loader 1 to 2 ms."""
FLOOR_BATCH = 64
COLUMNS = {"loader": 0, "floor": 0, "ratio": 2, "processor_ratio": 2}
"""Figure -> decimals."""


def loaded(images: ImageSet, workers: int, batch: int) -> None:
    """Take every image out of a DataLoader."""
    from torch.utils.data import DataLoader

    loader: Any = DataLoader(images, batch_size=batch, num_workers=workers, multiprocessing_context="fork")  # type: ignore[arg-type]
    assert sum(len(labels) for _, labels in loader) == len(images)


def made(images: VirtualImages, set_id: str, workers: int) -> None:
    """Make every image with kernels and codec alone."""
    context = get_context("fork")
    shares = [context.Process(target=_share, args=(images, set_id, first, workers)) for first in range(workers)]
    for process in shares:
        process.start()
    for process in shares:
        process.join()
        assert process.exitcode == 0


def _share(images: VirtualImages, set_id: str, first: int, step: int) -> None:
    build = images.build
    tree = build.maker.tree([build.by_id[set_id]])
    share = [CheckedSample(s, r.sha256, r.width, r.height) for s, r in zip(build.selected, build.records, strict=True)][first::step]
    for start in range(0, len(share), FLOOR_BATCH):
        samples = share[start : start + FLOOR_BATCH]
        clean = [load_clean(build.source, sample, build.preprocessing) for sample in samples]
        for positions in batches(clean):
            batch = np.stack([clean[p] for p in positions])
            for _, images_made in build.maker.images(tree, batch, [samples[p].sample.id for p in positions]):
                for pixels in () if build.encoding.lossless else images_made:
                    decode(build.encoding.encode(pixels), build.encoding.format)


def measure(case: tuple[Any, ...], folder: Path, count: int, workers: int, repeats: int) -> dict[str, Any]:
    """Return images a second of both, and their ratio, by the clock and by processor time: medians."""
    recipe, set_id, make_source, times, batch = case
    source = make_source(folder / "source", count * times)
    built = corruptset.build(recipe, source, folder / "out", sets=[set_id], metrics=0, page=False)
    data = corruptset.open(built.directory, source=source)
    alone = VirtualImages(built.directory, RemakeOptions(source=source), "never")
    assert alone.build  # before the processes are begun
    calls = lambda: loaded(data[set_id], workers, batch), lambda: made(alone, set_id, workers)
    turns = [[clocked(call) for call in calls] for _ in range(repeats + 1)][1:]  # the first one compiles kernels
    (loader, loader_cpu), (floor, floor_cpu) = (map(statistics.median, zip(*one, strict=True)) for one in zip(*turns, strict=True))
    total = count * times
    rates = {"loader": total / loader, "floor": total / floor, "ratio": floor / loader, "processor_ratio": floor_cpu / loader_cpu}
    return {"recipe": recipe, "set": set_id, "images": total, "batch": batch, **rates}


def main() -> None:
    """Measure and print."""
    parser = options(__doc__, repeats=5)
    parser.add_argument("--images", type=int, default=2000)
    parser.add_argument("--workers", type=int, default=4)
    given = parser.parse_args()
    results = []
    for case in CASES:
        with tempfile.TemporaryDirectory() as folder:
            results.append(measure(case, Path(folder), given.images, given.workers, given.repeats))
    show(
        f"Virtual sets in a DataLoader with {given.workers} workers, medians of {given.repeats}",
        ("set", "images", "a batch", "DataLoader, images/s", "kernels and codec, images/s", "ratio", "ratio of processor time"),
        [(f"{r['recipe']} {r['set']}", str(r["images"]), str(r["batch"]), *(f"{r[k]:.{d}f}" for k, d in COLUMNS.items())) for r in results],
    )
    save(given.json, {"workers": given.workers, "repeats": given.repeats, "results": results})


if __name__ == "__main__":
    main()
