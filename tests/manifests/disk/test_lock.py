"""Locks on files: alone, shared, waited for; a removed file holds nothing."""

from __future__ import annotations

import fcntl
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from corruptset.errors import BuildError
from corruptset.manifests.disk.lock import locked, shared_lock

HOLD = """
import sys, time
from pathlib import Path
from corruptset.manifests.disk.lock import locked
with locked(Path(sys.argv[1]), "busy"):
    print("held", flush=True)
    time.sleep(120)
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "work" / "lock"


def test_one_at_a_time(path: Path) -> None:
    with locked(path, "first"), pytest.raises(BuildError, match="second"), locked(path, "second"):
        pass
    with locked(path, "third"):
        assert path.exists()


def test_a_killed_process_holds_no_lock(path: Path) -> None:
    holder = subprocess.Popen([sys.executable, "-c", HOLD, str(path)], stdout=subprocess.PIPE, text=True)
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    with pytest.raises(BuildError, match="busy"), locked(path, "busy"):
        pass
    holder.kill()
    holder.communicate()
    with locked(path, "busy"):
        pass


def test_those_who_share_are_waited_for(path: Path) -> None:
    path.parent.mkdir()
    begun, waited = time.monotonic(), 0.2
    with (
        shared_lock(path),
        shared_lock(path),
        pytest.raises(BuildError, match="busy"),
        locked(path, "busy", wait_s=waited),
    ):
        pass
    assert time.monotonic() - begun >= waited
    done = threading.Event()

    def share() -> None:
        with shared_lock(path):
            done.set()
            time.sleep(0.2)

    thread = threading.Thread(target=share)
    thread.start()
    done.wait()
    with locked(path, "busy", wait_s=60):
        assert time.monotonic() - begun >= 2 * waited
    thread.join()


def test_a_lock_on_a_removed_file_does_not_count(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that ends its work removes the folder while another waits to open the lock."""
    real, removed = fcntl.flock, []

    def late(fd: int, how: int) -> None:
        real(fd, how)
        if not removed:
            removed.append(fd)
            path.unlink()

    monkeypatch.setattr(fcntl, "flock", late)
    with locked(path, "first"):
        assert removed
        with pytest.raises(BuildError, match="second"), locked(path, "second"):
            pass


def test_a_link_is_not_followed(path: Path, tmp_path: Path) -> None:
    path.parent.mkdir()
    path.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="symbolic links"), locked(path, "busy"):
        pass
    assert not (tmp_path / "elsewhere").exists()


def test_a_system_without_locks(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fcntl", None)
    with pytest.raises(BuildError, match=r"file locks of Linux or macOS.*WSL"), locked(path, "busy"):
        pass
    assert not path.parent.exists()
    monkeypatch.undo()
    with locked(path, "busy"):
        pass
