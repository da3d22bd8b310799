"""Full and read-only disks, removed directories and workers without memory cause clear errors, and builds can be
resumed.
"""

from __future__ import annotations

import errno
import itertools
import os
import resource
import shutil
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import small_builds
from children import SINKS
from clusters import ScriptedSource
from small_builds import read_files

from corruptset.errors import BuildError, MachineError
from corruptset.generate.build import build
from corruptset.generate.sinks import set_writer
from corruptset.progress import ProgressEvent

SETS = ["contrast/*", "brightness/*"]
RESUME = "run the same command again to resume"


@pytest.fixture
def make(shared_data):
    """Build twenty crops with a sink."""
    return lambda sink, out, **more: small_builds.build_dataset(
        shared_data.recipe(), shared_data.crops(), out, sets=SETS, **SINKS[sink], **more
    )


@pytest.fixture
def expected_files(shared_data):
    """Return the files of an undisturbed build."""
    return lambda sink: read_files(shared_data.build(sets=SETS, **SINKS[sink]).parent)


@pytest.fixture
def disk(tmp_path):
    """A disk of two megabytes, or a folder of a simulated full disk if mounting is not allowed."""
    path = tmp_path / "disk"
    path.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(path)]
    mounted = shutil.which("mount") is not None and subprocess.run(command, capture_output=True).returncode == 0
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    yield path
    resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    if mounted:
        subprocess.run(["umount", "-l", str(path)], check=True)


def fill(disk: Path) -> None:
    if not os.path.ismount(disk):
        # a limit on file sizes causes the same kind of error in the same calls
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))
        return
    with (disk / "ballast").open("wb", buffering=0) as file:
        for block in (1 << 16, 4096, 1):  # a partial write returns the number of written bytes, and the next one fails
            with pytest.raises(OSError, match="No space left"):
                sum(file.write(bytes(block)) for _ in itertools.count())


def after_parts(parts: int, act: Callable[[], object]) -> Callable[[ProgressEvent], None]:
    """Return a progress callback that acts once, after a number of completed parts."""
    finished: list[int] = []

    def progress(event: ProgressEvent) -> None:
        if event.phase == "building" and event.parts_done >= parts and not finished:
            finished.append(1)
            act()

    return progress


@pytest.mark.parametrize(("sink", "jobs"), [("folder", 1), pytest.param("hdf5", 2, marks=pytest.mark.ci)])
def test_build_reports_full_disk(make, expected_files, disk, sink, jobs):
    out = disk / "out"
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    with pytest.raises(MachineError) as exc_info:
        make(sink, out, jobs=jobs, progress=after_parts(2, lambda: fill(disk)))
    resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    message = str(exc_info.value)
    assert exc_info.value.exit_code == 3
    assert "No space left" in message or "too large" in message
    assert all(part in message for part in ("Stopped: ", str(out), "free some space or correct the path", RESUME))
    part_times = {p.name: p.stat().st_mtime_ns for p in out.glob("*/.corruptset/parts/*.json")}
    assert len(part_times) >= 2
    assert not list(out.rglob(".*.part"))
    (disk / "ballast").unlink(missing_ok=True)

    def look(event):
        if event.phase == "finishing":
            there = {p.name: p.stat().st_mtime_ns for p in out.glob("*/.corruptset/parts/*.json")}
            assert there.items() >= part_times.items()

    make(sink, out, progress=look)
    assert read_files(out) == expected_files(sink)


@pytest.mark.parametrize(("sink", "call"), [("folder", 3), ("hdf5", 11)])
def test_build_reports_injected_write_error(
    make,
    expected_files,
    tmp_path,
    monkeypatch,
    sink,
    call,
):
    """The disk fails when an image is half written, and when shards, rows or sidecars are synced."""
    calls = []
    real_fsync, real_write = os.fsync, set_writer.write_file

    def fail_at(what):
        calls.append(what)
        if len(calls) == call:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def fsync(fd):
        fail_at(fd)
        real_fsync(fd)

    def write(path, data):
        real_write(path, data[: len(data) // 2])
        fail_at(path)
        real_write(path, data)

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", fsync)
        patch.setattr(set_writer, "write_file", write)
        with pytest.raises(MachineError, match=rf"No space left on device \(.*{RESUME}"):
            make(sink, tmp_path / "out")
    assert len(calls) == call
    assert not list(tmp_path.rglob(".*.part"))
    make(sink, tmp_path / "out")
    assert read_files(tmp_path / "out") == expected_files(sink)


def test_build_reports_read_only_directory(make, tmp_path, monkeypatch):
    monkeypatch.setattr(os, "access", lambda path, how: Path(path) != tmp_path)  # permissions do not apply to root
    with pytest.raises(BuildError, match=f"{tmp_path} cannot be written to") as exc_info:
        make("folder", tmp_path / "out")
    assert exc_info.value.exit_code == 2
    assert not list(tmp_path.iterdir())


def test_build_reports_removed_directory(make, expected_files, tmp_path):
    out = tmp_path / "out"
    with pytest.raises(MachineError, match=r"No such file or directory.*run the same command again") as exc_info:
        make("folder", out, progress=after_parts(2, lambda: shutil.rmtree(out)))
    assert str(out) in str(exc_info.value)
    make("folder", out)
    assert read_files(out) == expected_files("folder")


@pytest.mark.parametrize(
    ("deed", "message"),
    [
        pytest.param("exhaust", "ran out of memory", marks=pytest.mark.ci),
        pytest.param("die", "killed 3 times while it worked on 0", marks=pytest.mark.ci),
    ],
)
def test_build_reports_worker_without_memory(
    make,
    crops,
    recipe,
    expected_files,
    tmp_path,
    deed,
    message,
):
    script = tmp_path / "script"
    script.write_text(f"{deed} 05_class/im.1")
    source = ScriptedSource(crops, script)
    with pytest.raises(MachineError, match=message) as exc_info:
        build(recipe, source, tmp_path / "out", sets=SETS, jobs=2, metrics=0, storage="folder", page=False)
    assert exc_info.value.exit_code == 3
    assert "resume" in str(exc_info.value)
    if deed == "die":
        assert "samples 10 to" in str(exc_info.value) or "contrast" in str(exc_info.value)
        assert list((tmp_path / "out").glob("*/.corruptset/parts/*.json"))  # parts without that sample were finished
    make("folder", tmp_path / "out")
    assert read_files(tmp_path / "out") == expected_files("folder")
