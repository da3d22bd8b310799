"""`pack`, `unpack`, `rebuild` and `verify --repair` killed and run again give what a command gives that nobody killed.

The full count: ``python tests/faults/killing_commands.py --moments 12``, or ``-m ci``.
"""

from __future__ import annotations

import killing_commands
import pytest
from children import run_script


def check(moments: int, *commands: str, seed: int = 0) -> None:
    printed = run_script(killing_commands, "--moments", str(moments), "--commands", ",".join(commands), "--seed", str(seed))
    lines = printed.splitlines()
    assert [line.split()[0] for line in lines] == list(commands)
    for line in lines:
        assert line.endswith(" 0 wrong")
        # Half of them do not depend on time, and so meet the command.
        assert int(line.split(",")[1].split()[0]) >= moments // 2


def test_the_last_moments_of_a_pack_and_an_unpack() -> None:
    check(4, "pack", "unpack")


@pytest.mark.ci
def test_a_dozen_moments_of_each() -> None:
    check(12, *killing_commands.COMMANDS, seed=1)
