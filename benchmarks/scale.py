"""What the full sets would take, from measured figures: ``python -m benchmarks.scale FIGURES.json``.

`FIGURES.json` is what ``python -m benchmarks.pipeline --json FIGURES.json`` wrote. Nothing is built: an output's seconds and bytes, of the
build with one process, are multiplied.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .timing import show

CORES = (2, 16, 256)


@dataclass(frozen=True)
class Full:
    """A set in full."""

    name: str
    measured: str
    """The build whose outputs are like its own."""
    images: int
    sets: int
    files: bool
    stages: float = 1.0
    """Stages applied an output, against the measured build's."""


FULL = (
    Full("imagenet-c, 50,000 images", "imagenet-c", 50_000, 75, True),
    Full("imagenet-c-all, 50,000 images", "imagenet-c-all", 50_000, 95, True),
    Full("two-factor-imagenet-c, 50,000 images", "imagenet-c", 50_000, 5_250, True, 5_325 / 5_250),
    Full("two-factor-imagenet-c, 1,000 images", "imagenet-c", 1_000, 5_250, True, 5_325 / 5_250),
    Full("cifar10-c, 10,000 images", "cifar10-c", 10_000, 95, False),
)


def seconds_of(figures: dict[str, Any], full: Full) -> float:
    """Return the seconds of one process: corruption by stages applied, the rest by outputs."""
    build = figures["builds"][full.measured]
    corrupting = sum(seconds for name, seconds in build["stages"].items() if name.startswith("corrupt: "))
    share = corrupting / sum(build["stages"].values())
    one = build["seconds"] / build["images"]
    return full.images * full.sets * one * (1 - share + share * full.stages)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("figures", type=Path)
    parser.add_argument("--efficiency", type=float, default=1.0, help="of each core where all work; `growth --only workers` measures two")
    arguments = parser.parse_args()
    figures = json.loads(arguments.figures.read_text(encoding="utf-8"))
    rows = []
    for full in FULL:
        if full.measured not in figures["builds"]:
            continue
        build = figures["builds"][full.measured]
        outputs = full.images * full.sets
        hours = [seconds_of(figures, full) / n / arguments.efficiency / 3600 for n in CORES]
        size = outputs * build["bytes"] / build["images"] / 1e12
        files = outputs if full.files else full.sets * 8
        rows.append((full.name, f"{outputs:,}", *(f"{h:.2f}" for h in hours), f"{size:.3f}", f"{files:,}"))
    show("hours, by cores", ("what", "outputs", *(f"{n} cores" for n in CORES), "TB", "files"), rows)


if __name__ == "__main__":
    main()
