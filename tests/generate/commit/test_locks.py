"""Test that only one build at a time uses a directory, and that a dead build holds no lock."""

import errno
import fcntl
import os
import shutil
from pathlib import Path

import pytest

import corruptset
from corruptset.errors import BuildError
from corruptset.generate.commit.locks import lock_dataset


def test_second_build_is_rejected_while_first_runs(make):
    messages = []

    def second(event):
        if event.phase == "building" and not messages:
            with pytest.raises(BuildError, match="Another build or repair is writing") as exc_info:
                make(sets=["contrast/1"])
            messages.append(exc_info.value)

    assert make(sets=["contrast/1"], progress=second).images == 10
    assert messages[0].exit_code == 2


def test_no_other_build_starts_during_removal_of_work_folder(make, monkeypatch):
    """Otherwise the removal, which can take seconds, would delete committed parts of the new build."""
    original, messages = shutil.rmtree, []

    def rmtree(folder, *args, **options):
        original(folder, *args, **options)
        if not messages and Path(folder).name == ".corruptset":
            messages.append(folder)
            with pytest.raises(BuildError, match="Another build or repair is writing"):
                make(sets=["contrast/2"])

    monkeypatch.setattr(shutil, "rmtree", rmtree)
    monkeypatch.setattr("corruptset.generate.builder.RENAME_WAIT_S", 0.1)
    make(sets=["contrast/1"])
    assert len(messages) == 1


def test_build_waits_for_workers_of_killed_build(make, tmp_path, monkeypatch):
    monkeypatch.setattr("corruptset.generate.commit.locks.WORKERS_WAIT_S", 0.2)
    folder = tmp_path / "out/small-c-1.0.0.partial/.corruptset"
    folder.mkdir(parents=True)
    with (folder / "workers").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_SH)
        with pytest.raises(BuildError, match="Workers of an earlier build are still writing"):
            make(sets=["contrast/1"])
    assert make(sets=["contrast/1"]).images == 10


def test_lock_on_removed_file_is_ignored(tmp_path, monkeypatch):
    """A finishing command may delete its lock file while another command opens it."""
    original, removed = fcntl.flock, []

    def late(fd, how):
        original(fd, how)
        if not removed:
            removed.append(fd)
            (tmp_path / ".x-1.lock").unlink()

    monkeypatch.setattr(fcntl, "flock", late)
    with lock_dataset(tmp_path / "x-1"):
        assert removed
        with pytest.raises(BuildError, match="Another build"), lock_dataset(tmp_path / "x-1"):
            pass


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOTSUP])
def test_file_system_without_locks_is_named(make, tmp_path, monkeypatch, number):
    """Lustre is often mounted without locks. Every command that needs a lock reports this and leaves no files."""
    result = make(sets=["contrast/1"]).directory
    corruptset.pack(result, tmp_path / "packed")
    before = sorted(tmp_path.rglob("*"))

    def none(fd, how):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(fcntl, "flock", none)
    message = r"does not support file locks \(flock: .*\).* --out on another file system, .*Lustre: mount option flock"
    for write in (
        lambda: make(out=tmp_path / "new", sets=["contrast/1"]),
        lambda: make(out=tmp_path / "new", sets=["contrast/1"], part=(0, 2)),
        lambda: corruptset.pack(result, tmp_path / "new"),
        lambda: corruptset.unpack(sorted((tmp_path / "packed/data").iterdir()), tmp_path / "new"),
    ):
        with pytest.raises(BuildError, match=message) as exc_info:
            write()
        assert exc_info.value.exit_code == 2
        assert set(tmp_path.rglob("*")) - set(before) == set()


def test_build_reports_missing_inodes(make, tmp_path, monkeypatch):
    original, calls = os.statvfs, []

    def fsync(fd):
        calls.append(fd)
        if len(calls) > 3:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    class Full:
        """The result of statvfs for a file system without free inodes."""

        f_favail = f_ffree = 0

        def __init__(self, path):
            self.status = original(path)

        def __getattr__(self, name):
            return getattr(self.status, name)

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(os, "statvfs", Full)
    with pytest.raises(corruptset.errors.MachineError, match=r"no free inodes for new files .*--storage hdf5"):
        make(sets=["contrast/1"])
