"""Large files: their bytes and hash, there whole or not at all."""

from __future__ import annotations

import hashlib
import os
import resource
from pathlib import Path

import numpy as np
import pytest

from corruptset.manifests.disk.atomic import LargeFile, write_large

BUFFER = 1 << 19
SIZES = (0, 1, 4097, BUFFER, BUFFER + 1, 3 * BUFFER + 12_345)


def data_of(size: int) -> bytes:
    return np.random.default_rng(size).integers(0, 256, size, np.uint8).tobytes()


def cut(data: bytes, step: int) -> list[bytes]:
    return [data[i : i + step] for i in range(0, len(data), step)]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("step", [1000, BUFFER + 7, 10 * BUFFER])
def test_bytes_and_hash(tmp_path: Path, size: int, step: int) -> None:
    data = data_of(size)
    assert write_large(tmp_path / "a", cut(data, step)) == (size, "sha256:" + hashlib.sha256(data).hexdigest())
    assert (tmp_path / "a").read_bytes() == data
    assert os.listdir(tmp_path) == ["a"]


def test_arrays_of_any_shape_are_written(tmp_path: Path) -> None:
    arrays = [np.arange(24, dtype=np.int64).reshape(2, 3, 4), np.empty((0, 5), np.uint8), np.ones((3, 3), bool)]
    with LargeFile(tmp_path / "a") as file:
        for array in arrays:
            file.write(array)
        assert file.written == 201
    assert (tmp_path / "a").read_bytes() == b"".join(a.tobytes() for a in arrays)


def test_a_file_that_is_there_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"mine")
    with pytest.raises(FileExistsError):
        LargeFile(tmp_path / "a")
    assert (tmp_path / "a").read_bytes() == b"mine"


@pytest.mark.parametrize("limit", [0, BUFFER + 1, 2 * BUFFER])
def test_a_full_disk_leaves_the_old_file_and_is_named(tmp_path: Path, limit: int) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"old")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, before[1]))
    try:
        with pytest.raises(OSError, match="too large") as caught:
            write_large(path, cut(data_of(2 * BUFFER + 1), 1000))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert str(tmp_path) in str(caught.value.filename)
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["a"]


def test_it_is_on_disk_before_it_takes_the_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    steps: list[str] = []
    fsync, replace = os.fsync, os.replace
    monkeypatch.setattr(os, "fsync", lambda fd: (steps.append("fsync"), fsync(fd)))
    monkeypatch.setattr(os, "replace", lambda a, b: (steps.append(f"replace {Path(a).suffix}"), replace(a, b)))
    write_large(tmp_path / "a", [data_of(BUFFER + 1)])
    assert steps == ["fsync", "replace .part", "fsync"]
