"""`pack`, `unpack`, `rebuild` and `verify --repair` killed and run again give what a command gives that nobody killed.

The full count: ``python tests/faults/killing_commands.py --moments 12``, or ``-m ci``.
"""

from __future__ import annotations

import killing_commands
import pytest
from children import run_script


@pytest.mark.ci
def test_a_dozen_moments_of_each() -> None:
    commands = list(killing_commands.COMMANDS)
    printed = run_script(killing_commands, "--moments", "12", "--commands", ",".join(commands), "--seed", "1")
    lines = printed.splitlines()
    assert [line.split()[0] for line in lines] == commands
    for line in lines:
        assert line.endswith(" 0 wrong")
        # Half of them do not depend on time, and so meet the command.
        assert int(line.split(",")[1].split()[0]) >= 6
