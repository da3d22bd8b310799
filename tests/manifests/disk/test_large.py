"""Large files: the same bytes whichever way they reach the disk, whole or not at all."""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from corruptset.manifests.disk import large
from corruptset.manifests.disk.large import LargeFile, write_large

BUFFER = large._BUFFER
SIZES = (0, 1, 4095, 4096, 4097, BUFFER - 1, BUFFER, BUFFER + 1, BUFFER + 4096, 3 * BUFFER - 1, 3 * BUFFER + 12_345)


def data_of(size: int) -> bytes:
    return np.random.default_rng(size).integers(0, 256, size, np.uint8).tobytes()


def cut(data: bytes, step: int) -> list[bytes]:
    return [data[i : i + step] for i in range(0, len(data), step)]


@pytest.fixture(params=["as it is", "the flag is refused", "writes are refused", "short writes"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """What a file system may do to direct writes; counts how often it did."""
    real_fcntl, real_write = fcntl.fcntl, os.write
    seen = {"direct": 0, "refused": 0}

    def direct(fd: int) -> bool:
        return bool(large._DIRECT and real_fcntl(fd, fcntl.F_GETFL) & large._DIRECT)

    def refuse(fd: int, command: int, flags: int = 0) -> int:
        if request.param == "the flag is refused" and command == fcntl.F_SETFL and flags & large._DIRECT:
            seen["refused"] += 1
            raise OSError(errno.EINVAL, "Invalid argument")
        return real_fcntl(fd, command, flags)

    def write(fd: int, data: Any) -> int:
        if direct(fd):
            seen["direct"] += 1
            assert memoryview(data).nbytes % 4096 == 0
            if request.param == "writes are refused":
                seen["refused"] += 1
                raise OSError(errno.EINVAL, "Invalid argument")
            if request.param == "short writes":
                seen["refused"] += 1
                return real_write(fd, memoryview(data)[: max(4096, len(data) // 2 // 4096 * 4096)])
        elif request.param == "short writes":
            return real_write(fd, memoryview(data)[: len(data) // 2 + 1])
        return real_write(fd, data)

    monkeypatch.setattr(fcntl, "fcntl", refuse)
    monkeypatch.setattr(os, "write", write)
    return seen


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("step", [1000, BUFFER + 7, 10 * BUFFER])
def test_bytes_and_hash(tmp_path: Path, size: int, step: int, way: dict[str, int], request: pytest.FixtureRequest) -> None:
    data = data_of(size)
    written, sha256 = write_large(tmp_path / "a", cut(data, step))
    assert (tmp_path / "a").read_bytes() == data
    assert (written, sha256) == (size, "sha256:" + hashlib.sha256(data).hexdigest())
    assert os.listdir(tmp_path) == ["a"]
    if size >= BUFFER and "as it is" not in request.node.name and large._DIRECT and way["direct"] + way["refused"]:
        assert way["refused"]
    if size < BUFFER:
        assert way == {"direct": 0, "refused": 0}


def test_direct_writes_are_used_where_the_file_system_has_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fd = os.open(tmp_path / "b", os.O_WRONLY | os.O_CREAT)
    try:
        fcntl.fcntl(fd, fcntl.F_SETFL, fcntl.fcntl(fd, fcntl.F_GETFL) | large._DIRECT)
        there = bool(large._DIRECT)
    except OSError:
        there = False
    os.close(fd)
    flags: list[int] = []
    real = os.write
    monkeypatch.setattr(os, "write", lambda fd, data: (flags.append(fcntl.fcntl(fd, fcntl.F_GETFL) & large._DIRECT), real(fd, data))[1])
    write_large(tmp_path / "a", [data_of(2 * BUFFER + 5000)])
    # the last 904 bytes are no block
    assert [bool(f) for f in flags] == ([True, True, True, False] if there else [False, False, False])


def test_arrays_of_any_shape_are_written(tmp_path: Path) -> None:
    arrays = [np.arange(24, dtype=np.int64).reshape(2, 3, 4), np.empty((0, 5), np.uint8), np.ones((3, 3), bool)]
    with LargeFile(tmp_path / "a") as file:
        assert [file.write(a) for a in arrays] == [192, 0, 9]
        assert file.tell() == 201
    assert (tmp_path / "a").read_bytes() == b"".join(a.tobytes() for a in arrays)


def test_a_file_that_is_there_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"mine")
    with pytest.raises(FileExistsError):
        LargeFile(tmp_path / "a")
    assert (tmp_path / "a").read_bytes() == b"mine"


@pytest.mark.parametrize("after", [0, 1, 2])
def test_a_full_disk_leaves_the_old_file_and_is_named(tmp_path: Path, after: int, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"old")
    real, calls = os.write, []

    def full(fd: int, data: Any) -> int:
        calls.append(fd)
        if len(calls) > after:
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(fd, data)

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(OSError, match="No space") as caught:
        write_large(path, [data_of(2 * BUFFER + 1)])
    monkeypatch.undo()
    assert str(tmp_path) in str(caught.value.filename)
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["a"]
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(calls[0])


def test_it_is_on_disk_before_it_takes_the_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    steps: list[str] = []
    fsync, replace = os.fsync, os.replace
    monkeypatch.setattr(os, "fsync", lambda fd: (steps.append("fsync"), fsync(fd)))
    monkeypatch.setattr(os, "replace", lambda a, b: (steps.append(f"replace {Path(a).suffix}"), replace(a, b)))
    write_large(tmp_path / "a", [data_of(BUFFER + 1)])
    assert steps == ["fsync", "replace .part", "fsync"]
