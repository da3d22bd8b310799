"""The command as a user runs it, in a process of its own."""

from __future__ import annotations

import commands
import pytest
from light_installation import light_python


@pytest.fixture(scope="session")
def run(tmp_path_factory):
    """Run ``corruptset ARGUMENTS``, in an empty folder where no other is named; see `commands.Server`."""
    server = commands.CommandServer(tmp_path_factory.mktemp("commands"))
    yield server
    server.stop()


@pytest.fixture(scope="session")
def light(tmp_path_factory):
    """The Python of an installation without the extra ``build``."""
    return light_python(tmp_path_factory.mktemp("light"))
