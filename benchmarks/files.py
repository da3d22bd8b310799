"""What it costs to put encoded images on this disk, way by way: ``python -m benchmarks.files``.

The same bytes, in the same class folders of the same sets: as files of their own (by path, by the folder's handle, under a temporary name
and renamed), and one behind the other in one file a set (raw, tar), which is waited for. ``--folder`` says which disk. Nothing is deleted
before the end; ``--after-deleting`` deletes as many files before each, as a user does who builds anew: ext4 looks at every inode that was
deleted in the last minutes before it takes a free one.
"""

from __future__ import annotations

import io
import os
import shutil
import statistics
import tarfile
import tempfile
from collections.abc import Callable
from pathlib import Path

from .timing import options, save, seconds, show

SETS = 75
BYTES = 15_000
RUN = 13
"""Images of a set that a build writes before it goes on to the next set."""


def _write(path: str, data: bytes, folder: int | None = None) -> None:
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666, dir_fd=folder)
    os.write(fd, data)
    os.close(fd)


def by_file_object(root: Path, numbers: range, data: bytes) -> None:
    for i in numbers:
        with open(root / f"class/{i}.JPEG", "wb") as f:
            f.write(data)


def by_path(root: Path, numbers: range, data: bytes) -> None:
    for i in numbers:
        _write(f"{root}/class/{i}.JPEG", data)


def by_folder_handle(root: Path, numbers: range, data: bytes) -> None:
    folder = os.open(f"{root}/class", os.O_RDONLY)
    for i in numbers:
        _write(f"{i}.JPEG", data, folder)
    os.close(folder)


def renamed(root: Path, numbers: range, data: bytes) -> None:
    for i in numbers:
        _write(f"{root}/class/.part", data)
        os.replace(f"{root}/class/.part", f"{root}/class/{i}.JPEG")


def raw(root: Path, numbers: range, data: bytes) -> None:
    with open(root / "all.raw", "wb") as f:
        f.writelines(data for _ in numbers)
        f.flush()
        os.fsync(f.fileno())


def tar(root: Path, numbers: range, data: bytes) -> None:
    with open(root / "all.tar", "wb") as f:
        with tarfile.open(fileobj=f, mode="w", format=tarfile.PAX_FORMAT) as archive:
            for i in numbers:
                member = tarfile.TarInfo(f"class/{i}.JPEG")
                member.size = len(data)
                archive.addfile(member, io.BytesIO(data))
        f.flush()
        os.fsync(f.fileno())


Way = Callable[[Path, range, bytes], None]
WAYS: dict[str, Way] = {
    "a file object each": by_file_object,
    "three system calls each, by path": by_path,
    "three system calls each, by the folder's handle": by_folder_handle,
    "temporary name and rename": renamed,
    "one file a set, waited for": raw,
    "one tar a set, waited for": tar,
}


def written(way: Way, root: Path, count: int) -> float:
    """Return the seconds of `count` images of every set, in runs, set by set as a build writes them."""
    folders = [root / str(number) for number in range(SETS)]
    for folder in folders:
        (folder / "class").mkdir(parents=True)
    data = os.urandom(BYTES)
    run = count if way in (raw, tar) else RUN
    runs = [range(first, first + run) for first in range(0, count, run)]
    return seconds(lambda: [way(folder, numbers, data) for numbers in runs for folder in folders])


def main() -> None:
    parser = options(__doc__, repeats=5)
    parser.add_argument("--images", type=int, default=104, help="images of each of 75 sets, a multiple of 13")
    parser.add_argument("--folder", type=Path, help="on the disk that is meant; by default the system's folder for temporary files")
    parser.add_argument("--after-deleting", action="store_true", help="delete as many files right before each")
    arguments = parser.parse_args()
    costs: dict[str, list[float]] = {name: [] for name in WAYS}
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        for repeat in range(arguments.repeats):
            for name, way in WAYS.items():
                root = Path(folder) / f"{name} {repeat}"
                if arguments.after_deleting:
                    written(by_path, root, arguments.images)
                    shutil.rmtree(root)
                os.sync()
                costs[name].append(written(way, root, arguments.images) / (arguments.images * SETS) * 1e6)
    show(
        f"{SETS} sets x {arguments.images} images of {BYTES:,} bytes, medians of {arguments.repeats}",
        ("way", "us an image", "fastest", "slowest"),
        [(name, f"{statistics.median(us):.0f}", f"{min(us):.0f}", f"{max(us):.0f}") for name, us in costs.items()],
    )
    save(arguments.json, costs)


if __name__ == "__main__":
    main()
