"""Ctrl-C, pressed six times while a command runs: one sentence, 130, nobody left, and a build that goes on.

The full count: ``python tests/faults/interrupting.py --moments 8``.
"""

from __future__ import annotations

import signal
from pathlib import Path

import interrupting
import layouts
import pytest
from children import run_script

BUILD = [
    "build",
    "cifar10-c",
    "--source",
    "sample",
    "--samples",
    "2",
    "--sets",
    "contrast/*",
    "--jobs",
    "2",
    "--any-shape",
    "--json",
]


@pytest.mark.parametrize(("said", "later"), [("", 0.0), ("build: checking", 0.2)], ids=["imports", "workers start"])
def test_six_times(tmp_path: Path, said: str, later: float) -> None:
    out = tmp_path / "out"
    done = interrupting.interrupt([*BUILD, "--out", str(out)], later, tmp_path, said=said)
    assert done.code == 130
    assert interrupting.problem("build-2", done, out) is None
    assert '"exit_code": 130' in done.out


def test_the_harness_notices_more_than_a_sentence_and_other_codes(tmp_path: Path) -> None:
    def done(code: int, err: str, *, alone: bool = True) -> interrupting.Done:
        return interrupting.Done(code, "", err, True, alone)

    good = "build: checking\nInterrupted. What was committed stands:\n  corruptset build x\n"
    assert interrupting.problem("build", done(130, good), tmp_path) is None
    for bad in (
        done(-2, ""),
        done(130, ""),
        done(130, good * 2),
        done(130, good + "KeyError: 3\n"),
        done(130, good, alone=False),
    ):
        assert interrupting.problem("build", bad, tmp_path) is not None
    (tmp_path / ".x.part").touch()
    assert "left behind" in (interrupting.problem("corrupt", done(130, good), tmp_path) or "")


@pytest.mark.ci
def test_a_moment_of_commands_that_go_on_of_one_that_does_not_and_of_one_with_workers() -> None:
    names = "build-2,export,rebuild"
    assert run_script(interrupting, "--moments", "1", "--commands", names).endswith("\n3 moments, 0 wrong\n")


@pytest.mark.long
def test_moments_of_every_command() -> None:
    assert run_script(interrupting, "--moments", "8").endswith(f"\n{11 * 8} moments, 0 wrong\n")


def test_sigterm_stops_every_command_as_ctrl_c_does(tmp_path: Path) -> None:
    picture = next(layouts.write_crops(tmp_path / "source", classes=1, each=1).rglob("*.png"))
    process = interrupting.start(
        ["corrupt", str(picture), "fog", "-s", "3", "--out", str(tmp_path / "fog.png")], tmp_path
    )
    while process.poll() is None and not interrupting.listens(process):
        pass
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == 130
    assert (tmp_path / "err.txt").read_text() == "Interrupted.\n"
