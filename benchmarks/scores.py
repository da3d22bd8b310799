"""Scores of predictions: ``python -m benchmarks.scores``: reading them, the resamples that intervals come from, and the whole command.

Reading logits of ImageNet-C's shape (by default float16, 3 of the 75 sets, so that the files stay in the page cache) against numpy's own
load and argmax, which know neither rank nor probability and check nothing. Each runs in a process of its own, in turn; read the ratios.
"""

from __future__ import annotations

import statistics
import tempfile
from pathlib import Path
from typing import Any

from .score_data import set_ids, write_data_set, write_logits
from .timing import child, options, save, show


def reading(work: Path, *, sets: int, images: int, classes: int, dtype: str, compressed: bool, repeats: int) -> dict[str, Any]:
    """Measure reading against numpy's own, and return the figures."""
    names = set_ids(sets)
    data, predictions = write_data_set(work / "data", names, images, classes), work / "predictions"
    write_logits(predictions, names, images, classes, dtype, compressed=compressed)
    task = {"data": str(data), "predictions": str(predictions)}
    runs: dict[str, list[dict[str, Any]]] = {"plain": [], "read": []}
    for _ in range(repeats):
        for what, done in runs.items():
            done.append(child("score_tasks", {"what": what, **task}))
    if runs["plain"][0]["result"] != runs["read"][0]["result"]:
        raise SystemExit("the two have other accuracies")
    size = sets * images * classes * {"float16": 2, "float32": 4, "float64": 8}[dtype]
    figures: dict[str, Any] = {"sets": sets, "images": images, "classes": classes, "dtype": dtype, "compressed": compressed, "bytes": size}
    for what, done in runs.items():
        cpu = statistics.median(run["cpu"] for run in done)
        figures[what] = {"cpu_seconds": cpu, "gigabytes_a_second": size / cpu / 1e9, "peak": max(run["peak"] for run in done)}
    figures["ratio"] = figures["plain"]["cpu_seconds"] / figures["read"]["cpu_seconds"]
    return figures


def show_reading(figures: dict[str, Any]) -> None:
    """Print what reading costs."""
    shape = f"{figures['sets']} sets of {figures['images']:,} x {figures['classes']:,} {figures['dtype']} logits"
    rows = [
        (name, f"{figures[what]['cpu_seconds']:.2f}", f"{figures[what]['gigabytes_a_second']:.2f}", f"{figures[what]['peak'] / 1e6:.0f}")
        for what, name in (("plain", "numpy's load and argmax"), ("read", "ours: accuracy, top 5, rank, probability"))
    ]
    show(f"{shape}: ours is {figures['ratio']:.1f} times as fast", ("", "processor s", "GB/s", "peak MB"), rows)


def scoring(work: Path, *, repeats: int) -> dict[str, Any]:
    """Measure the resamples of ImageNet-C's shape, and the command on CIFAR-10-C's; return the seconds of each."""
    names, predictions = set_ids(95), work / "cifar"
    data = write_data_set(work / "cifar-data", names, 10_000, 10)
    write_logits(predictions, names, 10_000, 10, "float32")
    tasks: dict[str, dict[str, Any]] = {
        "1,000 resamples of 75 sets x 50,000 images": {"what": "resample", "images": 50_000, "sets": 75},
        "corruptset score, 95 sets x 10,000 x 10 float32 logits, with its start": {
            "what": "command",
            "data": str(data),
            "predictions": str(predictions),
        },
    }
    runs = {name: [child("score_tasks", task) for _ in range(repeats)] for name, task in tasks.items()}
    return {name: {key: statistics.median(run[key] for run in done) for key in ("seconds", "cpu")} for name, done in runs.items()}


def show_scoring(figures: dict[str, Any]) -> None:
    """Print what scoring costs; the goal is under 5 s each, on one core."""
    rows = [(name, f"{one['seconds']:.2f}", f"{one['cpu']:.2f}") for name, one in figures.items()]
    show("Goal: under 5 s each", ("", "seconds", "processor s"), rows)


def main() -> None:
    parser = options(__doc__, repeats=5)
    parser.add_argument("--sets", type=int, default=3)
    parser.add_argument("--images", type=int, default=50_000, help="of each set")
    parser.add_argument("--classes", type=int, default=1000)
    parser.add_argument("--dtype", choices=("float16", "float32", "float64"), default="float16")
    parser.add_argument("--compressed", action="store_true", help="as np.savez_compressed writes them")
    parser.add_argument("--folder", type=Path, help="on the disk that is meant; by default the system's folder for temporary files")
    arguments = parser.parse_args()
    shape = {name: getattr(arguments, name) for name in ("sets", "images", "classes", "dtype", "compressed", "repeats")}
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        figures = {"reading": reading(Path(folder), **shape)}
        figures["scoring"] = scoring(Path(folder), repeats=arguments.repeats)
    show_reading(figures["reading"])
    show_scoring(figures["scoring"])
    save(arguments.json, figures)


if __name__ == "__main__":
    main()
