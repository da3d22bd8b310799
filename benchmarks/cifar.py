"""The real build of cifar10-c and its export: ``python -m benchmarks.cifar``.

From an archive shaped as CIFAR-10's python version, filled with crops of the sample photographs, all 96 sets are built
by one process and by two, and exported as ``cifar-c``. Every step runs once, in a process of its own; 10,000 images
need 6 GB of temporary space.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

import corruptset

from .sources import cifar
from .timing import child, options, save, show


def step(**task: Any) -> dict[str, Any]:
    """Return the figures of a build or an export, with their names in ``--json``."""
    done = child("job", task)
    figures = {name: done[name] for name in ("seconds", "peak", "images", "digest")}
    return {**figures, "cpu_seconds": done["cpu"]}


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--images", type=int, default=10_000)
    parser.add_argument(
        "--sets", nargs="+", metavar="GLOB", help="only these of the 96 sets, all five severities of each: contrast/*"
    )
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        # the default is HDF5 for CIFAR's 10,000 images, and both containers for few
        task = {
            "recipe": "cifar10-c",
            "source": cifar(work / "source", arguments.images),
            "sets": arguments.sets,
            "format": "hdf5",
        }
        # the first build compiles kernels and makes tables, once on a machine
        step(**task, out=str(work / "warm"), jobs=1, first=8)
        steps: dict[str, dict[str, Any]] = {}
        for jobs in (1, 2):
            shutil.rmtree(work / "out", ignore_errors=True)  # one build at a time, for the space
            steps[f"build, --jobs {jobs}"] = step(**task, out=str(work / "out"), jobs=jobs)
        (built,) = (work / "out").iterdir()
        steps["export cifar-c"] = step(what="export", view="cifar-c", directory=str(built), out=str(work / "exported"))
        exported = sum(p.stat().st_size for p in (work / "exported").rglob("*.npy"))
    (count,) = {s["images"] for s in steps.values()}
    (digest,) = {s["digest"] for s in steps.values()}
    show(
        f"cifar10-c, {count // arguments.images} sets of {arguments.images} images, HDF5, one run; us are of one "
        "image of one set",
        ("what", "s", "CPU s", "us", "CPU us", "peak MB"),
        [
            (
                name,
                *(f"{s[of] / share:.1f}" for share in (1, count / 1e6) for of in ("seconds", "cpu_seconds")),
                f"{s['peak'] / 1e6:.0f}",
            )
            for name, s in steps.items()
        ],
    )
    one, two = (steps[f"build, --jobs {jobs}"]["seconds"] for jobs in (1, 2))
    print(f"two processes are {one / two:.2f} times as fast as one; both builds have one digest:\n{digest}")
    print(f"exported: {exported / 1e9:.2f} GB (corruptset {corruptset.__version__})")
    save(arguments.json, steps)


if __name__ == "__main__":
    main()
