"""The command in this process: a hundred calls in the time that a handful of processes take (tests/acceptance has
those).
"""

from __future__ import annotations

import shlex

import pytest
from commands import Calls, Done, exit_code


@pytest.fixture(scope="session")
def built(shared):
    """A small data set of image files."""
    return shared.build(crops={"classes": 2}, sets=["contrast/*"], storage="folder")


class Command(Calls):
    """Runs ``corruptset LINE WORDS...``, the line as a shell reads it; a traceback fails the test."""

    def __init__(self, capsys):
        self.capsys = capsys

    def __call__(self, line, *words):
        self.capsys.readouterr()
        code = exit_code(*shlex.split(line), *words)
        done = Done(code, *self.capsys.readouterr())
        assert "Traceback" not in done.err, done.err
        return done


@pytest.fixture
def run(monkeypatch, capsys, tmp_path):
    """The command, in `tmp_path` as the current folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "160")
    monkeypatch.delenv("CORRUPTSET_DEBUG", raising=False)
    return Command(capsys)
