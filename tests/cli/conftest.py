"""The command in this process: a hundred calls in the time that a handful of processes take (tests/acceptance has
those).
"""

from __future__ import annotations

import shlex
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import layouts
import pytest
from commands import Done

from corruptset.cli import main


@pytest.fixture(scope="session")
def built(shared: layouts.Shared) -> Path:
    """A small data set of image files."""
    return shared.build(crops={"classes": 2}, sets=["contrast/*"], format="folder")


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Callable[..., Done]:
    """Run ``corruptset LINE WORDS...`` in `tmp_path`, the line as a shell reads it; a traceback fails the test."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "160")
    monkeypatch.delenv("CORRUPTSET_DEBUG", raising=False)

    def call(line: str, *words: Any) -> Done:
        monkeypatch.setattr(sys, "argv", ["corruptset", *shlex.split(line), *map(str, words)])
        capsys.readouterr()
        before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            main()
        except SystemExit as left:
            code = left.code if isinstance(left.code, int) else 0 if left.code is None else 1
        else:
            code = 0
        finally:  # the command leaves them ignored, as its process ends
            for number, handler in before.items():
                signal.signal(number, handler)
        out, err = capsys.readouterr()
        assert "Traceback" not in err, err
        return Done(code, out, err)

    return call
