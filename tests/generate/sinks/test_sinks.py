"""Where images go: image folders and arrays."""

import json
import os
import stat
from pathlib import Path

import numpy as np
import pytest

from corruptset.generate.pixels.encoding import JpegEncoding
from corruptset.generate.sinks.containers import Sink
from corruptset.generate.sinks.set_writer import SetWriter, write_file, write_rows
from corruptset.generate.sinks.sink import Run
from corruptset.generate.sources.source import Sample
from corruptset.manifests.records.digests import sha256_bytes


def images(count: int, shape: tuple[int, ...] = (9, 11, 3)) -> np.ndarray:
    return np.random.Generator(np.random.Philox(1)).integers(0, 256, (count, *shape), dtype=np.uint8)


def test_rows_of_an_array_are_on_disk_when_they_are_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A part's sidecar may follow at once: after a power cut its rows must be there, and the array's name."""
    synced: list[tuple[str, int]] = []
    real = os.fsync

    def fsync(fd: int) -> None:
        status = os.fstat(fd)
        name = next(p.name for p in tmp_path.rglob("*") if p.stat().st_ino == status.st_ino)
        synced.append((name, 0 if stat.S_ISDIR(status.st_mode) else os.pread(fd, 1, status.st_size - 1)[0]))
        real(fd)

    monkeypatch.setattr(os, "fsync", fsync)
    rows = images(5)
    rows[-1, -1, -1] = 77
    (tmp_path / "top").mkdir()
    write_rows(tmp_path / "top/fog.npy", 5, 0, rows)
    assert synced == [("fog.npy", 77), ("top", 0)]
    np.testing.assert_array_equal(np.load(tmp_path / "top/fog.npy"), rows)


def test_folders_are_the_imagenet_c_layout(tmp_path: Path) -> None:
    sink = Sink("files", JpegEncoding(), ("n01440764",), "small-c 1.0.0")
    sample = Sample(0, "n01440764/ILSVRC2012_val_00000293", 0)
    path = sink.image_path("fog/3", 0, sample)
    assert path == "images/fog/3/n01440764/ILSVRC2012_val_00000293.JPEG"
    for value in (b"one", b"2"):
        write_file(str(tmp_path / "image"), value)
        assert (tmp_path / "image").read_bytes() == value
    writer = SetWriter(
        "fog/3",
        Run(0, 0, 1),
        [sink],
        directory=tmp_path,
        encoding=JpegEncoding(),
        samples=[sample],
        measured=frozenset(),
    )
    writer.add([0], images(1), images(1))
    writer.finish()
    (stored,) = json.loads(writer.lines())["files"]
    data = (tmp_path / path).read_bytes()
    assert stored == {"path": path, "row": None, "bytes": len(data), "sha256": sha256_bytes(data)}
