"""`pack` and `unpack` against sha256 alone and against plain `tar`, and the memory that they take: ``python -m benchmarks.archives``.

A build of many small images (64x64 PNG of noise, 12 kB each) is made in two sizes. Everything is read from the page cache; pack and
unpack write to the disk and wait for it, as they always do, tar does not. Each runs in a process of its own. Read the ratios.
"""

from __future__ import annotations

import hashlib
import shutil
import statistics
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .sources import noise_build, recipe
from .timing import child, options, save, seconds

IMAGE_BYTES = 12_000


def measure(folder: Path, megabytes: int, repeats: int) -> dict[str, Any]:
    """Make a build, measure, print, and return the figures."""
    build = noise_build(folder, megabytes, 64, IMAGE_BYTES, recipe("tiny", "gaussian_noise"), format="folder")
    files = sorted(p for p in build.rglob("*") if p.is_file())
    size = sum(p.stat().st_size for p in files) / 1e6
    plain, release, unpacked = folder / "plain", folder / "release", folder / "unpacked"
    held: dict[str, dict[str, int]] = {}

    def hashed() -> float:
        return seconds(lambda: [hashlib.sha256(path.read_bytes()).digest() for path in files])

    def tar(*arguments: Any) -> float:
        return seconds(lambda: subprocess.run(["tar", *map(str, arguments)], check=True))

    def untarred() -> float:
        shutil.rmtree(plain, ignore_errors=True)
        plain.mkdir()
        return tar("xf", folder / "plain.tar", "-C", plain)

    def ours(out: Path, what: str, **task: Any) -> float:
        shutil.rmtree(out, ignore_errors=True)
        figures = child("job", {"what": what, "out": str(out), **task})
        held[what] = max(held.get(what, {"peak": 0}), figures, key=lambda f: f["peak"])
        return float(figures["seconds"])

    steps: dict[str, Callable[[], float]] = {
        "sha256": hashed,
        "tar cf": lambda: tar("cf", folder / "plain.tar", "-C", build.parent, build.name),
        "pack": lambda: ours(release, "pack", directory=str(build)),
        "tar xf": untarred,
        "unpack": lambda: ours(unpacked, "unpack", archives=[str(p) for p in sorted(release.glob("data/*.tar"))]),
    }
    print(f"{size:.0f} MB in {len(files)} files, medians of {repeats}", flush=True)
    hashed()  # from the disk into the page cache
    medians: dict[str, float] = {}
    for what, step in steps.items():
        medians[what] = statistics.median(step() for _ in range(repeats))
        line = f"{what:7} {size / medians[what]:6.0f} MB/s  {medians[what] / medians['sha256']:5.2f} times sha256"
        if what in held:
            peak, before = held[what]["peak"] / 2**20, held[what]["held_before"] / 2**20
            line += f"  most memory {peak:.0f} MiB, of which {before:.0f} before it began"
        print(line, flush=True)
    return {"megabytes": size, "files": len(files), "seconds": medians, "peaks": {what: f["peak"] for what, f in held.items()}}


def main() -> None:
    """Measure builds of two sizes."""
    parser = options(__doc__, repeats=3)
    parser.add_argument("--megabytes", type=int, nargs="+", default=[200, 800], help="of builds; all but the smallest are measured once")
    parser.add_argument("--folder", type=Path, help="where the builds go; by default the system's folder for temporary files")
    given = parser.parse_args()
    figures = []
    for megabytes in given.megabytes:
        with tempfile.TemporaryDirectory(dir=given.folder) as name:
            figures.append(measure(Path(name), megabytes, given.repeats if megabytes == min(given.megabytes) else 1))
    save(given.json, {"builds": figures})


if __name__ == "__main__":
    main()
