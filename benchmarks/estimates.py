"""Compare the estimates of `plan` with builds: ``python -m benchmarks.estimates``.

Each recipe is planned in a new process, and then built in another new process. With ``--cold``, the kernel cache is
empty at first, so the plan compiles all kernels. Use ``--only`` and ``--images`` for a shorter run, and ``--json`` to
save the results.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import sources
from .timing import child, options, save, show


@dataclass(frozen=True)
class Case:
    """A build whose estimate is checked."""

    recipe: str
    source: Callable[[Path, int], str]
    images: int


CASES = (
    Case("cifar10-c", sources.cifar, 10_000),
    Case("imagenet-c", sources.photographs, 200),
    Case("image-degrade-30", sources.photographs, 20),
    Case("two-factor-69", sources.cifar, 500),
)


def measure(case: Case, count: int, work: Path) -> dict[str, Any]:
    """Return the planned and the actual size and duration of a build."""
    source = case.source(work / "source", count)
    planned = child("job", {"what": "plan", "recipe": case.recipe, "source": source})
    built = child("job", {"recipe": case.recipe, "source": source, "out": str(work / "out")})
    size = sum(path.stat().st_size for path in Path(built["directory"]).rglob("*") if path.is_file())
    return {
        "images": count,
        "looked_at": planned["looked_at"],
        "deviation": planned["deviation"],
        "planning": planned["seconds"],
        "planned_bytes": planned["bytes"],
        "bytes": size,
        "planned_seconds": planned["planned_seconds"],
        "seconds": built["seconds"],
    }


def main() -> None:
    parser = options(__doc__)
    parser.add_argument(
        "--only", nargs="+", metavar="RECIPE", help=f"recipes to measure: {', '.join(c.recipe for c in CASES)}"
    )
    parser.add_argument("--images", type=int, help="the number of images of every source, instead of the default")
    parser.add_argument("--cold", action="store_true", help="begin each recipe with an empty kernel cache")
    parser.add_argument("--folder", type=Path, help="the folder for sources and builds, by default a temporary one")
    arguments = parser.parse_args()
    results: dict[str, dict[str, Any]] = {}
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        for case in CASES:
            if arguments.only is not None and case.recipe not in arguments.only:
                continue
            work = Path(folder, case.recipe)
            if arguments.cold:
                os.environ["CORRUPTSET_CACHE"] = str(work / "cache")
            results[case.recipe] = measure(case, arguments.images or case.images, work)
            shutil.rmtree(work)
            print(f"{case.recipe}: {results[case.recipe]}", file=sys.stderr)
    show(
        "estimates of plan",
        (
            "recipe",
            "images",
            "looked at",
            "planned MB",
            "real MB",
            "ratio",
            "planned s",
            "real s",
            "ratio",
            "plan took",
        ),
        [
            (
                recipe,
                f"{r['images']:,}",
                f"{r['looked_at']} (within {r['deviation']:.0%})",
                f"{r['planned_bytes'] / 1e6:.1f}",
                f"{r['bytes'] / 1e6:.1f}",
                f"{r['planned_bytes'] / r['bytes']:.2f}",
                f"{r['planned_seconds']:.1f}",
                f"{r['seconds']:.1f}",
                f"{r['planned_seconds'] / r['seconds']:.2f}",
                f"{r['planning']:.1f} s",
            )
            for recipe, r in results.items()
        ],
    )
    save(arguments.json, results)


if __name__ == "__main__":
    main()
