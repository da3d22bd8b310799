"""Files that are there whole or not at all."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any

import pytest

from corruptset.manifests.disk.atomic import write_atomic


def test_atomic_write_replaces_and_leaves_nothing_behind(tmp_path: Path) -> None:
    path = tmp_path / "ü b.json"
    write_atomic(path, b"one")
    write_atomic(path, memoryview(b"another"))
    assert path.read_bytes() == b"another"
    assert [p.name for p in tmp_path.iterdir()] == ["ü b.json"]


@pytest.mark.parametrize(("umask", "mode"), [(0o022, 0o644), (0o077, 0o600), (0o002, 0o664)])
def test_atomic_write_follows_the_umask(tmp_path: Path, umask: int, mode: int) -> None:
    before = os.umask(umask)
    try:
        write_atomic(tmp_path / "a", b"")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == mode


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_failing_disk_leaves_the_old_file(tmp_path: Path, step: str, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a"
    write_atomic(path, b"old")

    def fail(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, step, fail)
    with pytest.raises(OSError, match="No space"):
        write_atomic(path, b"new")
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_atomic_write_is_on_disk_before_it_takes_the_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    steps: list[str] = []
    real = os.fsync, os.replace
    monkeypatch.setattr(
        os,
        "fsync",
        lambda fd: (steps.append("fsync " + ("folder" if stat.S_ISDIR(os.fstat(fd).st_mode) else "file")), real[0](fd)),
    )
    monkeypatch.setattr(
        os,
        "replace",
        lambda a, b: (steps.append(f"replace {Path(a).suffix} {Path(a).parent == Path(b).parent}"), real[1](a, b)),
    )
    write_atomic(tmp_path / "a", b"x" * 100_000)
    assert steps == ["fsync file", "replace .part True", "fsync folder"]
