"""Ctrl-C, pressed six times while a command runs: one sentence, 130, nobody left, and a build that goes on.

The full count: ``python tests/faults/interrupting.py --moments 8``.
"""

from __future__ import annotations

import signal
import time

import interrupting
import layouts
import pytest
from children import run_script

BUILD = "build cifar10-c --source sample --samples 2 --sets contrast/* --jobs 2 --any-shape --json --out"


@pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(signal.SIGHUP, marks=pytest.mark.ci)])
def test_six_times_while_workers_start(tmp_path, number):
    running = interrupting.Running([*BUILD.split(), str(tmp_path / "out")], tmp_path)
    running.wait_until(lambda: "build: checking" in running.err())
    time.sleep(0.2)
    done = running.press(number)
    assert done.code == 130
    assert interrupting.problem("build-2", done, tmp_path / "out") is None
    assert '"exit_code": 130' in done.out


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_one_while_it_imports_stops_a_command_as_ctrl_c_does(tmp_path, number):
    picture = next(layouts.write_crops(tmp_path / "source", classes=1, each=1).rglob("*.png"))
    running = interrupting.Running(["corrupt", str(picture), "fog", "--out", str(tmp_path / "fog.png")], tmp_path)
    running.wait_until(running.listens)
    done = running.press(number, times=1)
    assert (done.code, done.err) == (130, "Interrupted.\n")


def test_the_harness_notices_more_than_a_sentence_and_other_codes(tmp_path):
    good = "build: checking\nInterrupted. What was committed stands:\n  corruptset build x\n"
    for code, err, alone, right in (
        (130, good, True, True),
        (-2, "", True, False),
        (130, "", True, False),
        (130, good * 2, True, False),
        (130, good + "KeyError: 3\n", True, False),
        (130, good, False, False),
    ):
        done = interrupting.Done(code, "", err, alone=alone)
        assert (interrupting.problem("build", done, tmp_path) is None) == right
    (tmp_path / ".x.part").touch()
    assert "left behind" in (interrupting.problem("corrupt", interrupting.Done(130, "", good), tmp_path) or "")


@pytest.mark.parametrize(
    ("moments", "names"),
    [
        pytest.param(1, "export,build-2", marks=pytest.mark.ci),
        pytest.param(8, "", marks=pytest.mark.long),
    ],
)
def test_moments_of_commands(moments, names):
    said = run_script(interrupting, "--moments", str(moments), "--commands", names)
    assert said.endswith(f"\n{moments * (names.count(',') + 1 if names else 11)} moments, 0 wrong\n")
