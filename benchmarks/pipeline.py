"""Compare whole builds with their floors and with another package: ``python -m benchmarks.pipeline``.

The floor is the time for the work that every generator must do (floors.py). Builds and floors are measured with one
process on the same machine, so the ratios are more meaningful than the seconds. Use ``--only`` and ``--images`` for a
shorter run, and ``--json`` to save the results.

Folders with image files are deleted only at the end. For up to six minutes after a file is deleted, ext4 does not reuse
its inode. It still examines that inode when it searches for a free one, so creating a file can take ten times as long.
"""

from __future__ import annotations

import shutil
import statistics
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import corruptset

from . import sources
from .peer import NAME, run_peer
from .timing import child, options, save, show

PEER_IMAGES = 6


@dataclass(frozen=True)
class Case:
    """A build to measure."""

    recipe: str
    source: Callable[[Path, int], str]
    images: int
    storage: str
    options: dict[str, Any] = field(default_factory=dict)
    layout: str | None = None
    """The layout of an export to measure. If it is given, a build with two processes is measured too."""

    @property
    def name(self) -> str:
        """The name of the recipe, followed by the options of the build."""
        return self.recipe + "".join(f" --{name}" for name in self.options)


CASES = (
    Case("imagenet-c", sources.photographs, 512, "folder"),
    Case("imagenet-c", sources.photographs, 512, "folder", {"optimize": True}),
    Case("imagenet-c-all", sources.photographs, 256, "folder"),
    Case("image-degrade-30", sources.photographs, 12, "folder"),
    Case("two-factor-69", sources.cifar, 500, "hdf5"),
    Case("cifar10-c", sources.cifar, 10_000, "hdf5", layout="cifar-c"),
    Case("mnist-c", sources.mnist, 10_000, "hdf5"),
)


def measure(case: Case, source: str, work: Path, repeats: int) -> dict[str, Any]:
    """Return the median seconds of a build and of its floor, and other measurements."""
    builds, floors = [], []
    more: dict[str, float] = {}
    for repeat in range(repeats):
        out, floor_out = work / f"{case.name} {repeat}", work / f"floor of {case.name} {repeat}"
        task = {
            "recipe": case.recipe,
            "source": source,
            "storage": case.storage,
            **case.options,
            "out": str(out),
            "jobs": 1,
        }
        builds.append(child("job", task))
        floors.append(
            child("floors", {"source": source, "like": builds[-1]["directory"], "out": str(floor_out)})["seconds"]
        )
        if case.layout is not None and repeat == 0:
            more = measure_more(case, task, builds[-1], work)
        if case.storage != "folder":  # large files would fill the disk, and deleting a few files is harmless
            shutil.rmtree(out)
            shutil.rmtree(floor_out, ignore_errors=True)
    middle = sorted(builds, key=lambda b: b["seconds"])[len(builds) // 2]
    return {
        **{name: middle[name] for name in ("seconds", "cpu", "images", "sets", "digest", "peak", "corruptions")},
        "floor": statistics.median(floors),
        "ratio": statistics.median(b["seconds"] for b in builds) / statistics.median(floors),
        "samples": case.images,
        **more,
    }


def measure_more(case: Case, task: dict[str, Any], built: dict[str, Any], work: Path) -> dict[str, float]:
    """Return the seconds for the same build with two processes, and for an export of the build."""
    two, exported = work / f"{case.name} with two processes", work / f"{case.name} exported"
    with_two = child("job", {**task, "out": str(two), "jobs": 2})
    export = {"what": "export", "layout": case.layout, "directory": built["directory"], "out": str(exported)}
    figures = {"two": with_two["seconds"], "export": child("job", export)["seconds"]}
    for folder in (two, exported):
        shutil.rmtree(folder)
    return figures


def show_builds(results: dict[str, dict[str, Any]], repeats: int) -> None:
    """Print the table of results."""
    show(
        f"whole builds, one process, medians of {repeats}",
        (
            "what",
            "sets x images",
            "ms per image",
            "us per output",
            "floor",
            "build / floor",
            "two, s",
            "export, s",
            "peak MB",
        ),
        [
            (
                name,
                f"{r['sets']} x {r['samples']}",
                f"{r['seconds'] / r['samples'] * 1e3:.2f}",
                f"{r['seconds'] / r['images'] * 1e6:.1f}",
                f"{r['floor'] / r['samples'] * 1e3:.2f}",
                f"{r['ratio']:.2f}",
                *(f"{r[name]:.1f}" if name in r else "-" for name in ("two", "export")),
                f"{r['peak'] / 1e6:.0f}",
            )
            for name, r in results.items()
        ],
    )


def peer_seconds(work: Path, corruptions: Sequence[str]) -> float:
    """Return the seconds that the other package takes to make the 75 outputs for one image."""
    sources.photographs(work / "peer-source", PEER_IMAGES)
    files = [str(f) for f in sorted((work / "peer-source").rglob("*.JPEG"))]
    peer: float = run_peer("pipeline", files=files, names=corruptions, folder=str(work / "peer"))["median_seconds"]
    return peer


def main() -> None:
    parser = options(__doc__, repeats=3)
    parser.add_argument(
        "--only", nargs="+", metavar="WHAT", help=f"builds to measure: {', '.join(repr(c.name) for c in CASES)}"
    )
    parser.add_argument("--images", type=int, help="number of samples of every source, instead of the default")
    parser.add_argument("--no-peer", action="store_true", help=f"do not compare with {NAME}")
    arguments = parser.parse_args()
    cases = [c for c in CASES if arguments.only is None or c.name in arguments.only]
    if not cases:
        parser.error(f"unknown builds: {', '.join(arguments.only)}")
    results: dict[str, dict[str, Any]] = {}
    figures: dict[str, Any] = {"builds": results}
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        for number, case in enumerate(cases):
            case = replace(case, images=arguments.images or case.images)
            source = case.source(work / f"source{number}", case.images)
            # A first build is not measured, because it compiles kernels and computes tables.
            warm = {
                "recipe": case.recipe,
                "source": source,
                "storage": case.storage,
                "out": str(work / f"warm {number}"),
            }
            child("job", {**warm, "jobs": 2, "first": 8})
            results[case.name] = measure(case, source, work, arguments.repeats)
            print(f"{case.name}: {results[case.name]['ratio']:.2f} times its floor", file=sys.stderr)
        corruptions = {name: r.pop("corruptions") for name, r in results.items()}
        if not arguments.no_peer and "imagenet-c" in results:
            peer = peer_seconds(work, corruptions["imagenet-c"])
            ours = results["imagenet-c"]["seconds"] / results["imagenet-c"]["samples"]
            figures["peer"] = {"seconds": peer, "ratio": peer / ours}
    show_builds(results, arguments.repeats)
    if "peer" in figures:
        print(
            f"{NAME} needs {figures['peer']['seconds'] * 1e3:.0f} ms per image to make, encode and write the same 75 "
            f"files. The build is {figures['peer']['ratio']:.1f} times as fast (corruptset {corruptset.__version__})."
        )
    save(arguments.json, figures)


if __name__ == "__main__":
    main()
