"""Extensions that are stopped at random moments: the finished sets stay open, and nothing is lost whichever way it goes on.

The full count: ``python tests/faults/killing_extensions.py --moments 200``.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.parametrize("moments", [3, pytest.param(40, marks=pytest.mark.ci), pytest.param(200, marks=pytest.mark.long)])
def test_extensions_stopped_at_random_moments(moments: int) -> None:
    command = [sys.executable, str(Path(__file__).parent / "killing_extensions.py"), "--moments", str(moments), "--seed", str(moments)]
    done = subprocess.run(command, capture_output=True, text=True)
    print(done.stdout)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{moments} extensions stopped, 0 wrong" in done.stdout
