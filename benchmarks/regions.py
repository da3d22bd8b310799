"""``fragile-imagenet`` against the floor and against a plain loop: ``python -m benchmarks.regions``.

Photographs of 500x375 cut from the sample photographs are built by one process, twice, with the floor measured before and after each build;
the floor crops, resizes and encodes the same regions (`region_loops`). Ratios are of processor seconds. Goal: at most 1.5 times the floor.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import corruptset

from .sources import photographs
from .timing import child, options, save, show


def main() -> None:
    parser = options(__doc__, repeats=2)
    parser.add_argument("--images", type=int, default=20)
    parser.add_argument("--plain-images", type=int, default=2, help="images of the plain loop, which takes longer")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        source = photographs(work / "source", arguments.images)
        planned = corruptset.plan("fragile-imagenet", source, jobs=1, format="folder")
        task = {"recipe": "fragile-imagenet", "source": source, "jobs": 1, "format": "folder"}
        child("job", {**task, "out": str(work / "warm"), "first": 1})  # the first one compiles kernels
        builds, floors = [], []
        for _ in range(arguments.repeats):
            shutil.rmtree(work / "out", ignore_errors=True)
            builds.append(child("job", {**task, "out": str(work / "out")}))
            (built,) = (work / "out").iterdir()
            floors.append(child("region_loops", {"which": "floor", "source": source, "like": str(built)}))
        (work / "plain").mkdir()
        plain = child(
            "region_loops",
            {"which": "plain", "source": source, "like": str(built), "folder": str(work / "plain"), "images": arguments.plain_images},
        )
        stored = sum(p.stat().st_size for p in built.rglob("*.png"))
    count = floors[0]["regions"]
    rows = [
        *(("build", b["seconds"], b["cpu"], count) for b in builds),
        *(("floor: crop, resize, encode", f["seconds"], f["cpu_seconds"], count) for f in floors),
        ("plain loop", plain["seconds"], plain["cpu_seconds"], plain["regions"]),
    ]
    show(
        f"fragile-imagenet, {arguments.images} photographs of 500x375: {count} regions of 224x224, one process",
        ("what", "s", "CPU s", "regions", "CPU ms a region"),
        [(name, f"{s:.1f}", f"{cpu:.1f}", f"{n}", f"{cpu / n * 1e3:.2f}") for name, s, cpu, n in rows],
    )
    each = [cpu / n for _, _, cpu, n in rows]
    ours = sum(each[: arguments.repeats]) / arguments.repeats
    ratio = ours / (sum(each[arguments.repeats : 2 * arguments.repeats]) / arguments.repeats)
    print(f"a build takes {ratio:.2f} times the floor, and {ours / each[-1]:.2f} times the plain loop")
    peak = max(b["peak"] for b in builds)
    print(f"stored {stored / 1e9:.2f} GB, planned {planned.bytes / 1e9:.2f} GB; {planned.samples} regions planned")
    print(f"peak {peak / 1e6:.0f} MB, planned at most {planned.memory_per_worker / 1e6:.0f} MB (corruptset {corruptset.__version__})")
    save(
        arguments.json, {"builds": builds, "floors": floors, "plain": plain, "ratio": ratio, "stored": stored, "planned": planned.as_json()}
    )


if __name__ == "__main__":
    main()
