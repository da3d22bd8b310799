"""Fixtures that run the command line in processes of their own."""

from __future__ import annotations

import commands
import pytest
from light_installation import light_python


@pytest.fixture(scope="session")
def run(tmp_path_factory):
    """Run ``corruptset ARGUMENTS``, by default in an empty folder (see `commands.CommandServer`)."""
    server = commands.CommandServer(tmp_path_factory.mktemp("commands"))
    yield server
    server.stop()


@pytest.fixture(scope="session")
def light(tmp_path_factory):
    """The Python of an installation without the extra ``build``."""
    return light_python(tmp_path_factory.mktemp("light"))
