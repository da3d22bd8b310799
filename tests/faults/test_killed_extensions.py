"""Extensions that are stopped at random moments: the finished sets stay open, and nothing is lost whichever way it goes
on.

The full count: ``python tests/faults/killing_extensions.py --moments 200``.
"""

from __future__ import annotations

import killing_extensions
import pytest
from children import run_script


@pytest.mark.parametrize("moments", [pytest.param(8, marks=pytest.mark.ci), pytest.param(200, marks=pytest.mark.long)])
def test_extensions_stopped_at_random_moments(moments: int) -> None:
    printed = run_script(killing_extensions, "--moments", str(moments), "--seed", str(moments))
    assert f"{moments} extensions stopped, 0 wrong" in printed
