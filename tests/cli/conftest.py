"""The command in this process: a hundred calls in the time that a handful of processes take (tests/acceptance has those)."""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import layouts
import pytest

from corruptset import interruption as stopping
from corruptset.cli import main


@dataclass(frozen=True)
class Done:
    """What a command did."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Standard output, which must be one JSON object."""
        return json.loads(self.out)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small data set of image files."""
    folder = tmp_path_factory.mktemp("built")
    crops = layouts.write_crops(folder / "crops", classes=2, each=2)
    layouts.make(layouts.write_recipe(folder), crops, folder / "out", sets=["contrast/*"], format="folder")
    (directory,) = (folder / "out").iterdir()
    return directory


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Callable[..., Done]:
    """Run ``corruptset ARGUMENTS`` in `tmp_path`; a traceback fails the test."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "160")
    monkeypatch.delenv("CORRUPTSET_DEBUG", raising=False)

    def call(*arguments: Any) -> Done:
        monkeypatch.setattr(sys, "argv", ["corruptset", *map(str, arguments)])
        capsys.readouterr()
        before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            main()
        except SystemExit as left:
            code = left.code if isinstance(left.code, int) else 0 if left.code is None else 1
        else:
            code = 0
        finally:  # the command keeps them until its process ends
            stopping._current = None
            for number, handler in before.items():
                signal.signal(number, handler)
        out, err = capsys.readouterr()
        assert "Traceback" not in err, err
        return Done(code, out, err)

    return call
