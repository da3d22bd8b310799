"""Whole builds against their floors and a peer, stage by stage: ``python -m benchmarks.pipeline``.

The floor is what any generator must do: the same reads, decodes, resizes, encodes (of the very same corrupted pixels) and writes, with no
corruption, no digest, no record; for arrays, writing the same bytes. One process, everything in one run; read the ratios.
``--only`` and ``--images`` make it smaller; ``--json`` keeps the figures, from which ``python -m benchmarks.chart`` draws a picture.

Image folders stay until the end: ext4 does not use an inode again for up to six minutes after it was deleted, and looks at each of those
before it finds a free one, so a file made right after many were deleted costs up to ten times as much.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

import corruptset
from corruptset.generate.recipes.recipe import load_recipe

from . import photographs
from .peer import NAME, run_peer

PEER_IMAGES = 6


@dataclass(frozen=True)
class Case:
    """A build that is measured."""

    recipe: str
    kind: str
    """The source: photographs, cifar or mnist."""
    images: int
    format: str
    options: tuple[tuple[str, Any], ...] = ()

    @property
    def name(self) -> str:
        return self.recipe + "".join(f" --{name}" for name, _ in self.options)


CASES = (
    Case("imagenet-c", "photographs", 512, "folder"),
    Case("imagenet-c", "photographs", 512, "folder", (("optimize", True),)),
    Case("imagenet-c-all", "photographs", 256, "folder"),
    Case("image-degrade-30", "photographs", 12, "folder"),
    Case("two-factor-69", "cifar", 500, "hdf5"),
    Case("cifar10-c", "cifar", 10_000, "hdf5"),
    Case("mnist-c", "mnist", 10_000, "hdf5"),
)


def as_installed() -> dict[str, str]:
    """Return the environment without the switch that keeps Python from keeping bytecode: an installed package has its bytecode."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def child(module: str, **task: Any) -> dict[str, Any]:
    """Run a module of benchmarks with a task, in a process of its own, and return what it printed last."""
    command = [sys.executable, "-m", f"benchmarks.{module}", json.dumps(task)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=as_installed())
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def measure(case: Case, source: str, work: Path, repeats: int) -> dict[str, Any]:
    """Return the medians of a build and its floor, in seconds, and what else was seen."""
    task = {"recipe": case.recipe, "source": source, "format": case.format, **dict(case.options)}
    builds, floors, staged = [], [], {}

    def done_with(out: Path) -> None:
        if case.format != "folder":  # a few large files, which fill the disk
            shutil.rmtree(out)

    for repeat in range(repeats + 1):
        out = work / f"{case.name} {repeat}"
        # the last build is timed by stages, and not against the floor: clocks cost a little
        done = child("stages", **task, out=str(out), jobs=1, stages=repeat == repeats)
        if repeat == repeats:
            staged = done
        else:
            builds.append(done)
        done_with(out)
        if repeat < repeats:
            out = work / f"floor of {case.name} {repeat}"
            floors.append(child("floors", **task, out=str(out))["seconds"])
            done_with(out)
    middle = sorted(builds, key=lambda b: b["seconds"])[len(builds) // 2]
    del middle["directory"]  # of no use to anyone
    return {
        **middle,
        "floor": statistics.median(floors),
        "ratio": statistics.median(b["seconds"] for b in builds) / statistics.median(floors),
        "samples": case.images,
        "stages": staged["stages"],
    }


def grouped(stages: dict[str, float]) -> dict[str, float]:
    """Return stages with all corruptions as one."""
    found: dict[str, float] = {}
    for name, seconds in stages.items():
        key = "corrupt" if name.startswith("corrupt: ") else name
        found[key] = found.get(key, 0.0) + seconds
    return found


def show(console: Console, results: dict[str, dict[str, Any]], repeats: int) -> None:
    """Print what was measured."""
    table = Table(title=f"whole builds, one process, medians of {repeats}", title_justify="left")
    for heading in ("what", "sets x images", "ms an image", "us an output", "floor", "build / floor", "peak MB"):
        table.add_column(heading, justify="left" if heading == "what" else "right")
    for name, r in results.items():
        table.add_row(
            name,
            f"{r['sets']} x {r['samples']}",
            f"{r['seconds'] / r['samples'] * 1e3:.2f}",
            f"{r['seconds'] / r['images'] * 1e6:.1f}",
            f"{r['floor'] / r['samples'] * 1e3:.2f}",
            f"{r['ratio']:.2f}",
            f"{r['peak'] / 1e6:.0f}",
        )
    console.print(table)
    names = sorted({stage for r in results.values() for stage in grouped(r["stages"])})
    table = Table(title="processor time by stage, us an output", title_justify="left")
    table.add_column("stage")
    for name in results:
        table.add_column(name, justify="right")
    of_all = {name: grouped(r["stages"]) for name, r in results.items()}
    names.sort(key=lambda stage: -max(found.get(stage, 0.0) / results[name]["images"] for name, found in of_all.items()))
    for stage in names:
        cells = [found.get(stage, 0.0) / results[name]["images"] * 1e6 for name, found in of_all.items()]
        if max(cells) >= 0.05:
            table.add_row(stage, *(f"{c:.2f}" for c in cells))
    console.print(table)
    corruptions = sorted({s for r in results.values() for s in r["stages"] if s.startswith("corrupt: ")})
    table = Table(title="processor time by corruption, ms in all", title_justify="left")
    table.add_column("corruption")
    for name in results:
        table.add_column(name, justify="right")
    for stage in corruptions:
        cells = [f"{r['stages'][stage] * 1e3:.0f}" if stage in r["stages"] else "" for r in results.values()]
        table.add_row(stage.removeprefix("corrupt: "), *cells)
    console.print(table)


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", metavar="WHAT", help=f"some of: {', '.join(repr(c.name) for c in CASES)}")
    parser.add_argument("--images", type=int, help="samples of every source, in place of its own number")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--no-peer", action="store_true", help="leave the peer out")
    parser.add_argument("--json", type=Path, help="write the figures to this file as well")
    arguments = parser.parse_args(argv)
    cases = [c for c in CASES if arguments.only is None or c.name in arguments.only]
    if not cases:
        parser.error(f"none of these is measured here: {', '.join(arguments.only)}")
    console = Console(width=150)
    results: dict[str, dict[str, Any]] = {}
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        for number, case in enumerate(cases):
            case = replace(case, images=arguments.images or case.images)
            path = work / f"source{number}{'.tar.gz' if case.kind == 'cifar' else ''}"
            source: str = getattr(photographs, case.kind)(path, case.images)
            # what comes first compiles kernels and makes tables, once on a machine
            warm = str(work / f"warm {number}")
            child("stages", recipe=case.recipe, source=source, format=case.format, out=warm, jobs=2, first=8, stages=False)
            results[case.name] = measure(case, source, work, arguments.repeats)
            print(f"{case.name}: {results[case.name]['ratio']:.2f} times its floor", file=sys.stderr)
        figures: dict[str, Any] = {"builds": results}
        if not arguments.no_peer and "imagenet-c" in results:
            fifteen = sorted({s.stages[0].corruption for s in load_recipe("imagenet-c").resolve().sets})
            photographs.photographs(work / "peer-source", PEER_IMAGES)
            files = [str(f) for f in sorted((work / "peer-source").rglob("*.JPEG"))]
            peer = run_peer("pipeline", files=files, names=fifteen, folder=str(work / "peer"))["median_seconds"]
            ours = results["imagenet-c"]["seconds"] / results["imagenet-c"]["samples"]
            figures["peer"] = {"seconds": peer, "ratio": peer / ours}
    show(console, results, arguments.repeats)
    if "peer" in figures:
        console.print(
            f"{NAME}, the same 75 made, encoded and written: {figures['peer']['seconds'] * 1e3:.0f} ms an image; the build is "
            f"{figures['peer']['ratio']:.1f} times as fast (corruptset {corruptset.__version__})"
        )
    if arguments.json:
        arguments.json.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
