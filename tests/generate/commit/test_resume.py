"""Test that an interrupted build, or one that lost its workers, is resumed with a byte-identical result.

Tests with real kills are in tests/faults.
"""

import errno
import os
import shutil
import signal
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from typing import Any

import pytest
from small_builds import read_files

from corruptset.errors import BuildError, Interrupted, MachineError
from corruptset.generate.work import worker


def test_committed_parts_are_kept_and_others_regenerated(make, tmp_path, expected_files, monkeypatch):
    class Killed(BaseException):
        pass

    original, calls = worker.write_sidecar, []

    def commit(*arguments):
        calls.append(arguments[1])
        if len(calls) == 4:
            raise Killed
        original(*arguments)

    monkeypatch.setattr(worker, "write_sidecar", commit)
    with pytest.raises(Killed):
        make()
    directory = tmp_path / "out/small-c-1.0.0.partial"
    finished_parts = {p.stem for p in directory.glob(".corruptset/parts/*.json")}
    assert finished_parts == set(calls[:3])
    # what a kill can leave: a half-written image, temporary files
    max(directory.rglob("*.JPEG"), key=lambda p: p.stat().st_mtime_ns).write_bytes(b"half")
    for name in ("hdf5/.0123.part", ".corruptset/parts/.4567.part", ".89.part"):
        (directory / name).write_bytes(b"half")
    calls[:] = ["", "", "", ""]
    events = []
    finished = make(progress=events.append).directory
    building = [event for event in events if event.phase == "building"]
    assert 0 < building[0].images_done < building[-1].images_done == building[-1].images_total
    assert not finished_parts & set(calls)
    assert read_files(finished) == expected_files()


def test_resume_with_other_sets_builds_both(make, interrupt_build, expected_files):
    interrupt_build(3, sets=["contrast*", "clean"])
    assert read_files(make(sets=["brightness/*"]).directory) == expected_files()


class Released(ThreadPoolExecutor):
    """Ctrl-C between the release of a lock and the reset of its owner, as observed when a thread was started."""

    signal = True

    def submit(self, *arguments: Any, **more: Any) -> Any:
        try:
            if self.signal:
                signal.raise_signal(signal.SIGINT)
        finally:
            raise RuntimeError("release unlocked lock")


@pytest.mark.parametrize(
    ("where", "number", "stops"),
    [
        ("terminal", signal.SIGINT, True),
        ("lock of Python's", signal.SIGINT, True),
        ("background", signal.SIGINT, False),
    ],
)
def test_build_handles_signals(make, expected_files, monkeypatch, where, number, stops):
    """A background job ignores Ctrl-C, and so does a build in it."""
    handler = signal.SIG_IGN if where == "background" else signal.default_int_handler
    before = signal.signal(signal.SIGINT, handler)

    def progress(event):
        if event.phase == "building" and "lock" not in where:
            signal.raise_signal(number)

    try:
        with monkeypatch.context() as patch, pytest.raises(Interrupted) if stops else nullcontext():
            if "lock" in where:
                patch.setattr(worker, "ThreadPoolExecutor", Released)
            make(progress=progress)
        assert signal.getsignal(signal.SIGINT) is handler
    finally:
        signal.signal(signal.SIGINT, before)
    assert read_files(make().directory) == expected_files()


def test_interruption_of_check_says_what_is_kept(make, interrupt_build, tmp_path):
    """Before a part is begun there is no folder, so the message must not name one."""

    def stop(event):
        if event.phase == "checking":
            raise KeyboardInterrupt

    with pytest.raises(Interrupted, match=r"^Interrupted before anything was written\. Run the same command again\.$"):
        make(progress=stop)
    assert not (tmp_path / "out").exists()
    interrupt_build(1)
    with pytest.raises(
        Interrupted, match=r"Finished parts in .*\.partial are kept\. Run the same command again to resume"
    ):
        make(progress=stop)


def test_signal_during_error_handling_does_not_hide_error(make):
    def progress(event):
        try:
            raise MachineError("The disk fails.")
        finally:
            signal.raise_signal(signal.SIGINT)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(MachineError, match=r"The disk fails\."):
            make(progress=progress)
    finally:
        signal.signal(signal.SIGINT, before)


def test_error_without_signal_is_unchanged(make, monkeypatch):
    monkeypatch.setattr(Released, "signal", False)
    monkeypatch.setattr(worker, "ThreadPoolExecutor", Released)
    with pytest.raises(RuntimeError, match="release unlocked lock"):
        make()


@pytest.mark.parametrize("folder", ["images", "hdf5", ".corruptset", ".corruptset/parts", "sets", "images/contrast"])
def test_nothing_is_written_through_link_out_of_directory(make, interrupt_build, tmp_path, folder):
    interrupt_build(1)
    linked, outside = tmp_path / "out/small-c-1.0.0.partial" / folder, tmp_path / "outside"
    if linked.exists():
        linked.rename(outside)
    else:
        outside.mkdir()
    linked.symlink_to(outside)
    before = read_files(outside)
    with pytest.raises(BuildError, match="symbolic link"):
        make()
    assert read_files(outside) == before


def test_links_in_place_of_files_are_replaced(make, interrupt_build, tmp_path, expected_files):
    interrupt_build(1)
    directory, outside = tmp_path / "out/small-c-1.0.0.partial", tmp_path / "outside"
    outside.write_bytes(b"mine")
    (directory / "sets/contrast").mkdir(parents=True)
    for path in ("README.md", "sets/contrast/.1.jsonl.part", "hdf5/contrast/1-00000.h5"):
        (directory / path).parent.mkdir(parents=True, exist_ok=True)
        (directory / path).unlink(missing_ok=True)
        (directory / path).symlink_to(outside)
    for path in list((directory / "images").rglob("*.JPEG"))[:3]:
        path.unlink()
        path.symlink_to(outside)
    shutil.rmtree(directory / ".corruptset/parts")
    finished = make().directory
    assert read_files(finished) == expected_files()
    assert outside.read_bytes() == b"mine"
    assert not any(path.is_symlink() for path in finished.rglob("*"))


@pytest.mark.parametrize("phase", ["building", "finishing"])
def test_interruption_does_not_hide_full_disk(make, monkeypatch, phase):
    """Ctrl-C arrives while the error is handled, for example while workers are stopped."""
    original = os.replace

    def full(part, target):
        if ("/parts/" if phase == "building" else "samples.jsonl") in os.fspath(target):
            try:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), os.fspath(target))
            finally:
                signal.raise_signal(signal.SIGINT)
        original(part, target)

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(MachineError, match=r"Stopped: No space left on device .*run the same command again to resume"):
        make()
