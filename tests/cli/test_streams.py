"""Test standard streams that are closed, full or broken, and full disks for commands other than build."""

from __future__ import annotations

import errno
import os
import subprocess
from pathlib import Path

import pytest
from commands import COMMAND

FULL = Path("/dev/full")


@pytest.mark.skipif(not FULL.exists(), reason="no such device on this system")
@pytest.mark.parametrize("line", ["--help", "verify --json"])
def test_full_standard_output_is_reported(dataset_dir, line):
    """Exit code 1 would mean that the dataset is damaged."""
    arguments = [COMMAND, *line.split(), *[dataset_dir] * line.startswith("verify")]
    with FULL.open("w") as full:
        result = subprocess.run(arguments, stdout=full, stderr=subprocess.PIPE, text=True)
    (message,) = [line for line in result.stderr.splitlines() if not line.startswith("verify: ")]
    assert (result.returncode, "No space left on device" in message) == (3, True)


@pytest.mark.parametrize(
    ("line", "resumes"), [("corrupt sample:astronaut contrast/1 --out new.png", False), ("pack DIR --out new", True)]
)
def test_full_disk_is_reported_with_file_to_be_written(run, dataset_dir, tmp_path, monkeypatch, line, resumes):
    def full(descriptor):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    result = run(line.replace("DIR", str(dataset_dir)))
    first, *rest = [line for line in result.err.splitlines() if not line.startswith("pack: ")]
    assert (result.code, len(rest)) == (3, resumes)
    assert first.startswith("The machine failed: No space left on device (new")
    assert ("run the same command again to resume" in first) == resumes
    assert not list(tmp_path.rglob("*.part"))
    assert resumes or not list(tmp_path.iterdir())


def run_shell(line):
    """Run a line in bash and return its output."""
    result = subprocess.run(
        ["bash", "-c", line.replace("CMD", f"'{COMMAND}'")], capture_output=True, text=True, timeout=120
    )
    return result.stdout, result.stderr


def test_closed_pipe_is_not_error(dataset_dir):
    for line in ("build --help", f"verify {dataset_dir}"):
        out, err = run_shell(f"CMD {line} | true; echo ${{PIPESTATUS[0]}}")
        assert (out, "Traceback" in err) == ("0\n", False)


def test_closed_and_narrow_streams_are_not_errors():
    assert run_shell("CMD list >&-; echo $?") == ("0\n", "")
    out, err = run_shell("PYTHONIOENCODING=ascii CMD show Ünbekannt; echo $?")
    assert (out, "\\xdcnbekannt" in err) == ("2\n", True)
