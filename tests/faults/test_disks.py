"""Disks that are full or read-only, directories that go, workers without memory: a clear error, and the same bytes
afterwards.
"""

from __future__ import annotations

import ctypes
import errno
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

import layouts
import pytest
from children import Child
from deadly import DeadlySource
from layouts import files_of

from corruptset.errors import BuildError, MachineError
from corruptset.generate.build import ProgressEvent, build
from corruptset.generate.sinks import set_writer

SINKS: dict[str, dict[str, Any]] = {
    "folder": {"format": "folder"},
    "hdf5": {"format": "hdf5"},
    "view": {"view": "cifar-c"},
}
SETS = ["contrast/*", "brightness/*"]


def write_for_ever(file: IO[bytes], block: int) -> None:
    while True:
        file.write(b"\0" * block)


@pytest.fixture(scope="session")
def whole(shared: layouts.Shared) -> Callable[[str], dict[str, bytes]]:
    """Return the files of a build that nothing happened to."""
    return lambda sink: files_of(shared.build(sets=SETS, **SINKS[sink]).parent)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of two megabytes; where mounting is not allowed, a folder of a disk that `fill` pretends to be full."""
    path = tmp_path / "disk"
    path.mkdir()
    mounted = (
        shutil.which("mount") is not None
        and subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(path)], capture_output=True
        ).returncode
        == 0
    )
    yield path
    if mounted:
        subprocess.run(["umount", "-l", str(path)], check=True)


def after(parts: int, act: Callable[[], None]) -> Callable[[ProgressEvent], None]:
    """Return a progress callback that acts once, when so many parts are done."""
    done: list[int] = []

    def progress(event: ProgressEvent) -> None:
        if event.phase == "building" and event.parts_done >= parts and not done:
            done.append(1)
            act()

    return progress


@pytest.mark.parametrize(("sink", "jobs"), [("folder", 1), pytest.param("hdf5", 2, marks=pytest.mark.ci)])
def test_a_disk_that_becomes_full(
    crops: Path,
    recipe: Path,
    whole: Callable[[str], dict[str, bytes]],
    disk: Path,
    monkeypatch: pytest.MonkeyPatch,
    sink: str,
    jobs: int,
) -> None:
    ballast = disk / "ballast"
    out = disk / "out"

    def fill() -> None:
        if not os.path.ismount(disk):
            # mounting is not allowed here: the limit of a file's size gives the same kind of error, from the same calls
            import resource
            import signal

            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (100, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))
            return
        with ballast.open("wb", buffering=0) as file:
            for block in (1 << 16, 4096, 1):
                # a write that is cut short says how much it wrote; the next one says that there is no space left
                with pytest.raises(OSError, match="No space left"):
                    write_for_ever(file, block)

    try:
        with pytest.raises(MachineError) as caught:
            layouts.make(recipe, crops, out, sets=SETS, jobs=jobs, progress=after(2, fill), **SINKS[sink])
    finally:
        if not os.path.ismount(disk):
            import resource

            hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
            resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
    said = str(caught.value)
    assert caught.value.exit_code == 3
    assert str(out) in said
    assert "No space left" in said or "too large" in said
    assert "free the space or mend the path" in said
    assert "run the same command again to resume" in said
    kept = {p.name: p.stat().st_mtime_ns for p in out.glob("*/.corruptset/parts/*.json")}
    assert len(kept) >= 2
    assert not list(out.rglob(".*.part"))
    ballast.unlink(missing_ok=True)

    def look(event: ProgressEvent) -> None:
        if event.phase == "finishing":
            there = {p.name: p.stat().st_mtime_ns for p in out.glob("*/.corruptset/parts/*.json")}
            assert there.items() >= kept.items()

    layouts.make(recipe, crops, out, sets=SETS, progress=look, **SINKS[sink])
    assert files_of(out) == whole(sink)


@pytest.mark.parametrize(("sink", "call"), [("folder", 3), ("hdf5", 11), ("view", 20)])
def test_an_error_injected_where_files_are_written(
    crops: Path,
    recipe: Path,
    whole: Callable[[str], dict[str, bytes]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    sink: str,
    call: int,
) -> None:
    """At several writes: of an image (half of it is there then), of a shard, rows or a sidecar (at the fsync)."""
    calls: list[str] = []
    real_fsync, real_write = os.fsync, set_writer.write_file

    def due(what: str) -> bool:
        calls.append(what)
        return len(calls) == call

    def fsync(fd: int) -> None:
        if due("fsync"):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        real_fsync(fd)

    def write(path: str, data: bytes) -> None:
        if due(path):
            real_write(path, data[: len(data) // 2])
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), path)
        real_write(path, data)

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(set_writer, "write_file", write)
    with pytest.raises(MachineError, match=r"No space left on device \(.*run the same command again to resume"):
        layouts.make(recipe, crops, tmp_path / "out", sets=SETS, **SINKS[sink])
    assert len(calls) == call
    monkeypatch.undo()
    assert not list(tmp_path.rglob(".*.part"))
    layouts.make(recipe, crops, tmp_path / "out", sets=SETS, **SINKS[sink])
    assert files_of(tmp_path / "out") == whole(sink)


def drop_privileges() -> None:
    """Take from root the right to pass over permissions.

    Another user would be bound by them too, and could often not reach the installed package, which may lie below root's
    own folders.
    """
    if os.geteuid() == 0:
        libc = ctypes.CDLL(None, use_errno=True)
        version_3 = (ctypes.c_uint32 * 2)(0x20080522, 0)
        nothing = (ctypes.c_uint32 * 6)()  # effective, permitted, inheritable, twice
        if libc.capset(version_3, nothing) != 0:
            raise OSError(ctypes.get_errno(), "capset")


def bound_by_permissions(folder: Path, work: Callable[[], object]) -> tuple[int, str]:
    """Run something in a process whom permissions bind, also where tests are root; return its exit code and what it
    said.
    """

    def run() -> int:
        drop_privileges()
        try:
            work()
        except (BuildError, MachineError) as e:
            os.write(1, str(e).encode())  # print goes where pytest keeps it
            return e.exit_code
        return 0

    child = Child(run, folder / "said")
    return child.wait(), child.said()


@pytest.fixture
def owned(crops: Path) -> Iterator[Path]:
    """A folder with the source in it, where permissions can be taken."""
    path = Path(tempfile.mkdtemp())
    shutil.copytree(crops, path / "source")
    (path / "mine").mkdir()
    for one in (path, *path.rglob("*")):
        one.chmod(0o755 if one.is_dir() else 0o644)
    yield path
    for one in path.rglob("*"):
        if one.is_dir() and not one.is_symlink():
            one.chmod(0o755)
    shutil.rmtree(path)


def test_a_directory_that_must_not_be_written_to(
    owned: Path, recipe: Path, whole: Callable[[str], dict[str, bytes]]
) -> None:
    text = recipe.read_text()
    whole("folder")  # kernels are loaded here, and the child inherits them
    (owned / "recipe.toml").write_text(text)
    out = owned / "mine" / "out"

    def work() -> None:
        out.mkdir(exist_ok=True)
        out.chmod(0o555)
        layouts.make(owned / "recipe.toml", owned / "source", out, sets=SETS, format="folder")

    code, said = bound_by_permissions(owned, work)
    assert code == 2, said
    assert str(out) in said
    assert "cannot be written to" in said
    assert not list(out.iterdir())
    out.chmod(0o755)
    code, said = bound_by_permissions(
        owned, lambda: layouts.make(owned / "recipe.toml", owned / "source", out, sets=SETS, format="folder")
    )
    assert code == 0, said
    assert files_of(out) == whole("folder")


def test_permission_that_is_lost_while_a_build_runs(
    owned: Path, recipe: Path, whole: Callable[[str], dict[str, bytes]]
) -> None:
    whole("hdf5")
    (owned / "recipe.toml").write_text(recipe.read_text())
    out = owned / "mine" / "out"

    def take() -> None:
        for one in out.rglob("*"):
            one.chmod(0o555 if one.is_dir() else 0o444)

    def work(progress: Any = None) -> None:
        layouts.make(owned / "recipe.toml", owned / "source", out, sets=SETS, progress=progress, format="hdf5")

    code, said = bound_by_permissions(owned, lambda: work(after(2, take)))
    assert code == 3, said
    assert str(out) in said
    assert "Permission denied" in said
    assert "run the same command again to resume" in said
    for one in sorted(out.rglob("*")):
        one.chmod(0o755 if one.is_dir() else 0o644)
    code, said = bound_by_permissions(owned, work)
    assert code == 0, said
    assert files_of(out) == whole("hdf5")


def test_a_directory_that_is_removed_under_a_build(
    crops: Path, recipe: Path, whole: Callable[[str], dict[str, bytes]], tmp_path: Path
) -> None:
    out = tmp_path / "out"
    with pytest.raises(MachineError, match=r"No such file or directory.*run the same command again") as caught:
        layouts.make(recipe, crops, out, sets=SETS, progress=after(2, lambda: shutil.rmtree(out)), format="folder")
    assert str(out) in str(caught.value)
    layouts.make(recipe, crops, out, sets=SETS, format="folder")
    assert files_of(out) == whole("folder")


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ("memory", "ran out of memory"),
        pytest.param("kill", "Workers were killed 4 times without finishing", marks=pytest.mark.ci),
    ],
)
def test_a_worker_without_memory(
    crops: Path, recipe: Path, whole: Callable[[str], dict[str, bytes]], tmp_path: Path, how: str, said: str
) -> None:
    flag = tmp_path / "flag"
    flag.write_text(how)
    victim = "05_class/im.1"
    source = DeadlySource(crops, victim, flag)
    with pytest.raises(MachineError, match=said) as caught:
        build(recipe, source, tmp_path / "out", sets=SETS, jobs=2, metrics=0, format="folder")  # type: ignore[arg-type]
    assert caught.value.exit_code == 3
    assert "resume" in str(caught.value)
    if how == "kill":
        assert "samples 10 to" in str(caught.value) or "contrast" in str(caught.value)
        kept = list((tmp_path / "out").glob("*/.corruptset/parts/*.json"))
        assert kept  # parts without the victim were finished by then
    flag.unlink()
    layouts.make(recipe, crops, tmp_path / "out", sets=SETS, format="folder")
    assert files_of(tmp_path / "out") == whole("folder")
