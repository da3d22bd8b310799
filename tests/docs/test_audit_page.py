"""docs/audit.md: its example is run literally, in its order."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[2] / "docs/audit.md").read_text("utf-8")


@pytest.mark.ci
def test_example_detects_duplicate_storage(tmp_path):
    (commands,) = re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL)
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "COLUMNS": "120",
    }
    *earlier, audit = commands.splitlines()
    for line in earlier:
        subprocess.run(["bash", "-c", line], cwd=tmp_path, env=environment, check=True)
    result = subprocess.run(["bash", "-c", audit], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert result.returncode == 1
    rows = [line.split() for line in result.stdout.splitlines()]
    for row in ("contrast", "gaussian_noise"):
        (documented,) = re.findall(rf"^    ({row} .*)$", PAGE, re.MULTILINE)
        assert documented.split() in rows
    assert "stored as JPEG quality 75" in result.stdout
