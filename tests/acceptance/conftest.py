"""The command as a user runs it: the installed console script, in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

COMMAND = Path(sys.executable).parent / "corruptset"


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


Run = Callable[..., Done]


@pytest.fixture(scope="session")
def command() -> Path:
    """The console script."""
    assert COMMAND.exists(), f"{COMMAND} is not there: install corruptset into this environment first (pip install .)"
    return COMMAND


@pytest.fixture(scope="session")
def run(command: Path, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Run ``corruptset ARGUMENTS``; a traceback on standard error or a warning fails the test."""
    elsewhere = tmp_path_factory.mktemp("elsewhere")

    def call(*arguments: Any, cwd: Path | None = None, env: dict[str, str] | None = None, timeout: float = 300) -> Done:
        done = subprocess.run(
            [command, *map(str, arguments)],
            cwd=cwd or elsewhere,
            env={**os.environ, "COLUMNS": "160", "CORRUPTSET_DEBUG": "", **(env or {})},
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=timeout,
        )
        assert "Traceback" not in done.stderr, done.stderr
        assert "Warning" not in done.stderr, done.stderr
        return Done(done.returncode, done.stdout, done.stderr)

    return call


SETS = ["gaussian_noise/1", "fog/3", "contrast/2"]
BUILD = ["build", "imagenet-c", "--sets", ",".join(SETS), "--samples", "3", "--jobs", "1", "--metrics", "1"]


@dataclass(frozen=True)
class Made:
    """A small finished build."""

    directory: Path
    done: Done


@pytest.fixture(scope="session")
def built(run: Run, tmp_path_factory: pytest.TempPathFactory) -> Made:
    """Three sets of three photographs, built once for all tests; tests copy what they change."""
    out = tmp_path_factory.mktemp("built")
    done = run(*BUILD, "--out", out)
    assert done.code == 0, done.err
    (directory,) = (p for p in out.iterdir() if p.is_dir())
    return Made(directory, done)
