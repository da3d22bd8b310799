"""Files are written completely or not at all, and locks are released when their process ends."""

import errno
import hashlib
import os
import resource
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest

from corruptset.errors import BuildError
from corruptset.manifests.disk.atomic import LargeFile, make_folder, write_atomic, write_large
from corruptset.manifests.disk.lock import hold_lock, shared_lock

BUFFER = 1 << 19


def random_data(size):
    return np.random.default_rng(size).integers(0, 256, size, np.uint8).tobytes()


def cut(data, step):
    return [data[i : i + step] for i in range(0, len(data), step)]


def test_bytes_and_hash_replace_existing_file_without_leftovers(tmp_path):
    path = tmp_path / "ü b.json"
    for size in (0, 1, BUFFER, 3 * BUFFER + 12_345):
        data = random_data(size)
        for step in (1000, BUFFER + 7, 10 * BUFFER):
            assert write_large(path, cut(data, step)) == (size, "sha256:" + hashlib.sha256(data).hexdigest())
            assert path.read_bytes() == data
    for umask, mode in ((0o022, 0o644), (0o077, 0o600)):
        before = os.umask(umask)
        try:
            write_atomic(path, memoryview(b"another"))
        finally:
            os.umask(before)
        assert (path.read_bytes(), stat.S_IMODE(path.stat().st_mode)) == (b"another", mode)
    assert os.listdir(tmp_path) == ["ü b.json"]
    arrays = [np.arange(24, dtype=np.int64).reshape(2, 3, 4), np.empty((0, 5), np.uint8), np.ones((3, 3), bool)]
    with LargeFile(tmp_path / "a") as file:
        for array in arrays:
            file.write(array)
        assert file.written == 201
    assert (tmp_path / "a").read_bytes() == b"".join(a.tobytes() for a in arrays)
    with pytest.raises(FileExistsError):
        LargeFile(tmp_path / "a")


def test_failing_or_full_disk_keeps_old_file(tmp_path, monkeypatch):
    path = tmp_path / "a"
    write_atomic(path, b"old")

    def fail(*_):
        raise OSError(28, "No space left on device")

    for step in ("fsync", "replace"):
        with monkeypatch.context() as patch:
            patch.setattr(os, step, fail)
            with pytest.raises(OSError, match="No space"):
                write_atomic(path, b"new")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    for limit in (0, BUFFER + 1, 2 * BUFFER):
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, before[1]))
        try:
            with pytest.raises(OSError, match="too large") as exc_info:
                write_large(path, cut(random_data(2 * BUFFER + 1), 1000))
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
        assert str(tmp_path) in str(exc_info.value.filename)
    assert (path.read_bytes(), os.listdir(tmp_path)) == (b"old", ["a"])


def test_file_is_on_disk_before_rename(tmp_path, monkeypatch):
    steps = []

    def fsync(descriptor):
        steps.append("fsync " + ("folder" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "file"))

    original = os.replace
    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(os, "replace", lambda a, b: (steps.append(f"replace {Path(a).suffix}"), original(a, b)))
    write_atomic(tmp_path / "a", b"x" * 100_000)
    assert steps == ["fsync file", "replace .part", "fsync folder"]


HOLD = """
import sys, time
from pathlib import Path
from corruptset.manifests.disk.lock import hold_lock
with hold_lock(Path(sys.argv[1]), "busy"):
    print("held", flush=True)
    time.sleep(120)
"""


@pytest.fixture
def path(tmp_path):
    return tmp_path / "work" / "lock"


def check_busy(path, **options):
    with pytest.raises(BuildError, match="busy"), hold_lock(path, "busy", **options):
        pass


def test_lock_is_exclusive_and_released_when_process_is_killed(path):
    with subprocess.Popen([sys.executable, "-c", HOLD, str(path)], stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        check_busy(path)
        holder.kill()
    with hold_lock(path, "free"):
        check_busy(path)


def test_exclusive_lock_waits_for_shared_locks(path):
    path.parent.mkdir()
    start, waited = time.monotonic(), 0.1
    with shared_lock(path), shared_lock(path):
        check_busy(path, wait_s=waited)
    assert time.monotonic() - start >= waited
    shared = threading.Event()

    def share():
        with shared_lock(path):
            shared.set()
            time.sleep(waited)

    thread = threading.Thread(target=share)
    thread.start()
    shared.wait()
    with hold_lock(path, "busy", wait_s=60):
        assert time.monotonic() - start >= 2 * waited
    thread.join()


def test_link_is_not_lock_and_missing_lock_support_is_reported(path, monkeypatch):
    """A lock does not protect anything if its file was deleted. See also tests/generate/commit."""
    monkeypatch.setitem(sys.modules, "fcntl", None)
    with pytest.raises(BuildError, match=r"file locks of Linux or macOS.*WSL"), hold_lock(path, "busy"):
        pass
    assert not path.parent.exists()
    monkeypatch.undo()
    path.parent.mkdir()
    path.symlink_to(path.parent / "elsewhere")
    with pytest.raises(OSError, match="symbolic links"), hold_lock(path, "busy"):
        pass
    assert not (path.parent / "elsewhere").exists()
    for number in (errno.EACCES, errno.EPERM, errno.EROFS):
        refuse = Mock(side_effect=OSError(number, os.strerror(number), str(path)))
        monkeypatch.setattr("corruptset.manifests.disk.lock._open", refuse)
        with pytest.raises(BuildError, match=rf"{path} cannot be written .*--out"), hold_lock(path, "busy"):
            pass


def test_folders_are_created_only_below_links_within_root(tmp_path):
    root, outside = tmp_path / "root", tmp_path / "outside"
    (root / "a").mkdir(parents=True)
    outside.mkdir()
    (root / "inside").symlink_to(root / "a")
    (root / "out").symlink_to(outside)
    (root / "dangling").symlink_to(tmp_path / "nowhere")
    (tmp_path / "named").symlink_to(root)
    for folder in (root, tmp_path / "named"):  # users may specify a folder by a link
        assert make_folder(folder, "inside/b").is_dir()
        assert make_folder(folder, "c/d") == folder / "c/d"
        assert make_folder(folder, "") == folder
        for path in ("out", "out/b", "dangling", "dangling/b"):
            with pytest.raises(BuildError, match="symbolic link that leads out of"):
                make_folder(folder, path)
    assert (root / "a/b").is_dir()
    assert not [*outside.iterdir()]
    assert not (tmp_path / "nowhere").exists()
