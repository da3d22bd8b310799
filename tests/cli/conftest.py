"""Run commands in the process of the tests, because starting processes takes longer (see tests/acceptance)."""

from __future__ import annotations

import shlex

import pytest
from commands import CommandRunner, Result, exit_code


@pytest.fixture(scope="session")
def dataset_dir(shared_data):
    """Return a small dataset of image files."""
    return shared_data.build(crops={"classes": 2}, sets=["contrast/*"], storage="folder")


class Command(CommandRunner):
    """Run ``corruptset LINE ARGUMENTS...``, where a shell would parse the line. A traceback fails the test."""

    def __init__(self, capsys):
        self.capsys = capsys

    def __call__(self, line, *arguments):
        self.capsys.readouterr()
        code = exit_code(*shlex.split(line), *arguments)
        result = Result(code, *self.capsys.readouterr())
        assert "Traceback" not in result.err, result.err
        return result


@pytest.fixture
def run(monkeypatch, capsys, tmp_path):
    """Return a function that runs commands, with `tmp_path` as the current folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "160")
    monkeypatch.delenv("CORRUPTSET_DEBUG", raising=False)
    return Command(capsys)
