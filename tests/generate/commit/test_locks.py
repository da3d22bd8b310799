"""One build at a time works in a directory; a dead one holds nothing."""

import fcntl
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from corruptset.errors import BuildError
from corruptset.generate.build import Built, ProgressEvent
from corruptset.generate.commit import locks as committing

HOLD = """
import sys, time
from pathlib import Path
from corruptset.generate.commit.locks import locked
with locked(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(120)
"""


def test_a_second_build_is_refused_while_one_runs(make: Callable[..., Built]) -> None:
    refused: list[BuildError] = []

    def second(event: ProgressEvent) -> None:
        if event.phase == "building" and not refused:
            with pytest.raises(BuildError, match="Another build is working in") as caught:
                make(sets=["contrast/*"])
            refused.append(caught.value)

    assert make(sets=["contrast/*"], progress=second).images == 16
    assert refused[0].exit_code == 2


def test_a_killed_process_holds_no_lock(tmp_path: Path) -> None:
    directory = tmp_path / "x-1"
    holder = subprocess.Popen([sys.executable, "-c", HOLD, str(directory)], stdout=subprocess.PIPE, text=True)
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    with pytest.raises(BuildError, match="Another build"), committing.locked(directory):
        pass
    holder.kill()
    holder.communicate()
    with committing.locked(directory):
        assert (directory / ".corruptset" / "lock").exists()


def test_workers_of_a_dead_build_are_waited_for(
    make: Callable[..., Built], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("corruptset.generate.commit.locks.WORKERS_WAIT_S", 0.2)
    folder = tmp_path / "small-1.0.0" / ".corruptset"
    folder.mkdir(parents=True)
    fd = os.open(folder / "workers", os.O_RDWR | os.O_CREAT)
    fcntl.flock(fd, fcntl.LOCK_SH)
    with pytest.raises(BuildError, match="Workers of an earlier build are still writing"):
        make(sets=["contrast/1"])
    os.close(fd)
    assert make(sets=["contrast/1"]).images == 8


def test_a_lock_on_a_removed_file_does_not_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A build that ends removes its folder while another waits to open the lock."""
    directory = tmp_path / "x-1"
    real, removed = fcntl.flock, []

    def late(fd: int, how: int) -> None:
        real(fd, how)
        if not removed:
            removed.append(fd)
            (directory / ".corruptset" / "lock").unlink()

    monkeypatch.setattr(fcntl, "flock", late)
    with committing.locked(directory):
        assert removed
        with pytest.raises(BuildError, match="Another build"), committing.locked(directory):
            pass
