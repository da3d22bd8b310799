"""Standard streams that are closed, None, full, or whose reader has left; and disks that are full under what is not a
build.
"""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from commands import COMMAND

import corruptset

FULL = Path("/dev/full")


BUILD = "build cifar10-c --samples 2 --sets contrast/* --jobs 2 --any-shape --json".split()


@pytest.mark.ci
@pytest.mark.parametrize("closed", ["2>&-", "<&- >&- 2>&-"])
def test_a_build_with_workers_whose_streams_are_closed(tmp_path, closed):
    line = f'exec "$0" "$@" {closed}'
    done = subprocess.run(
        ["sh", "-c", line, COMMAND, *BUILD, "--out", tmp_path / "out"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout
    assert done.stderr == ""
    if ">&- 2" in closed:
        assert done.stdout == ""
    else:
        assert json.loads(done.stdout)["ok"]
    (built,) = (tmp_path / "out").iterdir()
    assert corruptset.verify(built, jobs=1).ok


PROGRAM = """
import os, sys
from pathlib import Path
said = os.dup(1)
if {closed}:
    sys.stdin = sys.stdout = sys.stderr = None
    for descriptor in range(3):
        os.close(descriptor)
else:
    sys.stdout = sys.stderr = None  # as pythonw has it
from corruptset.generate.commit.interruption import resumable
from corruptset.workers import Workers

with resumable(Path({folder!r})):
    with open({folder!r} + "/data", "wb") as data:
        if {closed}:
            assert data.fileno() > 2, data.fileno()
        workers = Workers(2)
        workers.start(2)
        result = workers.submit(pow, 2, 10).result()
    workers.stop()
assert sys.stdout is None and sys.stderr is None
os.write(said, str(result).encode())
"""


@pytest.mark.parametrize("closed", [True, False])
def test_a_program_without_standard_streams_can_have_workers(tmp_path, closed):
    code = PROGRAM.format(closed=closed, folder=str(tmp_path))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "1024", "")


@pytest.mark.skipif(not FULL.exists(), reason="no such device on this system")
@pytest.mark.parametrize(
    "arguments",
    [["list"], ["verify", "DIR", "--json"]],
    ids=" ".join,
)
def test_standard_output_that_is_full(run, built, monkeypatch, arguments):
    with FULL.open("w") as full:
        monkeypatch.setattr(sys, "stdout", full)
        done = run(*(str(built) if a == "DIR" else a for a in arguments))
    assert done.code == 3  # 1 would say that the data set is not what it should be
    (said,) = [line for line in done.err.splitlines() if not line.startswith("verify: ")]
    assert said.startswith("Standard output could not be written: No space left on device.")


@pytest.mark.skipif(not FULL.exists(), reason="no such device on this system")
@pytest.mark.parametrize("arguments", [["--help"], ["--version"]], ids=" ".join)
def test_standard_output_of_the_command_that_is_full(arguments):
    with FULL.open("w") as full:
        done = subprocess.run([COMMAND, *arguments], stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 3
    assert len(done.stderr.splitlines()) == 1, done.stderr


@pytest.mark.parametrize(
    ("arguments", "resumes"),
    [
        (["corrupt", "sample:astronaut", "contrast", "-s", "1", "--out", "TO.png"], False),
        (["pack", "DIR", "--out", "TO"], True),
    ],
    ids=lambda v: v[0] if isinstance(v, list) else "",
)
def test_a_full_disk_is_named_with_what_was_to_be_written(run, built, tmp_path, monkeypatch, arguments, resumes):
    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    target = tmp_path / "new"
    monkeypatch.setattr(os, "fsync", full)
    done = run(*(a.replace("DIR", str(built)).replace("TO", str(target)) for a in arguments))
    assert done.code == 3
    said = [line for line in done.err.splitlines() if not line.startswith(f"{arguments[0]}: ")]
    assert said[0].startswith(f"The machine failed: No space left on device ({target}"), said
    assert ("the same command goes on where it stopped" in said[0]) == resumes
    assert "build" not in said[0]
    assert len(said) == 1 + resumes
    assert not list(tmp_path.rglob("*.part"))
    if not resumes:
        assert list(tmp_path.iterdir()) == []


def test_a_reader_that_leaves_is_no_failure(built):
    line = '"$0" list corruptions | head -n 1; "$0" verify "$1" | true'
    done = subprocess.run(["bash", "-o", "pipefail", "-c", line, COMMAND, built], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
