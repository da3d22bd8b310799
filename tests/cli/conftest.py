"""Fixtures that run commands in the process of the tests, which is much faster than starting processes."""

from __future__ import annotations

import shlex

import pytest
from commands import CommandRunner, Result, exit_code


@pytest.fixture(scope="session")
def built(shared_data):
    """A small data set of image files."""
    return shared_data.build(crops={"classes": 2}, sets=["contrast/*"], storage="folder")


class Command(CommandRunner):
    """Run ``corruptset LINE WORDS...`` in this process. The line is split as in a shell. Tracebacks are failures."""

    def __init__(self, capsys):
        self.capsys = capsys

    def __call__(self, line, *words):
        self.capsys.readouterr()
        code = exit_code(*shlex.split(line), *words)
        done = Result(code, *self.capsys.readouterr())
        assert "Traceback" not in done.err, done.err
        return done


@pytest.fixture
def run(monkeypatch, capsys, tmp_path):
    """A function that runs a command with `tmp_path` as the current folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "160")
    monkeypatch.delenv("CORRUPTSET_DEBUG", raising=False)
    return Command(capsys)
