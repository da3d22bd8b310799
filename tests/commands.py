"""The command as a user runs it: the installed console script, in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

COMMAND = Path(sys.executable).with_name("corruptset")


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


def call(*arguments: Any, cwd: Path, env: Mapping[str, str] | None = None, timeout: float = 300) -> Done:
    """Run ``corruptset ARGUMENTS``; a traceback or a warning on standard error fails the test."""
    done = subprocess.run(
        [COMMAND, *map(str, arguments)],
        cwd=cwd,
        env={**os.environ, "COLUMNS": "160", "CORRUPTSET_DEBUG": "", **(env or {})},
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=timeout,
    )
    assert "Traceback" not in done.stderr, done.stderr
    assert "Warning" not in done.stderr, done.stderr
    return Done(done.returncode, done.stdout, done.stderr)
