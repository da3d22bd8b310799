"""The command in this process: a hundred calls in the time that a handful of processes take (tests/acceptance has
those).
"""

from __future__ import annotations

import shlex
import signal
import sys

import pytest
from commands import Calls, Done

from corruptset.cli import main


@pytest.fixture(scope="session")
def built(shared):
    """A small data set of image files."""
    return shared.build(crops={"classes": 2}, sets=["contrast/*"], format="folder")


class Command(Calls):
    """Runs ``corruptset LINE WORDS...``, the line as a shell reads it; a traceback fails the test."""

    def __init__(self, monkeypatch, capsys):
        self.monkeypatch, self.capsys = monkeypatch, capsys

    def __call__(self, line, *words):
        self.monkeypatch.setattr(sys, "argv", ["corruptset", *shlex.split(line), *map(str, words)])
        self.capsys.readouterr()
        before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            main()
        except SystemExit as left:
            code = left.code if isinstance(left.code, int) else int(left.code is not None)
        else:
            code = 0
        finally:  # the command leaves them ignored, as its process ends
            for number, handler in before.items():
                signal.signal(number, handler)
        done = Done(code, *self.capsys.readouterr())
        assert "Traceback" not in done.err, done.err
        return done


@pytest.fixture
def run(monkeypatch, capsys, tmp_path):
    """The command, in `tmp_path` as the current folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "160")
    monkeypatch.delenv("CORRUPTSET_DEBUG", raising=False)
    return Command(monkeypatch, capsys)
