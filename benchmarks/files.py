"""What it costs to put encoded images on this disk, way by way: ``python -m benchmarks.files``.

The same bytes, in the same class folders of the same sets: as files of their own (by path, by the folder's handle, under a temporary name
and renamed), and one behind the other in one file a set (raw, tar), which is waited for. ``--folder`` says which disk. Nothing is deleted
before the end; ``--after-deleting`` deletes as many files before each, as a user does who builds anew: ext4 looks at every inode that was
deleted in the last minutes before it takes a free one.
"""

from __future__ import annotations

import argparse
import io
import os
import shutil
import statistics
import sys
import tarfile
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from rich.console import Console
from rich.table import Table

SETS = 75
BYTES = 15_000
RUN = 13
"""Images of a set that a build writes before it goes on to the next set."""
FLAGS = os.O_WRONLY | os.O_CREAT | os.O_TRUNC


def _write(fd: int, data: bytes) -> None:
    os.write(fd, data)
    os.close(fd)


def by_file_object(root: Path, set_id: int, numbers: range, data: bytes) -> None:
    for i in numbers:
        with open(root / f"{set_id}/class/{i}.JPEG", "wb") as f:
            f.write(data)


def by_path(root: Path, set_id: int, numbers: range, data: bytes) -> None:
    for i in numbers:
        _write(os.open(f"{root}/{set_id}/class/{i}.JPEG", FLAGS, 0o666), data)


def by_folder_handle(root: Path, set_id: int, numbers: range, data: bytes) -> None:
    folder = os.open(f"{root}/{set_id}/class", os.O_RDONLY)
    for i in numbers:
        _write(os.open(f"{i}.JPEG", FLAGS, 0o666, dir_fd=folder), data)
    os.close(folder)


def renamed(root: Path, set_id: int, numbers: range, data: bytes) -> None:
    for i in numbers:
        _write(os.open(f"{root}/{set_id}/class/.part", FLAGS, 0o666), data)
        os.replace(f"{root}/{set_id}/class/.part", f"{root}/{set_id}/class/{i}.JPEG")


def raw(root: Path, set_id: int, numbers: range, data: bytes) -> None:
    with open(f"{root}/{set_id}/{numbers.start}.raw", "wb") as f:
        for _ in numbers:
            f.write(data)
        f.flush()
        os.fsync(f.fileno())


def tar(root: Path, set_id: int, numbers: range, data: bytes) -> None:
    with open(f"{root}/{set_id}/{numbers.start}.tar", "wb") as f:
        with tarfile.open(fileobj=f, mode="w", format=tarfile.PAX_FORMAT) as archive:
            for i in numbers:
                member = tarfile.TarInfo(f"{set_id}/class/{i}.JPEG")
                member.size = len(data)
                archive.addfile(member, io.BytesIO(data))
        f.flush()
        os.fsync(f.fileno())


WAYS: dict[str, Callable[[Path, int, range, bytes], None]] = {
    "a file object each": by_file_object,
    "three system calls each, by path": by_path,
    "three system calls each, by the folder's handle": by_folder_handle,
    "temporary name and rename": renamed,
    "one file a set, waited for": raw,
    "one tar a set, waited for": tar,
}


def seconds(way: Callable[[Path, int, range, bytes], None], root: Path, count: int, step: int) -> float:
    """Return the seconds of `count` images of every set, in runs of `step`, set by set as a build writes them."""
    for set_id in range(SETS):
        (root / f"{set_id}/class").mkdir(parents=True)
    data = os.urandom(BYTES)
    start = time.perf_counter()
    for first in range(0, count, step):
        for set_id in range(SETS):
            way(root, set_id, range(first, first + step), data)
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--images", type=int, default=104, help="images of each of 75 sets, a multiple of 13")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--folder", type=Path, help="on the disk that is meant; by default the system's folder for temporary files")
    parser.add_argument("--after-deleting", action="store_true", help="delete as many files right before each")
    arguments = parser.parse_args()
    table = Table(title=f"{SETS} sets x {arguments.images} images of {BYTES:,} bytes, medians of {arguments.repeats}", title_justify="left")
    for heading in ("way", "us an image", "fastest", "slowest"):
        table.add_column(heading, justify="left" if heading == "way" else "right")
    found: dict[str, list[float]] = {name: [] for name in WAYS}
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        for repeat in range(arguments.repeats):
            for name, way in WAYS.items():
                root = Path(folder) / f"{name} {repeat}"
                if arguments.after_deleting:
                    seconds(by_path, root, arguments.images, RUN)
                    shutil.rmtree(root)
                os.sync()
                step = arguments.images if way in (raw, tar) else RUN
                found[name].append(seconds(way, root, arguments.images, step) / (arguments.images * SETS) * 1e6)
    for name, times in found.items():
        table.add_row(name, f"{statistics.median(times):.0f}", f"{min(times):.0f}", f"{max(times):.0f}")
    Console(width=110).print(table)


if __name__ == "__main__":
    sys.exit(main())
