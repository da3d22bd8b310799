"""`pack`, `unpack`, `rebuild` and `verify --repair` killed and run again give what a command gives that nobody killed.

The full count: ``python tests/faults/killing_commands.py --moments 12``, or ``-m long``.
"""

from __future__ import annotations

import killing_commands
import pytest
from children import run_script


@pytest.mark.parametrize("moments", [pytest.param(2, marks=pytest.mark.ci), pytest.param(12, marks=pytest.mark.long)])
def test_some_moments_of_each(moments: int) -> None:
    commands = list(killing_commands.COMMANDS)
    printed = run_script(killing_commands, "--moments", str(moments), "--commands", ",".join(commands), "--seed", "1")
    lines = printed.splitlines()
    assert [line.split()[0] for line in lines] == commands
    for line in lines:
        assert line.endswith(" 0 wrong")
        # Half of them do not depend on time, and so meet the command.
        assert int(line.split(",")[1].split()[0]) >= moments // 2
