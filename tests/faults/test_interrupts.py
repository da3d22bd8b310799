"""Interrupted commands print one sentence, exit with 130 and leave no processes. Builds can be resumed.

The full count: ``python tests/faults/interrupting.py --moments 8``.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time

import interrupting
import pytest
import small_builds
from children import run_script, workers_of
from commands import COMMAND, exit_code
from typer.core import TyperGroup

import corruptset

BUILD = "build cifar10-c --source sample --samples 2 --sets contrast/* --jobs 2 --any-shape --json --no-page --out"


@pytest.fixture(scope="module")
def digest(tmp_path_factory):
    """The digest of an undisturbed build."""
    options = {"samples": 2, "sets": ["contrast/*"], "any_shape": True, "page": False}
    return corruptset.build("cifar10-c", "sample", tmp_path_factory.mktemp("whole"), jobs=1, **options).digest


def resume_build(out):
    """Run the build to its end, and return the digest of the dataset."""
    result = subprocess.run([COMMAND, *BUILD.split(), str(out)], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)["digest"]


@pytest.mark.parametrize(
    ("number", "times", "group"),
    [
        pytest.param(signal.SIGINT, 1, True, marks=pytest.mark.long),
        pytest.param(signal.SIGINT, 6, True, marks=pytest.mark.ci),
        pytest.param(signal.SIGTERM, 1, False, marks=pytest.mark.ci),
        pytest.param(signal.SIGHUP, 6, True, marks=pytest.mark.long),
    ],
)
def test_build_interrupted_during_worker_start_resumes(tmp_path, digest, number, times, group):
    running = interrupting.Running([*BUILD.split(), str(tmp_path / "out")], tmp_path)
    running.wait_until(lambda: bool(workers_of(running.process.pid)))
    time.sleep(0.2)
    result = running.press(number, times, group=group)
    assert result.code == 130
    assert interrupting.problem("build-2", result, tmp_path / "out") is None
    assert json.loads(result.out)["exit_code"] == 130
    assert resume_build(tmp_path / "out") == digest


@pytest.mark.ci
def test_build_with_killed_worker_finishes(tmp_path, digest):
    running = interrupting.Running([*BUILD.split(), str(tmp_path / "out")], tmp_path)
    running.wait_until(lambda: bool(workers_of(running.process.pid)))
    time.sleep(0.5)
    os.kill(workers_of(running.process.pid)[0], signal.SIGKILL)
    assert running.process.wait(interrupting.LIMIT_S) == 0, running.err()
    assert "Traceback" not in running.err()
    assert resume_build(tmp_path / "out") == digest


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_signal_during_import_interrupts_command(tmp_path, number):
    image = next(small_builds.write_crops(tmp_path / "source", classes=1, each=1).rglob("*.png"))
    running = interrupting.Running(["corrupt", str(image), "fog", "--out", str(tmp_path / "fog.png")], tmp_path)
    running.wait_until(running.listens)
    result = running.press(number, times=1)
    assert (result.code, result.err) == (130, "Interrupted.\n")


def test_signal_during_option_parsing_interrupts_command(monkeypatch, capsys):
    monkeypatch.setattr(TyperGroup, "make_context", lambda *_, **__: signal.raise_signal(signal.SIGTERM))
    assert (exit_code("verify", "x"), capsys.readouterr().err) == (130, "Interrupted.\n")


def test_harness_detects_long_messages_and_wrong_exit_codes(tmp_path):
    valid = "build: checking\nInterrupted. Run the same command again to resume:\n  corruptset build x\n"
    for code, err, alone, expected in (
        (130, valid, True, True),
        (-2, "", True, False),
        (130, "", True, False),
        (130, valid * 2, True, False),
        (130, valid + "KeyError: 3\n", True, False),
        (130, valid, False, False),
    ):
        result = interrupting.Done(code, "", err, alone=alone)
        assert (interrupting.problem("build", result, tmp_path) is None) == expected
    (tmp_path / ".x.part").touch()
    assert "left behind" in (interrupting.problem("corrupt", interrupting.Done(130, "", valid), tmp_path) or "")


@pytest.mark.parametrize(
    ("moments", "names"),
    [
        pytest.param(1, "export,build-2", marks=pytest.mark.ci),
        pytest.param(8, "", marks=pytest.mark.long),
    ],
)
def test_commands_can_be_interrupted_at_any_moment(moments, names):
    message = run_script(interrupting, "--moments", str(moments), "--commands", names)
    assert message.endswith(f"\n{moments * (names.count(',') + 1 if names else 11)} moments, 0 wrong\n")
