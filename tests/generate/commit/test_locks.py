"""One build at a time works in a directory; a dead one holds nothing (the killing sweeps resume many)."""

import fcntl

import pytest

from corruptset.errors import BuildError
from corruptset.generate.commit.locks import locked


def test_a_second_build_is_refused_while_one_runs(make):
    refused = []

    def second(event):
        if event.phase == "building" and not refused:
            with pytest.raises(BuildError, match="Another build or repair is working in") as caught:
                make(sets=["contrast/1"])
            refused.append(caught.value)

    assert make(sets=["contrast/1"], progress=second).images == 10
    assert refused[0].exit_code == 2


def test_workers_of_a_dead_build_are_waited_for(make, tmp_path, monkeypatch):
    monkeypatch.setattr("corruptset.generate.commit.locks.WORKERS_WAIT_S", 0.2)
    folder = tmp_path / "out/small-c-1.0.0/.corruptset"
    folder.mkdir(parents=True)
    with (folder / "workers").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_SH)
        with pytest.raises(BuildError, match="Workers of an earlier build are still writing"):
            make(sets=["contrast/1"])
    assert make(sets=["contrast/1"]).images == 10


def test_a_lock_on_a_removed_file_does_not_count(tmp_path, monkeypatch):
    """A build that ends removes its folder while another waits to open the lock."""
    real, removed = fcntl.flock, []

    def late(fd, how):
        real(fd, how)
        if not removed:
            removed.append(fd)
            (tmp_path / "x-1/.corruptset/lock").unlink()

    monkeypatch.setattr(fcntl, "flock", late)
    with locked(tmp_path / "x-1"):
        assert removed
        with pytest.raises(BuildError, match="Another build"), locked(tmp_path / "x-1"):
            pass
